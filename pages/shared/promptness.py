"""What the process sends goes out at once."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

_OWN_FILES = "/dev/fd"  # Linux and macOS


def send_at_once() -> None:
    """Have no TCP connection of this process wait for acknowledgements before it sends on.

    An answer of the server is several small frames. By default the second waits until the browser
    has acknowledged the first, which browsers put off for 40 ms and more: four fifths of a step of
    a slider. Connections inherit this from the socket that listens, which Streamlit opens without
    it. Elsewhere than on Linux and macOS nothing is done.
    """
    try:
        files = [int(file.name) for file in Path(_OWN_FILES).iterdir()]
    except OSError:
        return
    for file in files:
        try:
            held = os.dup(file)
        except OSError:  # closed meanwhile: the list itself was one of them
            continue
        try:
            one = socket.socket(fileno=held)
        except OSError:  # no socket
            os.close(held)
            continue
        with one, contextlib.suppress(OSError):
            if one.family in {socket.AF_INET, socket.AF_INET6} and one.type == socket.SOCK_STREAM:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
