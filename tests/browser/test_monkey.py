"""People who are in a hurry: whatever they do, every page comes, and nothing breaks.

Each person is a seed: it decides what is done next, not when the server answers. Every third has a
touch screen. `DPCORE_MONKEYS` names the seeds: `3,4,5`, or `1-60` for a long run, in which no page
may be mended either; three persons at once share a server.
"""

import os
import random
import re
from collections import deque
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Error, Page, expect

from pages.shared.contents import CONTENTS
from pages.shared.language import ENGLISH, LANGUAGES, translated
from tests.browser.pages import WAIT_MS, Watch
from tests.browser.server import Server
from tests.needs import ROOT

NewPage = Callable[..., tuple[Page, Watch]]
_SEEDS = "DPCORE_MONKEYS"
AT_ONCE = 3
ROUNDS, STEPS = 4, 25  # after each round everybody rests, and what is shown is looked at
CALM_MS = 3 * WAIT_MS  # what was started in a hurry, by three, has to come to its end first
REST_MS = 1_000
LAST = 30
MENDED = "in a browser while nothing ran"
"""Line of the log after a page that was empty or broken was asked for once more."""

HEADINGS = {
    content.title: re.findall(
        r'(?:st\.title|heading(?:_row)?)\(\s*(?:say\(\s*)?"([^"]+)"',
        (ROOT / content.file).read_text("utf-8"),
    )[0]
    for content in CONTENTS
}
PATHS = {content.address: content.title for content in CONTENTS} | {"": CONTENTS[0].title}
WORDS = ("doctor", "river", "Zürich", "42", "violin", "old", "the", "<b>", "winter")

MENU = "a[data-testid=stTopNavLink], a[data-testid=stTopNavDropdownLink]"
BUTTONS = "[data-testid=stMain] button, [data-testid=stSidebar] button"
KINDS = {
    "hover over": ".word, [data-testid=stMain] button, .js-plotly-plot",
    "tap": ".word",
    "press": f":is({BUTTONS}):not([data-testid=stFileUploaderDropzone] button)",
    "follow": "a[data-testid=stPageLink-NavLink]",
    "go to": MENU,
    "type into": "[data-testid=stMain] textarea, [data-testid=stMain] input[type=number]",
    "slide": "[role=slider]",
    "choose": "[role=tab], [data-testid=stSelectbox] input, label:has(input[type=radio])",
}
HOW_OFTEN = {"go back": 2, "go forward": 1, "hover over": 6, "tap": 5, "press": 4, "follow": 3}
HOW_OFTEN |= {"go to": 4, "type into": 3, "slide": 4, "choose": 3, "use keys": 3}
KEYS = ("Tab", "Tab", "Tab", "Shift+Tab", "Enter", "Space", "ArrowRight", "ArrowDown", "Escape")

# The middle of one of the elements that are there, brought into sight, and what it is called.
PICK = """([selector, share]) => {
  const all = root => [...root.querySelectorAll('*')]
    .flatMap(node => node.shadowRoot ? [node, ...all(node.shadowRoot)] : [node]);
  const there = all(document).filter(node =>
    node.matches(selector) && !node.disabled && node.checkVisibility?.() !== false
    && node.getBoundingClientRect().width);
  if (!there.length) return null;
  const node = there[Math.floor(share * there.length)];
  node.scrollIntoView({ block: 'center', behavior: 'instant' });
  const box = node.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2,
    (node.ariaLabel || node.innerText || node.dataset.id || node.tagName).slice(0, 40)];
}"""

# Within the app: what was open before it is another site.
GO = """way => {
  const able = { back: navigation.canGoBack, forward: navigation.canGoForward };
  if (able[way]) window.__gone = navigation[way]().committed.catch(() => null);
}"""
# A browser that is busy takes a click in before it goes back, though that was asked for first.
GONE = "() => Promise.race([window.__gone, new Promise(end => setTimeout(end, 5000))])"

SHOWN = """headings =>
  headings.includes(document.querySelector('[data-testid=stMain] h1')?.innerText.trim())
  && document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'
  && !document.querySelector('[data-testid=stSkeleton]')"""


