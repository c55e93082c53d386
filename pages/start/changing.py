"""First screen: one sentence, one dial, and the content words that are guessed at every step."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import resolve
from dpcore.papers.ours.tradeoff import ARMS, recorded_before, recorded_curves
from dpcore.rewrite.policy import UnknownWordPolicy
from dpcore.rewrite.sentence import SentenceDraw
from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial
from pages.shared.figure import SVG_FILES
from pages.shared.fragments import fragment, run_parts
from pages.shared.guessed import ABOUT, guessed, of_hundred
from pages.shared.language import later, say
from pages.shared.link import choose_one
from pages.shared.promised import of_100_at_most, permits, promised_epsilon
from pages.shared.session import Bench, mechanism
from pages.shared.taking import (
    Takeaway,
    command_line,
    drawer_is_open,
    mechanism_words,
    take_it_with_you,
)

if TYPE_CHECKING:
    import pandas as pd

_HERE = Path(__file__).parent
_KEY = "word_privacy_lab.changing"
_SHOWN = {
    "tem": ("tem", later("near words are likelier, by a formula")),
    "madlib": ("madlib", later("noise added to the word's vector")),
    "neighbours": (
        "neighbour-response, k = 10",
        later("one of the ten nearest words, or any word"),
    ),
    "optimal": (
        "optimal",
        later(
            "keeps the most words that its guarantee allows, if all are equally likely and ε "
            "is at or above a critical value"
        ),
    ),
}
"""By name in the link: a recorded curve, and how its method exchanges a word."""
# Even steps of what is guessed: the sentence changes over the whole slider.
_NICE = (0.01, 0.02, 0.03, 0.05, 0.07, *(percent / 100 for percent in range(10, 91, 5)))
_MOST = 0.9  # of the words: where a method reaches that share, the sentence is nearly the original
_NEARLY_ALL = 0.99  # of the words, at which a bound says nothing
_DRAWING = "sentence"
"""Name of the drawing, in files and in `changing.js`."""
_TURNING, TAKING = "start_dial", "start_taking"
LEVEL = "guessed"
"""Position of the dial, a share of 100 words: its name in the link and in the session."""


@cache
def _component() -> Callable[..., Any]:
    css = (_HERE / "changing.css").read_text(encoding="utf-8")
    scripts = *SVG_FILES, _HERE / "changing.js"
    js = "\n".join(script.read_text(encoding="utf-8") for script in scripts)
    return st.components.v2.component(_KEY, css=css, js=js)


def choose_method() -> str:
    """Draw the choice of how words are exchanged; return the label of the recorded curve."""
    titles = {name: explained for name, (_, explained) in _SHOWN.items()}
    name = choose_one(
        st.radio,
        say("Method"),
        titles,
        "method",
        help=say(
            "Four of the methods of this laboratory; the page Trade-off compares all of them."
        ),
    )
    return _SHOWN[name][0]


def changing_sentence(
    bench: Bench, label: str, drawing: tuple[int, int], dial_place: DeltaGenerator
) -> None:
    """Draw the sentence, an attacker's success on it, and the dial that moves both.

    Args:
        bench: the sentence.
        label: label of the recorded curve whose mechanism is shown.
        drawing: seed of the noise, and number of the draw.
        dial_place: place of the dial.
    """
    curve, kind = _method(bench, label)
    shares = _steps(curve)
    step = _step(shares)
    _component()(key="changing", data=_data(bench, curve, kind, shares, step, drawing))
    with dial_place:
        # A fragment: the sentence follows in the browser, so the page need not run.
        fragment(_turning, bench, label, drawing, key=_TURNING)
    _keep(shares, step, drawing)


def _turning(bench: Bench, label: str, drawing: tuple[int, int]) -> None:
    curve, kind = _method(bench, label)
    shares = _steps(curve)
    show_dial(
        _dial(label, curve, kind, shares),
        _step(shares),
        lambda turned: _rested(shares, turned, drawing),
    )


def _keep(shares: tuple[float, ...], step: int, drawing: tuple[int, int]) -> None:
    """Write the position into the address."""
    # Links to the page Rewrite once named a draw too: beside a draw, the position is always named.
    usual = _level(shares, _middle(shares)) if drawing == (link.SEED, 0) else ""
    link.write(LEVEL, _level(shares, step), usual)


def meaning_of_epsilon(bench: Bench, label: str) -> str:
    """Say what the guarantee of the shown method limits, in everyday words."""
    _, kind = _method(bench, label)
    if kind.meaning is EpsilonMeaning.METRIC:
        return say(
            "ε is the guarantee: a released word shifts the odds between any two words by at most "
            "a factor of e^ε for each unit of their distance. Small ε hides more."
        )
    return say(
        "ε is the guarantee: a released word shifts the odds between any two words by at most a "
        "factor of e^ε. Small ε hides more."
    )


def take(bench: Bench, label: str, drawing: tuple[int, int], text: str) -> None:
    """Draw the drawer."""
    take_it_with_you(lambda: _takeaway(bench, label, drawing, text))


def _takeaway(bench: Bench, label: str, drawing: tuple[int, int], text: str) -> Takeaway:
    """Return link, numbers and command of the present view."""
    curve, kind = _method(bench, label)
    shares = _steps(curve)
    epsilons, treatment = _epsilons(curve, shares), bench.sentence.encoding.treatment
    words = ["--seed", str(drawing[0]), "--draw", str(drawing[1])]
    words += ["--unknown", str(treatment.unknown_words), "--case", str(treatment.case)]
    if treatment.keep_stop_words:
        words.append("--keep-stop-words")

    def table() -> pd.DataFrame:
        import pandas as pd  # not with the first page, which has to come quickly

        near = [curve.at_epsilon(NEARLY, epsilon) for epsilon in epsilons]
        return pd.DataFrame({"epsilon": epsilons, GUESSED: shares, NEARLY: near})

    return Takeaway(
        None,
        kind.cited,
        command=command_line(
            "rewrite", *mechanism_words(kind, epsilons[_step(shares)]), *words, "--text", text
        ),
        prints=say("It prints the sentence at the present position of the slider."),
        text=text,
        tables={later("Guessed words at every step"): table},
        drawing=_DRAWING,
    )


def draw_ahead(bench: Bench) -> None:
    """Draw the default view of the first example ahead of the first request."""
    label, _ = next(iter(_SHOWN.values()))
    curve, kind = _method(bench, label)
    _drawn(bench, kind, (link.SEED, 0), _epsilons(curve, _steps(curve)))


def _method(bench: Bench, label: str) -> tuple[TradeCurve, Mechanism]:
    (arm,) = (arm for arm in ARMS if arm.name == label)
    kind = mechanism(bench.lexicon, resolve(arm.mechanism).key, arm.settings)
    return recorded_curves()[label], kind


def _drawn(
    bench: Bench, kind: Mechanism, drawing: tuple[int, int], epsilons: list[float]
) -> SentenceDraw:
    return bench.draw(kind, *drawing, tuple(sorted(set(epsilons))))


def _steps(curve: TradeCurve) -> tuple[float, ...]:
    """Return round shares of guessed content words that the curve reaches, ascending."""
    low, high = curve.values(GUESSED)[[0, -1]]
    # The curve was recorded at some ε only; a share outside it has no ε and cannot be a step.
    return tuple(share for share in _NICE if low <= share <= high)


def _epsilons(curve: TradeCurve, shares: tuple[float, ...]) -> list[float]:
    """Return ε of each step; the steps are such that it exists."""
    values = (curve.epsilon_at(GUESSED, share) for share in shares)
    return [value for value in values if value is not None]


def _step(shares: tuple[float, ...]) -> int:
    text = st.session_state.get(LEVEL, st.query_params.get(LEVEL, ""))
    try:
        wanted = float(text) / 100
    except ValueError:
        wanted = math.nan
    if math.isnan(wanted):
        return _middle(shares)
    # Each method has steps of its own, so a level that was set with one is rounded to a step of
    # another.
    return min(range(len(shares)), key=lambda i: abs(shares[i] - wanted))


def _middle(shares: tuple[float, ...]) -> int:
    return len(shares) // 2


def _level(shares: tuple[float, ...], step: int) -> str:
    return f"{100 * shares[step]:g}"


def _rested(shares: tuple[float, ...], step: int, drawing: tuple[int, int]) -> None:
    st.session_state[LEVEL] = _level(shares, step)
    _keep(shares, step, drawing)
    if drawer_is_open():
        run_parts(_TURNING, TAKING)


def _dial(label: str, curve: TradeCurve, kind: Mechanism, shares: tuple[float, ...]) -> Dial:
    steps = []
    for share, epsilon in zip(shares, _epsilons(curve, shares), strict=True):
        promised = promised_epsilon(kind, epsilon)
        reading = guessed([kind], epsilon)
        left = (say(ABOUT), "") if reading is None else (reading.about, reading.words)
        spoken = f"{' '.join(left)}; {say('The guarantee')}: {promised}"
        # What is guessed stands above the dial in large numbers, and not twice.
        steps.append(Step(("", ""), (say("Guarantee"), promised), spoken, epsilon, share))
    return Dial(
        f"start_{label}",
        say("Content words guessed, of 100"),
        tuple(steps),
        (say("← hides more"), _far_end(shares)),
        sweep=not (st.session_state.get(LEVEL) or st.query_params.get(LEVEL)),
    )


def _far_end(shares: tuple[float, ...]) -> str:
    """Return the meaning of the dial's far end: not every method ever returns the original."""
    if shares[-1] < _MOST:
        return say("as readable as this method gets →")
    return say("closer to what you wrote →")


