"""No connection of the page's process waits for acknowledgements."""

import socket
from pathlib import Path

import pytest

from pages.shared import promptness
from pages.shared.promptness import send_at_once

OPEN = Path("/dev/fd")


def waits(one: socket.socket) -> bool:
    return not one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(not OPEN.is_dir(), reason="no list of this process's sockets")
def test_connections_that_are_open_and_later_ones_send_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        with socket.create_connection(address) as early, listening.accept()[0] as accepted:
            assert waits(listening)
            assert waits(accepted)
            before = sorted(OPEN.iterdir())
            send_at_once()
            assert sorted(OPEN.iterdir()) == before  # no file was left open or closed
            assert not waits(accepted)
            with socket.create_connection(address), listening.accept()[0] as later:
                assert not waits(later)
            accepted.sendall(b"still open")
            assert early.recv(10) == b"still open"


def test_what_is_no_tcp_socket_stays_as_it_is() -> None:
    local, other = socket.socketpair()
    with local, other, socket.socket(type=socket.SOCK_DGRAM), Path(__file__).open() as file:
        send_at_once()
        local.sendall(b"still open")
        assert other.recv(10) == b"still open"
        assert file.readline()


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promptness, "_OWN_FILES", "/no/such/folder")
    send_at_once()
