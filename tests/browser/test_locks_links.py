"""Links with nonsense in every parameter of every page: the page is drawn, without an error."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.browser.client import alone, session
from tests.browser.server import Server

NONSENSE = [
    "-1", "1e999", "nan", "../../etc/passwd", "<script>alert(1)</script>", "\ud83d\ude00" * 50,
    "x" * 3000, "", "null", "\x00", "%ff%fe", "9" * 400, "true", "[]", "w1,w2;w3",
]  # fmt: skip
ROUNDS = 3


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(start, marks=pytest.mark.full if start else ())
        for start in range(0, len(NONSENSE), len(NONSENSE) // ROUNDS)
    ],
)
def test_nonsense_in_every_parameter_draws_the_page(app: Server, start: int) -> None:
    values = NONSENSE[start : start + len(NONSENSE) // ROUNDS]

    async def work() -> list[str]:
        wrong = []
        async with session(app.url) as first:
            await first.open()
            for page in list(first.pages):
                await first.switch(page)
                names = parameters(first.screen.values())
                query = urlencode(
                    [(name, values[i % len(values)]) for i, name in enumerate(sorted(names))],
                    errors="surrogatepass",
                )
                async with session(app.url) as visitor:  # a link is read when a session begins
                    await visitor.open(page, query)
                    failed = list(visitor.all("exception"))
                    wrong += [f"{page}?{query[:300]}: {element.message}" for element in failed]
                    wrong += [f"{page} draws nothing"] if not list(visitor.all("heading")) else []
        return wrong

    assert not alone(work())
    assert "Traceback" not in app.printed()


def parameters(shown: Iterable[Any]) -> set[str]:
    """Names that the widgets of a page read from the link, and those that pages read themselves."""
    bound = {getattr(element.message, "query_param_key", "") for element in shown}
    written = {"text", "words", "word", "other", "seed", "draw", "place", "via", "claim", "study"}
    return {name for name in bound | written if re.fullmatch(r"\w+", name)}
