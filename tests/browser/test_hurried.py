"""People in a hurry at the level of the protocol: no page is blank, broken or in another's place.

Each person is a seed; four at once share a server. `DPCORE_HURRIED` names other seeds: `1-200` for
a long run, some ten steps a second on a quiet machine.
"""

import asyncio
import os
import random
from urllib.parse import urlsplit

import pytest
import websockets
from websockets.typing import Origin, Subprotocol

from tests.browser.client import alone
from tests.browser.hurried import Person
from tests.browser.server import Server

AT_ONCE = 4
ROUNDS, STEPS = 3, 15
PATIENCE_SECONDS = 180.0


async def hurry(url: str, seed: int) -> list[str]:
    """Faults that a person in a hurry saw."""
    async with websockets.connect(
        f"ws://{urlsplit(url).netloc}/_stcore/stream",
        subprotocols=[Subprotocol("streamlit")],
        max_size=None,
        origin=Origin(url),
    ) as socket:
        person = Person(socket, random.Random(seed))
        listening = asyncio.create_task(person.listen())
        try:
            await person.ask("")
            while not person.pages:
                await asyncio.sleep(0.05)
            for _ in range(ROUNDS):
                for _ in range(STEPS):
                    await person.step()
                await person.rest(PATIENCE_SECONDS)
                if person.faults:
                    return [f"seed {seed}: {fault}" for fault in person.faults] + list(person.did)
            return []
        finally:
            listening.cancel()


def groups() -> list[list[int]]:
    """The seeds of those who are there together."""
    first, _, last = os.environ.get("DPCORE_HURRIED", "1-4").partition("-")
    seeds = list(range(int(first), int(last or first) + 1))
    return [seeds[start : start + AT_ONCE] for start in range(0, len(seeds), AT_ONCE)]


@pytest.mark.parametrize("group", groups(), ids=str)
def test_whatever_is_sent_every_page_comes_whole(app: Server, group: list[int]) -> None:
    before = len(app.printed())

    async def together() -> list[list[str]]:
        return await asyncio.gather(*(hurry(app.url, seed) for seed in group))

    faults = [fault for seen in alone(together()) for fault in seen]
    assert not faults, "\n".join(faults)
    printed = app.printed()[before:]
    assert "Traceback" not in printed, printed[-4000:]
