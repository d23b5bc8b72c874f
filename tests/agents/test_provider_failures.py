"""What providers do to a turn, and what is left of it."""

import json

import pytest

from agents.models import Run, RunEvent
from recall.memory import Memory
from tests.agents.provider import DONE, cut, delta, raw, says, usage
from threads.models import Message

MEMORY = {"thread": "t1", "resource": "res-a"}


def ask(run_async, talker, text="Hi", **options):
    return run_async(talker.generate(text, memory=MEMORY, **options))


def messages():
    return [(m.role, m.text) for m in Memory().recall("t1").messages]


def test_reply_streams_and_usage_is_kept(run_async, talker, provider):
    answer = ask(run_async, talker)
    assert answer.text == "Hello there."
    run = Run.objects.get()
    assert (run.state, run.provider, run.model) == ("completed", "openai", "stub")
    assert (run.input_tokens, run.output_tokens) == (10, 2)
    assert 0 < run.first_token_ms <= run.duration_ms
    assert messages() == [("user", "Hi"), ("assistant", "Hello there.")]


def test_wrong_key_is_said_plainly_without_the_key_and_retry_works(
    run_async, talker, provider
):
    wrong = {"error": {"message": "Incorrect API key sk-very-secret", "code": "x"}}
    provider.refusals = [(401, {}, wrong)]
    answer = ask(run_async, talker)
    assert answer.state == "failed"
    assert answer.finish_reason == "error"
    assert answer.error.startswith("The model's provider refused the key")
    kept = json.dumps(list(RunEvent.objects.values_list("payload", flat=True)))
    assert "sk-very-secret" not in kept
    assert messages() == [("user", "Hi")]
    question = Message.objects.get()
    again = run_async(
        talker.generate(
            [{"id": question.id, "role": "user", "content": "Hi"}], memory=MEMORY
        )
    )
    assert again.state == "completed"
    assert messages() == [("user", "Hi"), ("assistant", "Hello there.")]


def test_short_retry_after_is_waited_for(run_async, talker, provider):
    provider.refusals = [(429, {"Retry-After": "0"}, {"error": {"message": "slow"}})]
    assert ask(run_async, talker).state == "completed"
    assert len(provider.requests) == 2


def test_long_retry_after_fails_at_once_and_says_when(run_async, talker, provider):
    provider.refusals = [(429, {"Retry-After": "90"}, {"error": {"message": "slow"}})]
    answer = ask(run_async, talker)
    assert answer.error == ("The model is over its limit. Try again in 90 seconds.")
    assert len(provider.requests) == 1


def test_server_errors_are_tried_three_times(run_async, talker, provider):
    provider.refusals = [(500, {}, {"error": {"message": "oops"}})] * 3
    answer = ask(run_async, talker)
    assert answer.error == "The model's server has a fault."
    assert len(provider.requests) == 3


def test_cut_stream_keeps_what_was_shown_and_marks_it(run_async, talker, provider):
    def script(request):
        yield delta("Half a ")
        yield delta("sentence")
        yield cut

    provider.scripts = [script]
    answer = ask(run_async, talker)
    assert (answer.state, answer.text) == ("failed", "Half a sentence")
    stored = Message.objects.get(role="assistant")
    assert stored.text == "Half a sentence"
    assert stored.metadata["run"]["state"] == "failed"
    provider.scripts = [says("Whole.")]
    assert ask(run_async, talker, "Again").text == "Whole."


def test_stream_that_ends_without_a_word_counts_as_cut(run_async, talker, provider):
    provider.scripts = [lambda request: iter([delta("Half")])]
    answer = ask(run_async, talker)
    assert (answer.state, answer.error) == (
        "failed",
        "The model's reply was cut off.",
    )
    assert messages() == [("user", "Hi"), ("assistant", "Half")]


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ([DONE], "stop"),
        ([b"data: [DO", b"NE]\n\n"], "stop"),
        ([delta(finish="eos"), DONE], "other"),
        ([delta(finish="eos")], "other"),
    ],
)
def test_stream_that_says_it_is_done_is_complete(
    run_async, talker, provider, ends, reason
):
    provider.scripts = [lambda request: iter([delta("All."), *ends])]
    answer = ask(run_async, talker)
    assert (answer.state, answer.text) == ("completed", "All.")
    assert answer.finish_reason == reason


def test_usage_that_cannot_be_true_is_left_out(run_async, talker, provider):
    script = [delta("Hi."), delta(finish="stop"), usage(10**20, -3), DONE]
    provider.scripts = [lambda request: iter(script)]
    answer = ask(run_async, talker)
    assert (answer.state, answer.text) == ("completed", "Hi.")
    run = Run.objects.get()
    assert (run.state, run.input_tokens, run.output_tokens) == ("completed", 0, 0)


@pytest.mark.parametrize(
    "sent",
    [
        b"data: 12\n\n",
        b"data: {nonsense\n\n",
        b'data: {"choices": "foo"}\n\n',
        b'data: {"choices": [3]}\n\n',
        b'data: {"choices": [{"index": 0, "delta": "x"}]}\n\n',
    ],
)
@pytest.mark.parametrize("said", ["", "Some"])
def test_what_is_no_reply_is_called_unreadable(
    run_async, talker, provider, caplog, sent, said
):
    before = [delta(said)] if said else []
    provider.scripts = [lambda request: iter([*before, sent, DONE])]
    answer = ask(run_async, talker)
    assert (answer.state, answer.text) == ("failed", said)
    assert answer.error == "The model sent something unreadable."
    assert "Traceback" not in caplog.text


def test_refusal_is_text_of_the_reply(run_async, talker, provider):
    script = [delta(refusal="I will "), delta(refusal="not."), delta(finish="stop")]
    provider.scripts = [lambda request: iter([*script, DONE])]
    answer = ask(run_async, talker)
    assert (answer.state, answer.text) == ("completed", "I will not.")
    assert messages() == [("user", "Hi"), ("assistant", "I will not.")]


def test_other_choices_are_no_part_of_the_reply(run_async, talker, provider):
    other = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "stub",
        "choices": [{"index": 1, "delta": {"content": "Other"}}],
    }
    script = [delta("One"), raw(other), delta(" reply"), delta(finish="stop"), DONE]
    provider.scripts = [lambda request: iter(script)]
    assert ask(run_async, talker).text == "One reply"


@pytest.mark.parametrize("pieces", [(), ("Some ",)])
def test_stall_ends_the_turn(run_async, talker, provider, pieces):
    provider.scripts = [provider.waits(*pieces)]
    answer = ask(run_async, talker)
    assert answer.state == "failed"
    assert "nothing for" in answer.error
    assert messages() == [("user", "Hi")] + [("assistant", p) for p in pieces]


def test_unstorable_characters_become_replacements_for_readers_and_store_alike(
    run_async, talker, provider
):
    half = raw(
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "stub",
            "choices": [{"index": 0, "delta": {"content": "a\u0000b\ud83dc"}}],
        }
    )
    provider.scripts = [lambda request: iter([half, delta(finish="stop"), DONE])]
    answer = ask(run_async, talker)
    assert answer.text == "a\ufffdb\ufffdc"
    assert Message.objects.get(role="assistant").text == answer.text


def test_unreachable_provider_is_said_plainly(run_async, talker, provider, settings):
    settings.OPENAI_BASE_URL = "http://127.0.0.1:9/v1"
    answer = ask(run_async, talker)
    assert answer.error == "The model's server cannot be reached."
