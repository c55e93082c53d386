"""One tab that asks for all it can is answered at the pace of a person, whatever the server."""

import asyncio
import time

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from dpcore.limits import MAX_REQUESTS_AT_ONCE, REQUESTS_A_SECOND
from tests.browser.client import Session, alone, session
from tests.browser.server import Server

FLOOD, WATCHED = 2_000, MAX_REQUESTS_AT_ONCE + 2 * REQUESTS_A_SECOND


async def answers(flooder: Session, begin: float) -> list[float]:
    """Seconds from the beginning to each of the answers that are watched."""
    times: list[float] = []
    while len(times) < WATCHED:
        message = ForwardMsg.FromString(await flooder.socket.recv())
        if message.WhichOneof("type") == "file_urls_response":
            times.append(time.perf_counter() - begin)
    return times


@pytest.mark.undisturbed
def test_a_flood_is_answered_in_order_at_the_pace_while_another_works(app: Server) -> None:
    async def work() -> None:
        async with session(app.url) as flooder, session(app.url) as other:
            await flooder.open("start")
            await other.open("start")
            ask = BackMsg()  # what a page asks before it uploads: each has one answer, at once
            ask.file_urls_request.file_names.append("a.csv")
            begin = time.perf_counter()
            answering = asyncio.create_task(answers(flooder, begin))
            for number in range(FLOOD):
                ask.file_urls_request.request_id = f"{number}"
                await flooder.socket.send(ask.SerializeToString())
            await other.rerun()  # which is answered, though most of the flood still waits
            for number, seconds in enumerate(await answering):
                earliest = (number - MAX_REQUESTS_AT_ONCE) / REQUESTS_A_SECOND
                assert seconds >= earliest - 1e-6  # of rounding
            flooder.socket.transport.abort()  # a farewell would wait behind the rest

    alone(work())
    assert "Traceback" not in app.printed()
