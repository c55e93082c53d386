"""Every control of the quick pages; `python -m tests.browser.every_control` tries all pages."""

import pytest

from tests.browser.client import alone, session
from tests.browser.every_control import actions, address_of, drive, follow_links
from tests.browser.server import Server


@pytest.mark.parametrize("page", ["lesson", "start"])
def test_no_action_breaks_a_page(app: Server, page: str) -> None:
    before, faults, known = len(app.printed()), list[str](), dict[str, str]()
    assert alone(drive(app.url, page, faults, known)) > 3
    assert alone(follow_links(app.url, page, known, faults)) > 6
    assert not faults
    assert "Traceback" not in app.printed()[before:]


def test_the_last_example_that_is_unchosen_is_among_the_actions(app: Server) -> None:
    async def pills() -> None:
        async with session(app.url) as person:
            await person.open("rewrite")
            examples = person.find("button_group", "preset")
            assert [] in list(actions(examples))
            assert address_of("view=a&preset=trip", examples, []) == "view=a&preset="
            await person.set(examples, [])
            assert not list(person.all("exception"))

    alone(pills())


def test_a_choice_that_is_required_may_be_unchosen_all_the_same(app: Server) -> None:
    """No browser offers it; what arrives in its place is the first choice."""

    async def unchoose() -> None:
        async with session(app.url) as person:
            await person.open("curves", "sample=3&curve_metric=tem&curve_log=")
            for key in ("by", "compare", "band"):
                await person.set(person.keyed(key), [])
                assert not list(person.all("exception")), key

    alone(unchoose())
