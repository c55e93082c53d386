"""A local server that cuts, lies, refuses and resumes."""

from __future__ import annotations

import http.server
from dataclasses import dataclass, field

CONTENT = bytes(range(256)) * 4000


@dataclass
class Behaviour:
    """Behaviour of the server for the requests of one path."""

    content: bytes = CONTENT
    resumes: bool = True
    cut_after: list[int] = field(default_factory=list)  # bytes given, one entry a request
    status: list[int] = field(default_factory=list)  # refusals, one entry a request
    ranges: list[str | None] = field(default_factory=list)  # what was asked for


class Behaving(http.server.ThreadingHTTPServer):
    """A server that knows what to do at which path."""

    def __init__(self, address: tuple[str, int], handler: type[Handler]) -> None:
        super().__init__(address, handler)
        self.behaviours: dict[str, Behaviour] = {}

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of the test."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    server: Behaving

    def do_GET(self) -> None:
        behaviour = self.server.behaviours.get(self.path)
        if behaviour is None:
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        behaviour.ranges.append(asked)
        if behaviour.status:
            self.send_error(behaviour.status.pop(0))
            return
        content, start = behaviour.content, 0
        if asked and behaviour.resumes:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            last = len(content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        given = behaviour.cut_after.pop(0) if behaviour.cut_after else len(content)
        self.wfile.write(content[start : start + given])
        if start + given < len(content):
            self.close_connection = True

    def log_message(self, *args: str | int) -> None:
        pass
