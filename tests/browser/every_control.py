"""Every control of every page and tab, chosen, unchosen, at its ends and with nonsense.

After each action the page has to be there without an error; so it has to be when its address is
opened afresh, and when the Back button leads to it. Then every parameter that its links have is
left empty, given twice, and given nonsense. Run all of it before a release:

    python -m tests.browser.every_control [page ...]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.browser.client import Session, Shown, session
from tests.browser.server import serve
from tests.needs import ROOT

NONSENSE = "–1e999\u202e<b>"
TABS = "block tab_container"
SLOW = frozenset({"sample", "runs"})
"""Keys of fields whose largest value asks for minutes of computing."""


def actions(widget: Shown) -> Iterator[object]:
    """Values to give to a widget, the odd ones included."""
    told = widget.message
    if getattr(told, "disabled", False):
        return
    if widget.kind == "checkbox":
        yield from (not told.default, told.default)
    elif widget.kind == "button_group":
        names = [option.content for option in told.options]
        yield from ([name] for name in {names[0], names[-1]})
        yield [names[place] for place in told.default]
        yield from ([], [NONSENSE], names + names[:1])
    elif widget.kind == "slider":
        options = list(told.options)
        ends = [options[0], options[-1]] if options else [told.min, told.max]
        yield from ([end] * max(1, len(told.default)) for end in ends)
        yield list(told.default) if not options else [options[int(p)] for p in told.default]
    elif widget.kind == "selectbox":
        yield from {told.options[0], told.options[-1], NONSENSE} if told.options else ()
    elif widget.kind == "number_input":
        ends = [told.min] if told.has_min else []
        ends += [told.max] if told.has_max and widget.key not in SLOW else []
        yield from (*ends, told.default)
    elif widget.kind == "text_area":
        yield from ("", NONSENSE, "The old doctor bought a violin in winter.")


def address_of(query: str, widget: Shown, value: object) -> str:
    """The query of the address after a browser gave a bound widget this value."""
    name = getattr(widget.message, "query_param_key", "")
    if not name:
        return query
    given = value if isinstance(value, list) else [value]
    kept = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != name]
    said = [str(each).lower() if isinstance(each, bool) else str(each) for each in given]
    return urlencode(kept + [(name, each) for each in said or [""]])


async def look(person: Session, what: str, faults: list[str]) -> None:
    """Note what should not be on a page."""
    faults += [f"{what}: an exception" for _ in person.all("exception")]
    if not any(person.all("heading")):
        faults.append(f"{what}: blank")


async def back(person: Session) -> None:
    """Come back to the page by the Back button: the address decides."""
    message = BackMsg()
    message.rerun_script.query_string = person.query
    message.rerun_script.page_script_hash = person.shown_page
    message.rerun_script.is_history_navigation = True
    await person.run(message)


def odd_links(names: Iterable[str], known: Mapping[str, str]) -> Iterator[str]:
    """Queries in which one parameter is odd, and one that is unknown.

    Args:
        names: of the parameters.
        known: values of some of them that a page has written itself.
    """
    for name in sorted(names):
        value = known.get(name, "1")
        for given in ([""], [value, value], [value, "", NONSENSE], [NONSENSE], ["-1"], ["9" * 30]):
            yield urlencode([(name, each) for each in given])
    yield urlencode([(NONSENSE, NONSENSE), ("", "")])


async def follow_links(url: str, page: str, known: Mapping[str, str], faults: list[str]) -> int:
    """Open a page by links with odd parameters, and run it once more; return how many."""
    async with session(url) as person:
        await person.open(page)
        shown = person.screen.values()
        names = {getattr(each.message, "query_param_key", "") for each in shown} | set(known)
    queries = list(odd_links(names - {""}, known))
    for query in queries:
        async with session(url) as person:
            await person.open(page, query)
            await look(person, f"{page}, opened at {query}", faults)
            await person.rerun()
            await look(person, f"{page}, opened at {query} and run again", faults)
    return len(queries)


async def drive(
    url: str,
    page: str,
    faults: list[str],
    known: dict[str, str],
    until: float = float("inf"),
) -> int:
    """Try every control of a page; return the number of actions.

    Args:
        url: of the server.
        page: its address.
        faults: to which what is found is added.
        known: to which parameters of the address are added, with a value that the page wrote.
        until: when to stop, on the clock of `time.monotonic`.
    """
    done, tried = 0, set[str]()
    async with session(url) as person:
        await person.open(page)
        tabs = [
            (holder.key, str(shown.message.tab.label))
            for place, shown in person.screen.items()
            if shown.kind == "block tab"
            for holder in [person.screen[place[:-1]]]
            if holder.kind == TABS and holder.id
        ]
    for key, label in tabs or [("", "")]:
        going = True
        while going:  # a session in which a run goes on and on is left for another
            going = False
            async with session(url) as person:
                await person.open(page, urlencode({key: label}) if key else "")
                await look(person, f"{page} {label}", faults)
                for control in list(person.screen.values()):
                    if not control.id or control.key in tried or time.monotonic() > until:
                        continue
                    tried.add(control.key)
                    for value in actions(control):
                        what = f"{page} {label} {control.kind} {control.key} := {value!r}"
                        try:
                            query = await act(url, page, person, control, value, what, faults)
                        except TimeoutError:
                            faults.append(f"{what}: no answer in {person.patience:.0f} s")
                            going = True
                            break
                        if query is None:
                            break
                        known |= dict(parse_qsl(query))
                        done += 1
                    if going:
                        break
    return done


async def act(
    url: str,
    page: str,
    person: Session,
    control: Shown,
    value: object,
    what: str,
    faults: list[str],
) -> str | None:
    """Set a control, go back to the page, and open its address; None if it is not there any more.

    Args:
        url: of the server.
        page: its address.
        person: who has the page open.
        control: as it was when the page was opened.
        value: for it.
        what: what is done.
        faults: to which what is found is added.

    Returns:
        The query of the address.
    """
    there = [shown for shown in person.screen.values() if shown.id == control.id]
    if not there:
        return None
    person.query = address_of(person.query, there[0], value)
    await person.set(there[0], value)
    await look(person, what, faults)
    query = person.query
    await back(person)
    await look(person, f"{what}, Back", faults)
    async with session(url) as fresh:
        await fresh.open(page, person.query)
        await look(fresh, f"{what}, opened at {person.query}", faults)
    return query


async def main(url: str, pages: list[str]) -> list[str]:
    """Try all pages, and print what was found."""
    faults: list[str] = []
    async with session(url) as first:
        await first.open()
        named = pages or list(first.pages)
    for page in named:
        start, before, known = time.monotonic(), len(faults), dict[str, str]()
        done = await drive(url, page, faults, known)
        links = await follow_links(url, page, known, faults)
        print(
            f"{page}: {done} actions, {links} links, {time.monotonic() - start:.0f} s",
            *faults[before:],
            sep="\n  ",
        )
    return faults


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home, serve(ROOT / "app.py", Path(home)) as server:
        found = asyncio.run(main(server.url, sys.argv[1:]))
        failed = "Traceback" in server.printed()
    sys.exit(bool(found) or failed)
