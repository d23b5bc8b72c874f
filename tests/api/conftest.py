"""A caller of the API in the process, and agents for ``agentId`` to name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from recall import profiles
from recall.profiles import Profile
from threads.access import ApiKey

CONFIGS: dict[str, Any] = {
    "agent1": {
        "semanticRecall": {"topK": 2, "messageRange": 1},
        "workingMemory": {"enabled": True, "template": "# User\n- name:\n"},
    },
    "agentT": {
        "semanticRecall": {"topK": 2, "messageRange": 1, "scope": "thread"},
        "workingMemory": {
            "enabled": True,
            "scope": "thread",
            "schema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "age": {"type": "number"},
                },
            },
        },
    },
    "agentPlain": {},
    "agentNoMem": None,
}


def known_agents(name: str) -> Profile | None:
    return Profile(name, CONFIGS[name]) if name in CONFIGS else None


@pytest.fixture(autouse=True)
def agents() -> Iterator[None]:
    profiles.add_resolver(known_agents)
    yield
    profiles.remove_resolver(known_agents)


class Api:
    """Requests to the API, as the local operator or with a key."""

    def __init__(self, key: str | None = None) -> None:
        self.client = Client(REMOTE_ADDR="127.0.0.1")
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}

    def __call__(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> HttpResponse:
        content: dict[str, Any] = {}
        if body is not None:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            content = {"data": raw, "content_type": "application/json"}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.generic(
            method, path, headers={**self.headers, **names}, **content
        )

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self("POST", path, body, **headers)


@pytest.fixture
def api(db: None) -> Api:
    return Api()


@pytest.fixture
def key_for(db: None) -> Callable[..., Api]:
    """A caller with a key for some resources."""

    def made(*resources: str, **options: Any) -> Api:
        _, text = ApiKey.objects.issue(
            name="test", resources=resources, all_resources=not resources, **options
        )
        return Api(text)

    return made


def message(id: str, text: str, **fields: Any) -> dict[str, Any]:
    """A message of t1 and res-a as clients send it."""
    return {
        "id": id,
        "role": "user",
        "threadId": "t1",
        "resourceId": "res-a",
        "content": {"format": 2, "parts": [{"type": "text", "text": text}]},
        **fields,
    }


@pytest.fixture
def thread(api: Api) -> str:
    """t1 of res-a with m1 … m5, a second apart."""
    api.post(
        "/api/memory/threads?agentId=agent1",
        {"resourceId": "res-a", "threadId": "t1", "title": "T1"},
    )
    api.post(
        "/api/memory/save-messages?agentId=agent1",
        {
            "messages": [
                message(f"m{n}", f"number {n}", createdAt=f"2024-01-01T00:00:0{n}.000Z")
                for n in range(1, 6)
            ]
        },
    )
    return "t1"