class Person:
    """One person with a browser of their own."""

    def __init__(self, seed: int, page: Page, watch: Watch, url: str) -> None:
        """Open the first page that comes to mind, and do not wait for it."""
        self.seed, self.page, self.watch, self.url = seed, page, watch, url
        self.will = random.Random(seed)
        self.touches = touches(seed)
        self.did: deque[str] = deque(maxlen=LAST)
        self.open(self.will.choice(list(PATHS)))

    def open(self, path: str) -> None:
        self.did.append(f"open /{path}")
        self.page.goto(f"{self.url}/{path}", timeout=WAIT_MS, wait_until="commit")

    def step(self) -> None:
        """Do the next thing that comes to mind."""
        kinds = list(HOW_OFTEN)
        kind = self.will.choices(kinds, [HOW_OFTEN[name] for name in kinds])[0]
        share, many = self.will.random(), self.will.randint(1, 4)
        words = " ".join(self.will.choices(WORDS, k=many))
        try:
            self.do(kind, share, many, words)
        except Error as error:  # the page changed under the hand
            self.did.append(f"{kind}: {str(error).splitlines()[0]}")

    def do(self, kind: str, share: float, many: int, words: str) -> None:
        if kind in {"go back", "go forward"}:
            self.did.append(kind)
            self.page.evaluate(GO, kind.removeprefix("go "))
            return
        if kind == "use keys":
            for key in self.will.choices(KEYS, k=3 * many):
                self.did.append(key)
                self.page.keyboard.press(key)
            return
        place = self.page.evaluate(PICK, [KINDS[kind], share])
        if place is None:
            return
        x, y, name = place
        self.did.append(f"{kind} {name!r}")
        if self.touches:
            self.page.touchscreen.tap(x, y)
        else:
            self.page.mouse.move(x, y)
            if kind != "hover over":
                self.page.mouse.click(x, y)
        if kind == "slide":
            for _ in range(many):
                self.page.keyboard.press("ArrowLeft" if share < 0.5 else "ArrowRight")
        elif kind == "type into":
            self.page.keyboard.type(words)

    def rest(self) -> None:
        """Follow one last link; its page comes and stays, and nothing is broken."""
        for _ in range(2):  # whatever is open above the menu: a table, and a search above that
            self.page.keyboard.press("Escape")
        self.page.locator(MENU).first.wait_for(timeout=CALM_MS)
        self.page.evaluate(GONE)
        content = self.will.choice([content for content in CONTENTS if content.listed])
        name = content.title
        address = f"{self.url}/{'' if content is CONTENTS[0] else content.address}"
        self.did.append(f"go to {name!r} and rest")
        titles = "|".join(spoken(name))
        there = self.page.locator(MENU).and_(self.page.locator(f"[href='{address}']"))
        there.first.click(timeout=CALM_MS)
        expect(self.page).to_have_title(re.compile(f"({titles}) – Word"), timeout=CALM_MS)
        for _ in range(2):  # what comes too late may take it away again
            self.page.wait_for_function(SHOWN, arg=spoken(HEADINGS[name]), timeout=CALM_MS)
            self.page.wait_for_timeout(REST_MS)
        assert PATHS[urlsplit(self.page.url).path.strip("/")] == name
        assert self.page.title().split(" – ")[0] in spoken(name)
        assert self.page.locator("[data-testid=stException]").count() == 0
        assert not self.watch.page_errors
        assert not self.watch.foreign_requests


def spoken(sentence: str) -> list[str]:
    """A sentence in all languages: people choose one as they choose all else."""
    others = [translated(sentence, language) for language in LANGUAGES if language != ENGLISH]
    return [sentence, *others]


def touches(seed: int) -> bool:
    return seed % AT_ONCE == 0


def groups() -> list[list[int]]:
    """The seeds of those who are there together."""
    given = os.environ.get(_SEEDS, "1-3")
    ends = [[int(end) for end in part.split("-")] for part in given.split(",")]
    seeds = [seed for end in ends for seed in range(end[0], end[-1] + 1)]
    return [seeds[first : first + AT_ONCE] for first in range(0, len(seeds), AT_ONCE)]


@pytest.mark.full
@pytest.mark.parametrize("group", groups(), ids=str)
def test_people_in_a_hurry(app: Server, new_page: NewPage, group: list[int]) -> None:
    before = len(app.printed())
    people = [Person(seed, *new_page(has_touch=touches(seed)), app.url) for seed in group]
    for _ in range(ROUNDS):
        for _ in range(STEPS):
            for person in people:
                person.step()
        for person in people:
            try:
                person.rest()
            except (AssertionError, Error) as error:
                message = "\n".join(person.did)
                raise AssertionError(
                    f"person {person.seed}, after\n{message}\nsaw {person.page.title()!r} at "
                    f"{person.page.url}; the server said\n{app.printed()[before:][-3000:]}"
                ) from error
    printed = app.printed()[before:]
    assert "Traceback" not in printed, f"seeds {group}: {printed[-4000:]}"
    if _SEEDS in os.environ:  # a long run, on a machine that has nothing else to do
        assert MENDED not in printed, f"seeds {group}: {printed[-4000:]}"
