"""The lab without a server: `python -m pages.site OUT/` writes a folder of pages.

Any web host, a memory stick or the frame of a slide can show them. Each page is run once as for a
visitor; its words, tables and drawings are written down, with the components of the app as they
are: they hold the numbers of every step of a dial. Each is run at other steps too, and what differs
there is left out, so that nothing stands beside a dial that has moved on. Fields, files and all
that needs the engine stay in the app, and the page says so.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import logging
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dpcore.papers.claims import CLAIMS
from pages.lesson.lesson import GUESSES, computed
from pages.lesson.steps import STEPS
from pages.opening.explorer import explorer
from pages.shared.contents import CONTENTS, NAME, Content
from pages.shared.dial import GROUPS
from pages.shared.language import LANGUAGES, say, speaking

_ROOT = Path(__file__).resolve().parents[1]
_HERE = Path(__file__).parent / "opening"
_SECONDS = 600
_INSIDE = "\0"  # no page says it
_LONG = 2_000
"""Characters of a value of which all parts of a page keep one copy."""
_ASIDE = {"departure"}
"""Components that serve only the server's page."""

_VIEWS: dict[str, list[dict[str, str]]] = {
    "start": [{"guessed": "60"}],
    "tradeoff": [{"level": "40"}],
    "crowd": [{"guessed": "50"}, {"texts": "1000"}],
    "words": [{"eps_metric": "30", "eps_log": "8"}],
    "curves": [{"eps_metric": "30", "eps_log": "8"}],
    "papers": [],
    "lesson": [],
}
"""Address of a page -> parameters of links to the same page with its dials elsewhere."""

_FOLLOWING = {"curves"}
"""Addresses of pages of which what follows a dial is written for each of its steps."""

_PARTS = {
    "papers": ("claim", tuple(CLAIMS)),
    "lesson": ("step", tuple(step.key for step in STEPS)),
}
"""Address of a page -> parameter of a link, and its values, each of which gets a page."""


@dataclass(frozen=True)
class Part:
    """One element of a page, as HTML, with the numbers that a component needs.

    Attributes:
        content: HTML, with `_INSIDE` in the place of the parts inside.
        inside: those parts.
    """

    content: str
    inside: tuple[Part, ...] = ()

    def __str__(self) -> str:
        """Return the HTML; nothing of a frame without content."""
        if _INSIDE not in self.content:
            return self.content
        parts = "".join(map(str, self.inside))
        return self.content.replace(_INSIDE, parts) if parts else ""


Place = tuple[int, ...]
"""Numbers of the blocks around an element, and its own."""

Follower = tuple[str, list[str]]
"""Group of a dial, and what stands in a place at each of its steps, as HTML."""


@dataclass
class Site:
    """Folder that is written.

    Attributes:
        folder: the folder.
        scripts: name of each component -> its file.
    """

    folder: Path
    scripts: dict[str, str] = field(default_factory=dict)

    def asset(self, name: str, text: str) -> str:
        """Write a file of all pages once, and return its address."""
        path = self.folder / "assets" / name
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        return f"assets/{name}"

    def component(self, name: str, code: str) -> str:
        """Write the code of a component as a script that needs no module, and return its address.

        A page that is opened as a file may load scripts, and no modules.
        """
        whole = re.sub(r"^export default function", "return function", code, flags=re.MULTILINE)
        # Behind all else that the module declares.
        head, _, tail = whole.partition("\nreturn function")
        parts = _until_closed(tail)
        body = f"{head}\n{parts[1]}\nreturn function{parts[0]}"
        script = f"lab.component({json.dumps(name)}, () => {{\n{body}\n}});\n"
        return self.asset(f"{name}-{hashlib.sha256(script.encode()).hexdigest()[:8]}.js", script)


def _until_closed(code: str) -> tuple[str, str]:
    """Return a function's code up to its closing brace at the beginning of a line, and the rest."""
    end = code.index("\n}\n") + 3
    return code[:end], code[end:]


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})


