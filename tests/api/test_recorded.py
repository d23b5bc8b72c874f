"""The reference server's recorded session, request by request, against ours.

``recorded_replies.json`` holds what was sent and the status and shape that came back
(names and types, not values). Where we answer differently the table says so, and why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.clients import __file__ as clients

RECORDED = json.loads(Path(clients).with_name("recorded_replies.json").read_text())

# Label to our status, where the reference's is a defect or we offer more.
STATUS = {
    # Takes all rows instead of refusing the documented value.
    "list perPage=false": 200,
    "msgs perPage=false": 200,
    # A caller's mistake is no 5xx.
    "list metadata nested": 400,
    "list metadata bad key": 400,
    "wm disabled set": 400,
    "clone same id": 409,
    # The word undefined is no resource; the thread knows its own.
    "wm get undefined resource": 200,
    "wm get no resource": 200,
    "wm set no resource": 200,
    # Threads are not made by saving messages.
    "save unknown thread": 404,
    # What has no role is nobody's; the reference drops it silently.
    "save missing role": 400,
    # PUT replaces a thread.
    "wrong method": 200,
}
# Shapes that differ because an update merges.
MERGED = {"create same id again (upsert?)"}
# Members that we add, or that are there in some replies only.
OPTIONAL = {"score", "why", "words", "legs", "meaningAvailable", "usage", "type"}


def shape(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: shape(item) for key, item in value.items() if key not in OPTIONAL
            }
        case list():
            return [shape(value[0])] if value else []
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case None:
            return None
    return "string"


def alike(ours: Any, theirs: Any) -> bool:
    """Equal shapes; lists may be empty on either side, metadata may hold anything."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        theirs = {key: item for key, item in theirs.items() if key not in OPTIONAL}
        return set(ours) == set(theirs) and all(
            key in ("metadata", "messageIdMap", "schema", "content")
            or alike(ours[key], theirs[key])
            for key in ours
        )
    if isinstance(ours, list) and isinstance(theirs, list):
        return not ours or not theirs or alike(ours[0], theirs[0])
    return ours == theirs


def test_the_recorded_session_gets_the_same_statuses_and_shapes(api):
    wrong = []
    for record in RECORDED:
        body = record.get("body")
        sent = body.encode() if isinstance(body, str) else body
        reply = api(record["method"], record["path"], sent)
        content = b"".join(reply)
        expected = STATUS.get(record["label"], record["status"])
        if reply.status_code != expected:
            wrong.append((record["label"], expected, reply.status_code, content[:200]))
            continue
        if reply.status_code != record["status"] or record["label"] in MERGED:
            continue
        if reply.status_code >= 400 and "error" in record:
            shown = json.loads(content)
            fields = [issue["field"] for issue in shown.get("issues", ())]
            if record["fields"] and set(fields) != set(record["fields"]):
                wrong.append((record["label"], record["fields"], content[:300]))
        elif "shape" in record and not alike(
            shape(json.loads(content)), record["shape"]
        ):
            wrong.append((record["label"], record["shape"], shape(json.loads(content))))
    assert not wrong, "\n".join(map(str, wrong))
