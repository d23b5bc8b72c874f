"""JSON bodies and query parameters as clients, old and hostile, send them."""

import base64
import json

import pytest
from django.test import RequestFactory

from threads.api.parsing import MAX_DEPTH, parse_body, parsed
from threads.api.query import order_given, query_of, request_context
from threads.errors import InvalidInput, MemoryFault, TooLarge

requests = RequestFactory()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "ok \\ud83d"}', {"a": "ok \ufffd"}),
        ('{"\\udc00": "\\u0000"}', {"\ufffd": "\ufffd"}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        (
            '{"a": 123456789012345678901234567890}',
            {"a": 1.2345678901234568e29},
        ),
        ('["\\\\u0000"]', ["\\u0000"]),
    ],
)
def test_text_that_cannot_be_stored_is_replaced_and_the_rest_kept(text, value):
    assert parsed(text) == value


@pytest.mark.parametrize(
    "text", ["{bad", "NaN", "[1e400]", "[Infinity]", '{"a":1}x', "\\u", "9" * 5000]
)
def test_what_is_not_json_is_refused(text):
    with pytest.raises(ValueError, match="."):
        parsed(text)


def test_nesting_is_accepted_up_to_the_limit_and_refused_beyond():
    assert parsed("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 5000, 200_000):
        with pytest.raises(ValueError, match="."):
            parsed("[" * depth + "]" * depth)
        with pytest.raises(ValueError, match="."):
            parsed('{"\\u0000":' * depth + "1" + "}" * depth)


def test_many_brackets_side_by_side_are_not_nesting():
    assert len(parsed("[" + "{}," * 1000 + "{}]")) == 1001


def test_a_body_over_the_limit_is_too_large(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    with pytest.raises(TooLarge):
        parse_body(b"[1,2,3,4,5,6]", "application/json")


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/x-www-form-urlencoded", "json"]
)
def test_a_body_that_is_not_declared_json_is_refused(content_type):
    with pytest.raises(MemoryFault) as refusal:
        parse_body(b"{}", content_type)
    assert refusal.value.status == 415


def test_a_body_declared_json_with_a_charset_is_read():
    assert parse_body(b"{}", "application/json; charset=utf-8") == {}


def test_malformed_json_names_the_body():
    with pytest.raises(InvalidInput) as refusal:
        parse_body(b"{bad", "application/json")
    assert refusal.value.message == "Invalid request body"
    assert [issue.field for issue in refusal.value.issues] == ["body"]


def test_bracketed_keys_become_objects_and_undefined_ids_are_absent():
    request = requests.get(
        "/x?orderBy%5Bfield%5D=createdAt&orderBy[direction]=ASC&a=1&a=2"
        "&resourceId=undefined&searchQuery=undefined"
    )
    assert query_of(request.GET) == {
        "orderBy": {"field": "createdAt", "direction": "ASC"},
        "a": "2",
        "searchQuery": "undefined",
    }


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("orderBy[field]=updatedAt", {"field": "updatedAt"}),
        ('orderBy={"field":"createdAt"}', {"field": "createdAt"}),
        (
            "orderBy=updatedAt&sortDirection=ASC",
            {"field": "updatedAt", "direction": "ASC"},
        ),
        ("orderBy=[object Object]", None),
        ("", None),
    ],
)
def test_every_spelling_of_an_order_is_understood(query, order):
    assert order_given(query_of(requests.get("/x?" + query).GET)) == order


def test_request_context_is_read_raw_or_in_base64_without_reserved_keys():
    text = json.dumps({"tier": "gold", "mastra__resourceId": "u2"})
    encoded = base64.b64encode(text.encode()).decode()
    for given in (text, encoded):
        request = requests.get("/x", {"requestContext": given})
        assert request_context(request) == {"tier": "gold"}
    assert request_context(requests.get("/x?requestContext=%%%")) == {}
    posted = requests.post("/x?requestContext=" + encoded)
    assert request_context(posted, {"requestContext": {"n": 1}}) == {"n": 1}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ('{"a": {"b": [0, 1' + "0" * 400 + "]}}", "a.b.1"),
        ('{"a": -1e400}', "a"),
        ('[{"\\u0000": 1e400}]', "0.\x00"),
    ],
)
def test_a_number_beyond_the_largest_float_is_refused_by_its_place(body, path):
    with pytest.raises(InvalidInput) as refused:
        parse_body(body.encode(), "application/json")
    assert [issue.field for issue in refused.value.issues] == [path]