def _marked(text: str, *, inline: bool = False) -> str:
    """Return HTML of Markdown as the pages use it."""
    small = re.fullmatch(r":small\[(.*)\]", text, re.DOTALL)
    plain = re.sub(r":material/\w+:", "", small[1] if small else text)
    content = _markdown().renderInline(plain) if inline else _markdown().render(plain)
    return f'<div class="small">{content}</div>' if small else content


def _table(element: Any) -> str:
    """Return a table of at most a few hundred rows."""
    columns = json.loads(element.proto.columns or "{}")
    frame = element.value
    titles = {
        name: (columns.get(name) or {}).get("label") or name
        for name in frame.columns
        if not (columns.get(name) or {}).get("hidden")
    }
    kinds = [(columns.get(name) or {}).get("type_config") or {} for name in titles]
    rows = [
        "".join(
            f"<td>{html.escape(_cell(value, kind.get('format')))}</td>"
            for value, kind in zip(row, kinds, strict=True)
        )
        for row in frame[list(titles)].itertuples(index=False)
    ]
    head = "".join(f"<th>{html.escape(str(title))}</th>" for title in titles.values())
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="table"><table><tr>{head}</tr>{body}</table></div>'


def _cell(value: Any, form: str | None) -> str:
    """Write a value as the app does; a missing one stays empty there, too."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return (form if form and form.startswith("%") else "%.4g") % value
    return str(value)


class Writer:
    """One page, element by element."""

    def __init__(self, site: Site, page: str, suffix: str) -> None:
        """Begin a page.

        Args:
            site: the folder.
            page: its address.
            suffix: of the addresses of this language.
        """
        self._site, self._page, self._suffix = site, page, suffix
        self.scripts: list[str] = []
        self.data: list[str] = []
        self.followers: dict[Place, Follower] = {}
        self.contents: list[list[str]] = []

    def part(self, element: Any, place: Place = ()) -> Part:
        """Return an element and all that is in it."""
        if place in self.followers:
            group, contents = self.followers[place]
            self.contents.append(contents)
            follows = f'data-group="{group}" data-contents="{len(self.contents) - 1}"'
            return Part(f'<div class="follows" {follows}></div>')
        draw = getattr(self, f"_{element.type}", None)
        content = _INSIDE if draw is None else draw(element)
        inside = getattr(element, "children", None) or {}
        return Part(content, tuple(self.part(inside[i], (*place, i)) for i in sorted(inside)))

    def following(self, main: Any) -> dict[Place, str]:
        """Return the elements of a page that may follow a dial, by their places."""
        return {
            place: element.proto.body if element.type == "html" else str(self.part(element))
            for place, element in _places(main)
            if element.type in {"html", "text", "dataframe"}
        }

    def address(self, page: str, query: str = "") -> str:
        """Return the address of a page of this language; of one that is not written, the menu."""
        if page not in _VIEWS:
            return ""
        name, values = _PARTS.get(page, ("", ()))
        match = re.fullmatch(rf"{name}=([\w-]+)", query) if name else None
        part = f"-{match[1]}" if match and match[1] in values else ""
        return f"{page}{part}{self._suffix}.html"

    def _title(self, element: Any) -> str:
        return f"<h1>{_marked(element.proto.body, inline=True)}</h1>"

    def _header(self, element: Any) -> str:
        return f"<h2>{_marked(element.proto.body, inline=True)}</h2>"

    def _subheader(self, element: Any) -> str:
        return f"<h3>{_marked(element.proto.body, inline=True)}</h3>"

    def _markdown(self, element: Any) -> str:
        return _marked(element.proto.body)

    def _text(self, element: Any) -> str:
        return f'<p class="text">{html.escape(element.proto.body)}</p>'

    def _alert(self, element: Any) -> str:
        return f'<div class="note">{_marked(element.proto.body)}</div>'

    def _dataframe(self, element: Any) -> str:
        return _table(element)

    def _expander(self, element: Any) -> str:
        label = html.escape(element.proto.label)
        return f"<details><summary>{label}</summary>{_INSIDE}</details>"

    def _flex_container(self, element: Any) -> str:
        across = element.proto.flex_container.direction == 2  # HORIZONTAL
        close = " close" if element.proto.flex_container.gap_config.gap_size == 4 else ""  # NONE
        return f'<div class="{"row" if across else "stack"}{close}">{_INSIDE}</div>'

    def _column(self, element: Any) -> str:
        return f'<div class="column" style="flex: {element.weight:.3g}">{_INSIDE}</div>'

    def _page_link(self, element: Any) -> str:
        label = _marked(element.proto.label, inline=True)
        address = self.address(element.proto.page, element.proto.query_string)
        return f'<p><a href="{address}">{label}</a></p>' if address else f"<p>{label}</p>"

    def _plotly_chart(self, element: Any) -> str:
        from plotly.offline import get_plotlyjs

        self._needs(self._site.asset("plotly.js", _packed("plotly", get_plotlyjs())))
        self.data.append(element.proto.spec)
        # Marks over a figure are placed from its lower end.
        height = json.loads(element.proto.spec)["layout"].get("height", 350)
        number = len(self.data) - 1
        return f'<div class="chart" style="height: {height}px" data-chart="{number}"></div>'

    def _bidi_component(self, element: Any) -> str:
        proto = element.proto
        name = proto.component_name.removeprefix("word_privacy_lab.")
        if name in _ASIDE:
            return ""
        self._needs(self._site.component(name, proto.js_content))
        style = self._site.scripts.setdefault(
            f"{name}.css", self._site.asset(f"{name}.css.js", _style(name, proto.css_content))
        )
        self._needs(style)
        self.data.append(self._numbers(proto.json))
        return f'<div class="part" data-name="{name}" data-numbers="{len(self.data) - 1}"></div>'

    def _numbers(self, text: str) -> str:
        """Return what a component needs; what many pages share becomes a file of its own."""
        data = json.loads(text)
        if self._page not in _PARTS:
            return text
        for key, value in data.items():
            long = json.dumps(value, ensure_ascii=False)
            if len(long) > _LONG:
                name = hashlib.sha256(long.encode()).hexdigest()[:8]
                file = f'lab.shared["{name}"] = {long};\n'
                self._needs(self._site.asset(f"shared-{name}.js", file))
                data[key] = {"shared": name}
        return json.dumps(data, ensure_ascii=False)

    def _needs(self, script: str) -> None:
        if script not in self.scripts:
            self.scripts.append(script)


def _packed(name: str, text: str) -> str:
    """Return a script that holds a text in a quarter of its length, or less."""
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'lab.packed.{name} = "{packed}";\n'


def _style(name: str, css: str) -> str:
    return f"lab.styles[{json.dumps(name)}] = {json.dumps(css)};\n"


def run_page(
    page: str, spoken: str, parameters: dict[str, str], state: dict[str, Any] | None = None
) -> AppTest:
    """Run a page as a link opens it, in a session that may hold something already.

    Raises:
        RuntimeError: it ends with an error.
    """
    test = AppTest.from_file(str(_ROOT / "app.py"), default_timeout=_SECONDS)
    test._page_hash = calc_hash(page)
    for name, value in ({"lang": spoken} | parameters).items():
        test.query_params[name] = value
    for name, entry in (state or {}).items():
        test.session_state[name] = entry
    test.run()
    if test.exception:
        raise RuntimeError(f"the page {page} ends with: {test.exception[0].message}")
    return test


def _places(element: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    yield place, element
    for i, inside in (getattr(element, "children", None) or {}).items():
        yield from _places(inside, (*place, i))


def _says(element: Any) -> bytes | None:
    """Return what an element says of its own; None for a component, which follows the dial."""
    if element.type == "bidi_component" or not hasattr(element, "proto"):
        return None
    if getattr(element, "children", None):
        return None
    if element.type == "plotly_chart":
        return str(element.proto.spec).encode()
    return bytes(element.proto.SerializeToString(deterministic=True))


def followers(
    page: str, spoken: str, parameters: dict[str, str], first: Any, writer: Writer
) -> dict[Place, Follower]:
    """Return what follows one dial, and no other, from a run of the page at each step.

    Raises:
        RuntimeError: a link does not move the dial to its step.
    """
    usual, variants = writer.following(first), dict[Place, list[Follower]]()
    for group in GROUPS:
        dial = _dial(first, group.name)
        if dial is None:
            continue
        steps = []
        for number, epsilon in enumerate(dial["epsilons"]):
            link = parameters | {f"eps_{group.name}": group.label(epsilon)}
            moved = run_page(page, spoken, link).main
            if (_dial(moved, group.name) or {}).get("step") != number:
                raise RuntimeError(f"a link to {page} does not move its dial: {link}")
            steps.append(writer.following(moved))
        for place, content in usual.items():
            contents = [step.get(place, "") for step in steps]
            if any(each != content for each in contents):
                variants.setdefault(place, []).append((group.name, contents))
    return {place: each[0] for place, each in variants.items() if len(each) == 1}


def _dial(main: Any, group: str) -> dict[str, Any] | None:
    """Return what the dial of a group shows, if the page has it."""
    for _, element in _places(main):
        if element.type == "bidi_component" and element.proto.component_name.endswith(".dial"):
            data: dict[str, Any] = json.loads(element.proto.json)
            if data["group"] == group:
                return data
    return None


def still_parts(first: Any, others: list[Any], moving: Collection[Place] = ()) -> Any:
    """Remove from a page what is not the same at other steps of its dials, and return it.

    What stands in the `moving` places stays.
    """
    usual = {place: _says(element) for place, element in _places(first)}
    for other in others:
        there = {place: _says(element) for place, element in _places(other)}
        for place, words in usual.items():
            still = there.get(place) == words or place in moving
            if place and words is not None and not still:
                _leave_out(first, place)
    return first


def _leave_out(block: Any, place: Place) -> None:
    for i in place[:-1]:
        block = block.children.get(i)
        if block is None:
            return
    block.children.pop(place[-1], None)


def write_site(folder: Path, addresses: list[str], languages: list[str]) -> list[Path]:
    """Write the pages into a folder, and return their files.

    Args:
        folder: made if it is not there.
        addresses: of pages, some of `_VIEWS`.
        languages: names of languages, in the order of the menu.
    """
    site, written = Site(folder), []
    for name in ("site.css", "site.js"):
        site.asset(name, (_HERE / name).read_text(encoding="utf-8"))
    for spoken in languages:
        with speaking(spoken):
            for content in CONTENTS:
                if content.address in addresses:
                    written += _write_page(site, content, spoken)
    first = f"{addresses[0]}{_suffix(languages[0])}.html"
    refresh = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={first}">'
    index = folder / "index.html"
    index.write_text(f'<!doctype html>{refresh}<a href="{first}">{NAME}</a>\n', encoding="utf-8")
    return [index, *written]


def _suffix(spoken: str) -> str:
    return "" if spoken == next(iter(LANGUAGES)) else f"-{spoken}"


def _write_page(site: Site, content: Content, spoken: str) -> list[Path]:
    page = content.address
    name, values = _PARTS.get(page, ("", ()))
    parts: list[tuple[str, dict[str, str]]] = [("", {})]
    parts += [(f"-{value}", {name: value}) for value in values]
    written = []
    for part, parameters in parts:
        first = run_page(page, spoken, parameters).main
        others = [run_page(page, spoken, other | parameters).main for other in _VIEWS[page]]
        writer = Writer(site, page, _suffix(spoken))
        if page in _FOLLOWING:
            writer.followers = followers(page, spoken, parameters, first, writer)
        body = str(writer.part(still_parts(first, others, writer.followers)))
        if page == "lesson":
            body += _answer(parameters.get(name, values[0]), spoken, writer) + _steps(writer)
        if page == "words":
            # Above the line that says where the numbers come from.
            head, line, tail = body.rpartition('<p class="text">')
            fields, script = explorer(site.asset)
            writer.scripts.append(script)
            body = head + fields + line + tail
        path = site.folder / f"{page}{part}{_suffix(spoken)}.html"
        whole = _whole_page(content, spoken, part, writer, body)
        path.write_text(whole, encoding="utf-8", newline="\n")
        written.append(path)
    return written


def _answer(key: str, spoken: str, writer: Writer) -> str:
    """Return the answer to the question of a step of the lesson, to be opened.

    What the guess shows in the app, opening the answer shows here.
    """
    task = computed(key)
    main = run_page("lesson", spoken, {"step": key}, {GUESSES: {task.key: task.low}}).main
    turns = [
        element.proto.json
        for _, element in _places(main)
        if element.type == "bidi_component" and element.proto.component_name.endswith("turning")
    ]
    writer.data += turns
    after = f' data-after="{len(writer.data) - 1}"' if turns else ""
    truth = html.escape(say(task.truth))
    return f"<details{after}><summary>{say('The answer')}</summary><p>{truth}</p></details>"


def _steps(writer: Writer) -> str:
    """Return links to all steps of the lesson."""
    links = (
        f'<li><a href="{writer.address("lesson", f"step={step.key}")}">'
        f"{html.escape(say(step.title))}</a></li>"
        for step in STEPS
    )
    return f"<ol>{''.join(links)}</ol>"


def _whole_page(content: Content, spoken: str, part: str, writer: Writer, body: str) -> str:
    here = {content.address: ' aria-current="page"'}
    menu = "".join(
        f'<a href="{each.address}{_suffix(spoken)}.html"{here.get(each.address, "")}>'
        f"{html.escape(say(each.title))}</a>"
        for each in CONTENTS
        if each.address in _VIEWS
    )
    languages = "".join(
        f'<a lang="{name}" hreflang="{name}" href="{content.address}{part}{_suffix(name)}.html">'
        f"{title}</a>"
        for name, title in LANGUAGES.items()
        if name != spoken
    )
    needs = say(
        "A copy without a server: dials move; your own sentences and files need the laboratory. "
        '`pip install "word-privacy-lab[app]"`, then `word-privacy-lab`.'
    )
    data = ",\n".join(text.replace("<", "\\u003c") for text in writer.data)
    contents = _packed("contents", json.dumps(writer.contents)) if writer.contents else ""
    scripts = "".join(f'<script src="{script}"></script>\n' for script in writer.scripts)
    title = f"{html.escape(say(content.title))} – {NAME}"
    return f"""<!doctype html>
<html lang="{spoken}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="connect-src 'none'; object-src 'none'">
<meta name="description" content="{html.escape(say(content.question))}">
<title>{title}</title>
<link rel="stylesheet" href="assets/site.css">
</head>
<body>
<nav><b>{NAME}</b>{menu}{languages}</nav>
<main data-needs="{html.escape(say("This needs the laboratory: the foot of the page says how."))}">
{body}
<footer>{_marked(needs)}</footer>
</main>
<script src="assets/site.js"></script>
<script>lab.numbers = [
{data}
];
{contents}</script>
{scripts}<script>lab.begin();</script>
</body>
</html>
"""


def main(arguments: list[str]) -> int:
    """Write the folder that is named."""
    # Pages that are run without a server have no context in their threads, and each would say so.
    logging.disable(logging.WARNING)
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m pages.site OUT/", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    if folder.exists() and any(folder.iterdir()):
        print(f"error: {folder} is not empty: name another folder", file=sys.stderr)
        return 2
    for path in write_site(folder, list(_VIEWS), list(LANGUAGES)):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
