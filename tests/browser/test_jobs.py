"""Slow work of two people beside a third: one waits and is notified, one is answered."""

import asyncio
from urllib.parse import urlencode

from tests.browser.client import Session, alone, session
from tests.browser.server import Server

OWN_RUN = {"use_texts": "1500", "use_trials": "5"}
PULSES, PATIENCE = 120, 240.0


async def start(person: Session) -> None:
    """Begin a live run."""
    await person.open("release", urlencode(OWN_RUN))
    await person.set(person.keyed("use_start"), True)


async def told(person: Session) -> list[str]:
    """Text of the progress bar."""
    await person.rerun()
    return [shown.message.text for shown in person.all("progress")]


def test_a_second_run_waits_with_a_number_and_a_third_person_is_served(
    fresh_server: Server,  # the shared one may still hold a run of somebody who has just gone
) -> None:
    async def work() -> None:
        async with (
            session(fresh_server.url, patience=PATIENCE) as first,
            session(fresh_server.url, patience=PATIENCE) as two,
            session(fresh_server.url, patience=PATIENCE) as three,
        ):
            await three.open("rewrite")
            await start(first)
            await start(two)
            assert await told(two) == ["Waiting: 1 before you."]
            for value in ("9", "12"):
                await three.set(three.keyed("draw"), value)
                assert three.keyed("draw").kind == "number_input"
            assert await told(two) == ["Waiting: 1 before you."]  # the first one is still at work
            await first.set(first.keyed("use_stop"), True)
            for _ in range(PULSES):
                now = await told(two)
                if now != ["Waiting: 1 before you."]:
                    break
                await asyncio.sleep(0.25)
            assert now
            assert not now[0].startswith("Waiting")
            await two.set(two.keyed("use_stop"), True)
            assert not await told(two)

    alone(work())
    assert "Traceback" not in fresh_server.printed()