def _data(
    bench: Bench,
    curve: TradeCurve,
    kind: Mechanism,
    shares: tuple[float, ...],
    step: int,
    drawing: tuple[int, int],
) -> dict[str, Any]:
    epsilons = _epsilons(curve, shares)
    drawn = _drawn(bench, kind, drawing, epsilons)
    # Most words are the same at many steps: each text is sent once, and steps refer to it by index.
    texts: dict[str, int] = {}
    words = [
        [[texts.setdefault(t.output, len(texts)), int(t.changed)] for t in drawn.at(epsilon).tokens]
        for epsilon in epsilons
    ]
    before, weaker = recorded_before(), GUESSED in curve.at_least
    numbers, allowed, findings = [], [], []
    for share, epsilon in zip(shares, epsilons, strict=True):
        # All steps are sent at once, so that dragging the dial needs no request.
        near = curve.at_epsilon(NEARLY, epsilon)
        numbers.append(
            [
                say("{share} of 100", share=of_hundred(share, weaker)),
                say("not known")
                if near is None
                else say("{share} of 100", share=of_hundred(near, weaker)),
            ]
        )
        allowed.append(_allowed(kind, permits(kind, epsilon)))
        findings.append(
            say(
                "{mechanism}, {guarantee}: {share} content words guessed by someone who sees the "
                "output and knows how common words are.",
                mechanism=kind.short,
                guarantee=promised_epsilon(kind, epsilon),
                share=numbers[-1][0],
            )
        )
    return {
        "group": f"start_{curve.label}",
        "step": step,
        "original": [[token.input, token.before] for token in drawn.at(epsilons[0]).tokens],
        "wrote": say("What was written:"),
        "texts": list(texts),
        "words": words,
        "numbers": numbers,
        "allowed": allowed,
        "findings": findings,
        "names": [
            say(
                "content words guessed by someone who sees the output and knows how common words "
                "are (without the output: {before} of 100)",
                before=of_hundred(before[GUESSED]),
            ),
            say(
                "if a near word counts (without the output: {before} of 100)",
                before=of_hundred(before[NEARLY]),
            ),
        ],
        "unknown": _unknown(bench),
    }


def _unknown(bench: Bench) -> str:
    """Say what happens to words outside the vocabulary, if there are any."""
    count = bench.sentence.unknown_words
    if not count:
        return ""
    if bench.sentence.encoding.treatment.unknown_words is UnknownWordPolicy.REPLACE:
        return say(
            "Words outside the vocabulary (here {count}) become random words and never come out.",
            count=count,
        )
    return say("Words outside the vocabulary (here {count}) never come out.", count=count)


def _allowed(kind: Mechanism, most: float | None) -> str:
    """Return what the guarantee alone permits, in a sentence, against what was measured."""
    if most is None:
        return say(
            "This was measured for {mechanism}; what its guarantee alone allows is not known.",
            mechanism=kind.short,
        )
    if most > _NEARLY_ALL:
        return say(
            "This was measured for {mechanism}. Its guarantee alone proves almost nothing: it does "
            "not rule out that nearly all words are guessed.",
            mechanism=kind.short,
        )
    return say(
        "This was measured for {mechanism}. Its guarantee alone proves less: that at most {bound} "
        "are guessed.",
        mechanism=kind.short,
        bound=of_100_at_most(most),
    )
