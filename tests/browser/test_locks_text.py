"""Typed text on every page: shown verbatim, and nowhere but in its own session.

The pages are those of the menu, so a new one is looked at by itself; a field that shows only in
one of a page's views needs that view in `VIEWS`, and a test says so where it is missing.
"""

import ast
import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pages.attacker import believing, board, game_view, scene
from pages.curves import choosing
from pages.robustness import one_text
from pages.shared.contents import CONTENTS
from tests.browser.client import Session, Shown, alone, session
from tests.browser.server import Server
from tests.browser.test_locks import ask
from tests.needs import ROOT

SIGN = "unmistakable7"
HOSTILE = (
    f"good money **{SIGN}** ![](http://evil.invalid/{SIGN}.png) "
    f"<img src=x onerror=\"document.title='{SIGN}'\"> [{SIGN}](javascript:alert(1)) "
    f"<b>{SIGN}</b> :red[{SIGN}] $x^{SIGN}$ :material/home:"
)
# Verbatim text in a browser: plain text, code, boxes, cells of a table, our own component
# (which escapes; the tests of the Rewrite page look at it in a browser), and the choices of a menu.
PLAIN = {"text", "code", "text_area", "text_input", "dataframe", "bidi_component", "selectbox"}
FIELDS = {"text_area", "text_input"}

VIEWS: dict[str, list[dict[str, str]]] = {
    "tradeoff": [
        {},
        {"part": "Choose ε", "goal": "nw", "of_words": "word"},
        {"part": "Choose ε", "goal": "nw", "of_words": "text"},
    ],
    "curves": [
        {"of": choosing.LIST},
        {"of": choosing.TEXT},
        {"of": choosing.SAMPLE, "part": "Appendix C"},
    ],
    "attacker": [
        {"prior": believing.LIST},
        {"prior": believing.AROUND},
        {"view": scene.GAME, "game_list": game_view.OWN},
        {"view": board.SENTENCE},
        {"view": board.SENTENCE, "about": board.BUDGET},
    ],
    "robustness": [
        {"robust_view": "Words", "words_part": "One text", "words_text_source": one_text.OWN},
        {"robust_view": "Attack", "attack_text_source": one_text.OWN},
    ],
    "rewrite": [
        {"view": name}
        for name in ("What is not protected", "One word: strip and odds", "100 draws")
    ],
}


def menu() -> list[str]:
    """The addresses of the pages; the first one has none."""
    return ["", *(entry.address for entry in CONTENTS[1:])]


@pytest.fixture(params=menu())
def menu_page(request: pytest.FixtureRequest) -> str:
    """Each page of the menu in turn."""
    return str(request.param)


def views(page: str) -> list[str]:
    """The queries under which a page is looked at."""
    return [urlencode(view) for view in VIEWS.get(page, [{}])]


def fields(person: Session) -> list[Shown]:
    """Return the places where a person can type: boxes, and menus that take a new entry."""
    return [
        shown
        for shown in person.screen.values()
        if shown.kind in FIELDS or (shown.kind == "selectbox" and shown.message.accept_new_options)
    ]


def rendered(person: Session) -> list[str]:
    """Elements that hold the sign and are drawn as Markdown, as HTML, or as a picture's text."""
    return [
        f"{shown.kind}: {str(shown.message)[:300]}"
        for shown in person.screen.values()
        if shown.kind not in PLAIN and SIGN.encode() in shown.message.SerializeToString()
    ]


async def everywhere(app: Server, page: str, done: Callable[[Session], object]) -> set[str]:
    """Type the sentence into every field of every view of a page; the helps of the fields.

    A visit is a session of its own, since a link is read when a session begins; where what was
    typed into one field hides the next, that one gets a visit too.
    """
    seen: set[str] = set()
    for query in views(page):
        left: set[str] | None = None
        while left is None or left:
            async with session(app.url) as person:
                await person.open(page, query)
                done(person)
                there = {field.message.id: field for field in fields(person)}
                left = set(there) if left is None else left & set(there)
                while left & set(there):
                    name = min(left & set(there))
                    seen.add(there[name].message.help)
                    await person.set(there[name], HOSTILE)
                    done(person)
                    left.remove(name)
                    there = {field.message.id: field for field in fields(person)}
    return seen


_helps: dict[str, set[str]] = {}  # of the fields that were typed into, by page


def test_typed_text_is_never_markup_and_stays_in_its_session(app: Server, menu_page: str) -> None:
    faults: list[str] = []

    def look(person: Session) -> None:
        faults.extend(rendered(person))
        faults.extend([f"in the address: {person.query}"] if SIGN in person.query else [])
        faults.extend(f"exception: {element.message}"[:300] for element in person.all("exception"))

    async def work() -> None:
        foreign: list[bytes] = []
        async with session(
            app.url, raw=lambda data: foreign.append(data) if SIGN.encode() in data else None
        ) as other:
            await other.open(menu_page)
            _helps[menu_page] = await everywhere(app, menu_page, look)
            await other.rerun()
            assert not foreign

    alone(work())
    assert not faults, "\n".join(dict.fromkeys(faults))
    assert SIGN not in app.printed()
    assert "Traceback" not in app.printed()
    assert not holding(app.log.parent)


def test_no_field_is_forgotten() -> None:
    if set(_helps) != set(menu()):
        pytest.skip("some pages were not looked at")
    helps = set().union(*_helps.values())
    missing = [
        site for site, promise in typing_sites().items() if not any(promise in h for h in helps)
    ]
    assert not missing, f"these fields show in no view of VIEWS: {missing}"


def typing_sites() -> dict[str, str]:
    """Return the calls of text widgets in the pages, and how the help of each begins."""
    sites = {}
    for path in sorted((ROOT / "pages").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            typed = node.func.attr in {"text_input", "text_area", "chat_input", "data_editor"}
            if typed or "accept_new_options" in keywords:
                sites[f"{path.relative_to(ROOT)}:{node.lineno}"] = _start(keywords["help"])
    assert len(sites) > 5
    return sites


def _start(node: ast.expr) -> str:
    """The first fixed words of a help text; empty where it is all computed."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    return str(node.value) if isinstance(node, ast.Constant) else ""


def holding(folder: Path) -> list[Path]:
    """Files below a folder that hold the sign."""
    return [
        path for path in folder.rglob("*") if path.is_file() and SIGN.encode() in path.read_bytes()
    ]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="the temporary folder is shared otherwise")
def test_typed_text_is_in_no_new_temporary_file(app: Server) -> None:
    begin = time.time() - 1

    async def work() -> None:
        async with session(app.url) as person:
            await person.open()
            await person.set(person.find("text_area", "text"), HOSTILE)

    alone(work())
    home = app.log.parent
    opened = Path(f"/proc/{app.pid}/fd")
    places = {link.resolve() for link in opened.iterdir() if link.exists()}
    written = [
        path
        for path in places
        if path.is_file() and path != app.log and path.stat().st_mtime > begin
    ]
    assert not [path for path in written if SIGN.encode() in path.read_bytes()]
    assert not holding(home)


def test_what_the_server_tells_of_itself_holds_nothing_typed(app: Server) -> None:
    for route in ("metrics", "health", "script-health-check", "host-config"):
        assert SIGN.encode() not in ask(app, "GET", f"/_stcore/{route}")[1]
