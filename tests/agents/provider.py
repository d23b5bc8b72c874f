"""A provider that speaks chat-completions over real HTTP, and fails as real ones do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DONE = b"data: [DONE]\n\n"

Script = Callable[[dict[str, Any]], Iterator[bytes | Callable[[Any], None]]]


def delta(content: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One chunk of a streamed reply, as a server-sent event."""
    fields: dict[str, Any] = dict(more)
    if content is not None:
        fields["content"] = content
    return raw(
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "stub",
            "choices": [{"index": 0, "delta": fields, "finish_reason": finish}],
        }
    )


def raw(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def usage(given: int, said: int) -> bytes:
    return raw(
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "stub",
            "choices": [],
            "usage": {
                "prompt_tokens": given,
                "completion_tokens": said,
                "total_tokens": given + said,
            },
        }
    )


def says(*pieces: str, pause: float = 0.0) -> Script:
    """A reply in these pieces."""

    def script(request: dict[str, Any]) -> Iterator[bytes]:
        yield delta("", role="assistant")
        for piece in pieces:
            if pause:
                time.sleep(pause)
            yield delta(piece)
        yield delta(finish="stop")
        yield usage(10, len(pieces))
        yield DONE

    return script


def calls(*wanted: tuple[str, str, str]) -> Script:
    """A reply that calls tools: ``(call id, name, arguments as JSON)``, side by side."""

    def script(request: dict[str, Any]) -> Iterator[bytes]:
        for index, (call_id, name, args) in enumerate(wanted):
            head = {"index": index, "id": call_id, "type": "function"}
            yield delta(
                tool_calls=[head | {"function": {"name": name, "arguments": ""}}]
            )
            for start in range(0, len(args), 7):
                piece = {"index": index, "function": {"arguments": args[start:][:7]}}
                yield delta(tool_calls=[piece])
        yield delta(finish="tool_calls")
        yield usage(20, 5)
        yield DONE

    return script


class Provider:
    """The server. ``scripts`` answer one request each, the last one all that follow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def reset(self) -> None:
        """As new, for the next test."""
        self.scripts: list[Script] = [says("Hello ", "there.")]
        self.requests: list[dict[str, Any]] = []
        # (status, headers, body) for the next requests, before any script.
        self.refusals: list[tuple[int, dict[str, str], dict[str, Any]]] = []
        # Titles are asked for whole, at a time of the worker's choosing.
        self.refuses_turns_only = False
        self.hold = threading.Event()
        self.release = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()

    def waits(self, *pieces: str, then: tuple[str, ...] = ()) -> Script:
        """Says ``pieces``, sets ``hold``, waits for ``release``, says the rest."""

        hold, release = self.hold, self.release

        def script(request: dict[str, Any]) -> Iterator[bytes]:
            for piece in pieces:
                yield delta(piece)
            hold.set()
            release.wait(60)
            for piece in then:
                yield delta(piece)
            yield delta(finish="stop")
            yield DONE

        return script

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", 0))
        request = json.loads(handler.rfile.read(length))
        with self._lock:
            self.requests.append(request)
            refused = request.get("stream") or not self.refuses_turns_only
            refusal = self.refusals.pop(0) if self.refusals and refused else None
            script = self.scripts[0]
            if refusal is None and len(self.scripts) > 1:
                self.scripts.pop(0)
        if refusal is not None:
            status, headers, body = refusal
            self._reply(handler, status, headers, json.dumps(body).encode())
            return
        if not request.get("stream"):
            self._reply(handler, 200, {}, json.dumps(_whole(script(request))).encode())
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.close_connection = True
        try:
            for item in script(request):
                if not isinstance(item, bytes):
                    item(handler)
                    return
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(item), item))
                handler.wfile.flush()
            handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass

    def _reply(self, handler: Any, status: int, headers: dict, body: bytes) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)


def cut(handler: Any) -> None:
    """Ends the connection in the middle of the reply."""
    handler.wfile.flush()
    handler.connection.shutdown(2)


def _whole(pieces: Iterator[Any]) -> dict[str, Any]:
    text = ""
    for piece in pieces:
        if piece.startswith(b"data: {"):
            for choice in json.loads(piece[6:])["choices"]:
                text += choice["delta"].get("content") or ""
    message = {"role": "assistant", "content": text}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
