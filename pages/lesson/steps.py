"""Steps of the lesson, and its worksheet: everyday words, each step with its formula and a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import dpcore
from dpcore.papers.lesson import Exercise
from dpcore.papers.lesson_turns import TURNS, Frame, Turn, turn
from pages.shared import link
from pages.shared.language import Waiting, language, later, say
from pages.shared.session import catalogued


@dataclass(frozen=True)
class Step:
    """One step; its exercise is `dpcore.papers.lesson.EXERCISES[key]`.

    Attributes:
        key: key of the exercise, also used in links.
        short: entry in the list of steps.
        title: a sentence.
        story: text in everyday words, our own Markdown.
        formula: the same for those who read formulas, our own Markdown.
        page: file of the page that shows it.
        look: hint for that page.
        link: settings of that page.
    """

    key: str
    short: str
    title: str
    story: str
    formula: str
    page: str
    look: str
    link: dict[str, str] = field(default_factory=dict)


STEPS = (
    Step(
        "names",
        later("Names"),
        later("A text without names is not private"),
        later(
            "It seems enough to black out names, dates and places. But names are not all that "
            "makes a text yours: few other people combine the same words. Anyone who knows two "
            "or three of them from a conversation, a photo or another post can often find the "
            "text, and read everything else in it."
        ),
        later(
            "Let $T_1, …, T_m$ be the sets of ordinary words of the texts. A set $K ⊂ T_i$ of "
            "$k$ known words singles $T_i$ out if $K ⊄ T_j$ for every $j ≠ i$. The share is "
            "taken over all $K$ with $k$ words, then over the texts."
        ),
        "pages/rewrite/page.py",
        later("Take a letter with names and see what is left of all its words"),
        {"preset": "letter"},
    ),
    Step(
        "draw",
        later("One draw"),
        later("One word, one draw of noise"),
        later(
            "So every word is replaced at random. Each word is a point on a map of meanings, "
            "where words with similar use are close together. Noise moves the point in a "
            "random direction by a random distance, and the word nearest to the new place "
            "comes out. With little noise that is often the word itself; with much noise it is "
            "some distant word. The parameter **ε** sets the amount: small ε, much noise. This "
            "method is called **Madlib**."
        ),
        later(
            "Madlib: $M(w) = \\arg\\min_v \\lVert φ(w) + η − φ(v) \\rVert$ with noise of "
            "density $∝ e^{-ε\\lVert η \\rVert}$: a uniform direction, and a length that is "
            "Gamma distributed with shape $d$ and scale $1/ε$."
        ),
        "pages/rewrite/page.py",
        later("Move the slider of ε under your own sentence; draw again and again"),
        {"preset": "hospital", "eps_metric": "12"},
    ),
    Step(
        "odds",
        later("Odds"),
        later("The guarantee of ε: odds"),
        later(
            "The guarantee is not that the word changes. It limits how sure the output can "
            "make anyone. Suppose an attacker considers two words equally likely, then sees "
            "the output: the odds may now be 3 to 1. The guarantee bounds the factor by which "
            "one output multiplies these odds, for every output and every prior belief. The "
            "bound depends on ε and on the distance between the two words, and grows quickly "
            "with both. It covers one output of one word: someone who sees the word released "
            "twice, or the words around it, gets a factor for each, and the factors multiply."
        ),
        later(
            "For all words $w, w'$ and outputs $y$: $\\Pr[M(w) = y] ≤ e^{ε\\,d(w, w')} "
            "\\Pr[M(w') = y]$. By Bayes' rule posterior odds are prior odds times that ratio. "
            "For $k$ independent outputs of $w$ or $w'$ the ratio is at most $e^{kε\\,d(w, "
            "w')}$; for two texts it is the product over their places."
        ),
        "pages/attacker/page.py",
        later("Set the attacker's prior belief, and see how one output changes it"),
        {"eps_metric": "2.5"},
    ),
    Step(
        "crowd",
        later("Crowds"),
        later("Words in a crowd, and lonely words"),
        later(
            "Some words have many near neighbours on the map: days of the week, colours, "
            "towns. Others are alone. On average the same noise hides a word better in a crowd "
            "than where the next word is far away. One ε for all words therefore protects them "
            "unequally; the guarantee, odds that grow with the distance, holds for both."
        ),
        later(
            "With $δ(w)$ the distance to the nearest other word, $N_w = \\Pr[M(w) = w]$ grows "
            "with $ε$, and at one $ε$ is on average the larger, the larger $δ(w)$ is. For this "
            "reason the truncated Gumbel mechanism (Xu et al. 2021) chooses among the $K$ "
            "nearest words, however far away they are; $K$ is random, Poisson with mean $\\ln "
            "n$ for $n$ words."
        ),
        "pages/words/page.py",
        later("Give a crowded and a lonely word the same ε, and compare where their outputs fall"),
        {"eps_metric": "12"},
    ),
    Step(
        "price",
        later("Price"),
        later("The price: what can still be learned"),
        later(
            "Noise has a price. A text of replaced words is hard to read, but a computer that "
            "only counts words can still learn from many such texts: some words stay, and the "
            "replacements of the others partly average out. How much it learns, and how much "
            "its answers reveal about its training texts, has to be measured. The numbers here "
            "are for another method, **TEM**: it adds no noise on the map, but draws the new word "
            "directly, near words with a higher probability than distant ones. At the same ε it "
            "keeps more words than Madlib."
        ),
        later(
            "Accuracy on new, unchanged texts of a classifier trained on $M$ of the training "
            "texts, with a 95 % interval over trials with new noise and new texts; membership "
            "inference is measured by the area under the ROC curve."
        ),
        "pages/papers/page.py",
        later(
            "See how accuracy falls as ε gets smaller, for six mechanisms, and what the "
            "attacker gains"
        ),
        {"experiment": "teaching-corpus"},
    ),
    Step(
        "together",
        later("Together"),
        later("What unreadable texts still say together"),
        later(
            "Noise hides each text, yet many texts together say a lot. One output says hardly "
            "anything about its word. But chance adds as much to some words as it takes from "
            "others, and over thousands of texts this evens out: words that are more common in "
            "one kind of text become visible. This is the purpose of the noise: little is "
            "revealed about anyone, and something about all. It does not hide the crowd "
            "itself: the findings also apply to anyone known to belong to it, and even more to "
            "anyone who wrote many of its texts."
        ),
        later(
            "If $\\sum_y \\Pr[M(w) = y]\\,h(y) = g(w)$ for every word $w$, then $\\sum_i h(y_i)$ "
            "over all outputs has the mean $\\sum_i g(w_i)$. For k-ary response, with $p$ on the "
            "word itself and $q$ on each other, $w$ was written about $(o_w - Nq)/(p - q)$ times "
            "where it came out $o_w$ times among $N$ outputs. The error grows with "
            "$\\sqrt{N}$, the count with $N$."
        ),
        "pages/crowd/page.py",
        later("Turn both dials: how much can be guessed, and how many texts there are"),
        {},
    ),
    Step(
        "claim",
        later("Claims"),
        later("A guarantee can be false"),
        later(
            "A paper that says “ε = 1” can be wrong. The guarantee rests on a proof, and "
            "proofs have mistakes: two distances confused, a case left out, a sum replaced by "
            "its largest term. The outputs look the same either way. So each published claim "
            "is re-computed here, and some do not hold."
        ),
        later(
            "Clipping bounds $\\lVert r \\rVert_2 ≤ C$. Laplace noise of scale $2C/ε$ needs "
            "$\\lVert r − r' \\rVert_1 ≤ 2C$; but $\\lVert r − r' \\rVert_1$ can be "
            "$2\\sqrt{n}\\,C$, so the loss can be $\\sqrt{n}\\,ε$ (Habernal 2021)."
        ),
        "pages/papers/page.py",
        later("Read the verdicts on all claims, with the failing step of each proof"),
        {"claim": "adept-published"},
    ),
    Step(
        "proof",
        later("Proofs"),
        later("Noise as a proof"),
        later(
            "Privacy means that the output says little about which of two near inputs went in. "
            "In other words, a small change of the input cannot change the output "
            "probabilities much. So for many inputs of a noisy classifier there is a proof "
            "that small changes do not change its answer, however clever the attacker is. An "
            "ordinary classifier may withstand as much, but usually there is no proof."
        ),
        later(
            "If $A$ is $(ε, δ)$-private for inputs within length $L$, expected scores (each "
            "from 0 to 1) obey $\\mathbb{E}f_k(x') ≤ e^ε\\,\\mathbb{E}f_k(x) + δ$. The vote "
            "cannot change if the lower bound of the winner exceeds $e^{2ε}$ times the upper "
            "bound of every other class plus $(1 + e^ε)\\,δ$ (Lecuyer et al. 2019, Proposition "
            "1)."
        ),
        "pages/robustness/page.py",
        later("See how far the proofs reach as the noise grows, and how attacks change words"),
        {},
    ),
    Step(
        "choose",
        later("Choose"),
        later("Choose your own ε"),
        later(
            "There is no right ε. First decide what an attacker may get: how often may a word "
            "be guessed, and how high may the odds become? Your answer, the mechanism and your "
            "words determine ε; then check that the text is still useful. If no mechanism here "
            "leaves it useful, do not publish it."
        ),
        later(
            "Solve $\\frac{1}{n}\\sum_w N_w(ε) ≤ x$ for ε: under a uniform prior, the attacker "
            "who names TEM's output is right with that probability."
        ),
        "pages/tradeoff/page.py",
        later("Choose ε from a goal, also for your own words"),
        {"part": "Choose ε"},
    ),
)
"""Steps in their order; the keys are those of the exercises."""

BY_PAGE = {
    "": ("names",),
    "start": ("odds",),
    "rewrite": ("draw",),
    "curves": ("draw",),
    "tradeoff": ("choose",),
    "crowd": ("together",),
    "words": ("crowd",),
    "release": ("price",),
    "papers": ("claim",),
    "attacker": ("odds",),
    "robustness": ("proof",),
}
"""Address of a page (the first one has none) -> the steps whose explanations belong to it."""


def step(key: str) -> Step:
    """Return the step with this key."""
    return next(each for each in STEPS if each.key == key)


def explain(page: str) -> None:
    """Draw the explanations of a page in everyday words.

    Args:
        page: address of the page, a key of `BY_PAGE` or another.
    """
    for key in BY_PAGE.get(page, ()):
        explained = step(key)
        with st.container(border=True):
            st.markdown(f"**{say(explained.title)}**")
            st.markdown(say(explained.story))
            with st.expander(say("The formula")):
                st.markdown(say(explained.formula))
            st.page_link(
                "pages/lesson/page.py",
                label=say("Take a guess in the lesson"),
                icon=":material/school:",
                query_params={"step": key},
            )


# Movable part of a step: bars, or one draw of noise, at settings that are all sent at once.
#
# Data that would give the answer away stays on the server until the guess is made.


_HERE = Path(__file__).parent
SETTINGS = "lesson_settings"
"""Number of the frame that is shown of each step, by key, in the session."""
SETTING = "at"
"""Number of the frame of the open step, in the link."""
_FIRST = later("Take your guess below to see this.")


@st.cache_resource(max_entries=len(TURNS), show_spinner=Waiting("Calculating…"))
def turned(key: str) -> Turn:
    """Return the movable part of a step, on the bundled words, computed once for all sessions."""
    return turn(key, catalogued("default"))


@cache
def _component() -> Callable[..., Any]:
    names = "turning.css", "../shared/slider.js", "turning.js"
    css, *js = ((_HERE / name).read_text(encoding="utf-8") for name in names)
    return st.components.v2.component("word_privacy_lab.turning", css=css, js="\n".join(js))


def show_turn(key: str, *, guessed: bool, moved: int = 0) -> None:
    """Draw the movable part of a step; the link has its setting.

    Args:
        key: key of the step.
        guessed: True once the guess is made and everything may be shown.
        moved: how often a button has opened another step; where it has grown, the title above is
            scrolled into sight and has the focus.
    """
    shown = turned(key)
    settings = st.session_state.setdefault(SETTINGS, {})

    def hear() -> None:
        heard = st.session_state.get(f"turning_{key}", {}).get("rest")
        if heard is not None and 0 <= int(heard["step"]) < len(shown.frames):
            settings[key] = int(heard["step"])

    start = min(settings.get(key, shown.start), len(shown.frames) - 1)
    link.write(SETTING, str(start), str(shown.start))
    data = {
        "label": say(shown.label),
        "action": say(shown.action),
        "noise": say("the noise"),
        "start": start,
        "frames": [_sent(frame, guessed=guessed) for frame in shown.frames],
        "moved": moved,
    }
    _component()(key=f"turning_{key}", data=data, on_rest_change=hear)


def _sent(frame: Frame, *, guessed: bool) -> dict[str, Any]:
    hidden = frame.asked and not guessed
    return {
        "name": say(frame.name),
        "bars": [
            # The answer is not sent at all before the guess: it could be read in the browser's
            # tools.
            [say(bar.name), None, "?"]
            if hidden
            else [say(bar.name), round(bar.share, 4), say(bar.text)]
            for bar in frame.bars
        ],
        "finding": say(_FIRST if hidden else frame.finding),
        "landing": None if frame.landing is None else asdict(frame.landing),
    }


def turn_table(key: str, *, guessed: bool) -> pd.DataFrame:
    """Return the bars of a step, one row each, as far as they may be shown."""
    shown = turned(key)
    rows = [
        (frame.name, bar.name, bar.share, bar.text)
        for frame in shown.frames
        # The file keeps the answer back as the drawing does.
        if guessed or not frame.asked
        for bar in frame.bars
    ]
    return pd.DataFrame(rows, columns=[shown.label, "what", say("length of the bar"), "number"])


# Worksheet and answer sheet: printable pages of plain HTML.


_STYLE = """
body { font: 12pt/1.45 Georgia, serif; max-width: 42em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 20pt; } h2 { font-size: 14pt; margin: 1.2em 0 0.3em; }
.question { font-weight: bold; } li { list-style: none; } li::before { content: "\\2610  "; }
.line { border-bottom: 1px solid; display: inline-block; min-width: 9em; }
footer { font-size: 9pt; margin-top: 3em; } section { break-inside: avoid; }
@page { margin: 18mm; }
"""


def worksheet(tasks: Sequence[Exercise]) -> str:
    """Return story, question and room for a guess of every step, as HTML."""
    parts = []
    for place, task in enumerate(tasks, start=1):
        lesson = step(task.key)
        if task.options:
            guess = "<ul>" + "".join(f"<li>{escape(say(o))}</li>" for o in task.options) + "</ul>"
        else:
            guess = (
                f"<p>{escape(say('My guess:'))} <span class='line'>&nbsp;</span>"
                f"{escape(task.unit)}</p>"
            )
        parts.append(
            f"<section><h2>{place}. {escape(say(lesson.title))}</h2>"
            # The story is Markdown for the page; the sheet is plain HTML.
            f"<p>{escape(say(lesson.story).replace('**', ''))}</p>"
            f"<p class='question'>{escape(say(task.question))}</p>{guess}"
            f"<p>{escape(say('What I found:'))} "
            "<span class='line' style='min-width: 26em'>&nbsp;</span></p>"
            "</section>"
        )
    return _page(say("Private words: worksheet"), parts)


def answers(tasks: Sequence[Exercise]) -> str:
    """Return question and answer of every step, as HTML."""
    parts = []
    for place, task in enumerate(tasks, start=1):
        right = task.options[int(task.answer)] if task.options else ""
        parts.append(
            f"<section><h2>{place}. {escape(say(step(task.key).title))}</h2>"
            f"<p class='question'>{escape(say(task.question))}</p>"
            + (f"<p>{escape(say(right))}</p>" if right else "")
            + f"<p>{escape(say(task.truth))}</p></section>"
        )
    return _page(say("Private words: answers"), parts)


def _page(title: str, parts: Sequence[str]) -> str:
    made = say(
        "Word Privacy Lab, dpcore {version}; every figure was computed on its bundled words and "
        "texts, or on pictures of handwritten digits.",
        version=dpcore.__version__,
    )
    return (
        f"<!doctype html><html lang='{language()}'><head><meta charset='utf-8'>"
        f"<title>{escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{''.join(parts)}"
        f"<footer>{escape(made)}</footer></body></html>"
    )
