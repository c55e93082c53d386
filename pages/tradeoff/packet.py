"""Data of the board at every step of the dial: curves, marks, sentences, findings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.attack.output.operators import check_countable
from dpcore.attack.trade.curve import TradeCurve
from dpcore.attack.trade.ground import COUNTED, GUESSED, NEARLY
from dpcore.errors import ParameterError
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.style import style_of
from dpcore.rewrite.sentence import SentenceDraw
from pages.shared.figure import marked_words
from pages.shared.guessed import of_hundred
from pages.shared.language import say
from pages.shared.promised import promise
from pages.tradeoff.quantities import LEAKAGES, Leakage, Utility


@dataclass(frozen=True, eq=False)
class BoardCurve:
    """One mechanism on the board.

    Attributes:
        curve: its leakage and utility, of the lexicon.
        drawn: the drawn curve: the same, or the accuracy on recorded texts.
        mechanism: the mechanism.
        draw: draw of the sentence, at the ε of all steps; None where none is defined.
    """

    curve: TradeCurve
    drawn: TradeCurve
    mechanism: Mechanism
    draw: SentenceDraw | None


def epsilons(curve: TradeCurve, leakage: Leakage) -> list[float | None]:
    """Return ε of a mechanism at each step of the dial; None where it does not reach the step."""
    return [curve.epsilon_at(counted(leakage), share) for share in leakage.steps]


def counted(leakage: Leakage) -> str:
    """Return the leakage that the dial counts: guessed words if it cannot be set directly."""
    return GUESSED if leakage.key == "auc" else leakage.key


def packet(
    shown: Sequence[BoardCurve],
    leakage: Leakage,
    utility: Utility,
    step: int,
    without: float | None,
) -> dict[str, Any]:
    """Return the data of the component, `pages.tradeoff.scene.show_board`.

    Args:
        shown: the mechanisms, in the order of the list.
        leakage: horizontal axis.
        utility: vertical axis.
        step: step of the dial.
        without: accuracy without privacy; None if the utility is not accuracy.
    """
    texts: dict[str, int] = {}
    charts = [_chart(shown, one, leakage, utility, without) for one in beside(leakage)]
    marks = [curve["at"] for curve in charts[beside(leakage).index(leakage)]["curves"]]
    findings = [
        _finding(shown, marks, leakage, utility, number)
        + _doubt(shown, marks, leakage, number)
        + _disagreement(shown, leakage, number)
        for number in range(len(leakage.steps))
    ]
    return {
        "group": f"leak_{leakage.key}",
        "step": step,
        "alt": say(
            "{left} over {learned}, one curve for each of {count} mechanisms",
            left=say(utility.axis),
            learned="; ".join(say(one.axis) for one in beside(leakage)),
            count=len(shown),
        ),
        "charts": charts,
        # An axis that begins above zero has no close-up: most of what is drawn would be cut off.
        "frame": [int(share > _CLOSE or leakage.low > 0.0) for share in leakage.steps],
        "lines": [_look(one) for one in shown],
        "rows": [
            _row(i, shown[i], leakage, utility, marks[i], texts) for i in _ranked(marks, step)
        ],
        "texts": list(texts),
        "left": say(utility.left),
        "findings": findings,
    }


def beside(leakage: Leakage) -> tuple[Leakage, ...]:
    """Return the leakages that are drawn side by side: the very word and the near word, or one."""
    pair = tuple(one for one in LEAKAGES if one.key in {GUESSED, NEARLY})
    return pair if leakage in pair else (leakage,)


def _chart(
    shown: Sequence[BoardCurve],
    across: Leakage,
    leakage: Leakage,
    utility: Utility,
    without: float | None,
) -> dict[str, Any]:
    """Return one chart: its axes, and its curves with their marks at each step of the dial.

    Args:
        shown: the mechanisms.
        across: its horizontal axis.
        leakage: what the dial counts.
        utility: its vertical axis.
        without: accuracy without privacy.
    """
    same = across == leakage
    # The dial counts the first leakage; of the second, far more may be guessed at the same step.
    wide = _HIGHS if same else (_HIGHS[-1],) * len(_HIGHS)
    counts = same and leakage.key != "auc"
    return {
        "frames": [
            _frame(across, utility, width, high, without)
            for width, high in zip(wide, _HIGHS, strict=True)
        ],
        "level": [100 * share if counts else None for share in leakage.steps],
        "curves": [_curve(one, across, leakage, utility) for one in shown],
    }


Marks = Sequence[Sequence[list[float] | None]]
"""Place of each curve's mark at each step, in percent; None where it has none."""


def _ranked(marks: Marks, step: int) -> list[int]:
    """Rank the curves by utility at the step, the highest first; those without a mark come last."""
    heights = [-math.inf if place is None else place[1] for place in (row[step] for row in marks)]
    # Ranked by the server: the rows keep their order while the dial moves, so that one can follow a
    # row.
    return sorted(range(len(marks)), key=heights.__getitem__, reverse=True)


_HIGHS = 60.0, 100.0  # upper ends of the axes, in close-up and as a whole
_CLOSE = 0.5  # beyond this step the whole is shown


def _frame(
    leakage: Leakage, utility: Utility, width: float, high: float, without: float | None
) -> dict[str, Any]:
    return {
        "x": _axis(say(leakage.axis), 100 * leakage.low, width),
        "y": _upwards(utility, high),
        "guides": _guides(leakage, utility, width, high, without),
    }


def _look(one: BoardCurve) -> dict[str, Any]:
    style = style_of(one.curve.label)
    return {
        "label": one.curve.label,
        "colour": style.colour,
        "dash": style.dash,
        "glyph": style.glyph,
    }


def _curve(one: BoardCurve, across: Leakage, leakage: Leakage, utility: Utility) -> dict[str, Any]:
    curve = one.drawn
    line: dict[str, Any] = {"points": [], "bars": [], "at": [None] * len(leakage.steps)}
    # Accuracy was not recorded for every mechanism: such a row has no curve, but keeps its place.
    if across.key not in curve or utility.key not in curve:
        return line
    right, upwards = 100 * curve.intervals(across.key), 100 * curve.intervals(utility.key)
    # The browser draws these; a thousandth of a percent is less than a pixel.
    line["points"] = _rounded(_pairs(right[:, 0], upwards[:, 0]))
    line["bars"] = _rounded(
        [[*a[1:].tolist(), *u[1:].tolist()] for a, u in zip(right, upwards, strict=True)]
    )
    for number, share in enumerate(leakage.steps):
        place = [curve.at(name, counted(leakage), share) for name in (across.key, utility.key)]
        if None not in place:
            line["at"][number] = [round(100 * value, 3) for value in place if value is not None]
    return line


def _pairs(across: np.ndarray, upwards: np.ndarray) -> list[list[float]]:
    return [[x, y] for x, y in zip(across.tolist(), upwards.tolist(), strict=True)]


def _rounded(rows: list[list[float]]) -> list[list[float]]:
    """Round to a thousandth of a percent."""
    return [[round(value, 3) for value in row] for row in rows]


def _axis(title: str, low: float, high: float) -> dict[str, Any]:
    # At most seven ticks, which fit on a phone.
    width = 10.0 if high - low <= 60.0 else 20.0
    first = math.ceil(low / width)
    ticks = [width * i for i in range(first, math.floor(high / width) + 1)]
    return {
        "title": title,
        "low": low,
        "high": high,
        "ticks": [[tick, f"{tick:g}"] for tick in ticks],
    }


def _upwards(utility: Utility, high: float) -> dict[str, Any]:
    axis = _axis(say(utility.axis), *(utility.ends or (0.0, high)))
    axis["ticks"] = [[tick, f"{text} %"] for tick, text in axis["ticks"]]
    return axis


def _guides(
    leakage: Leakage, utility: Utility, width: float, high: float, without: float | None
) -> list[dict[str, Any]]:
    """Return lines other than mechanisms: bounds that none can cross, and reference lines."""
    low = 100 * leakage.low
    if utility.data is not None:
        if without is None:
            return []
        level = 100 * without
        text = say("without privacy {level:.0f} %", level=level)
        flat = [[low, level], [width, level]]
        return [{"label": text, "kind": "line", "points": flat, "place": 1}]
    if utility.key in COUNTED.values():
        return []
    end = min(width, high)
    diagonal = [[low, low], [end, end]]
    # Someone who repeats the output guesses the words that stay: no more can stay than are guessed.
    if leakage.key == utility.bound:
        label = say("no mechanism can be above this line")
        return [{"label": label, "kind": "bound", "points": diagonal, "place": 0}]
    if leakage.key in {GUESSED, "word"}:
        label = say("dotted: the word itself, or something unrelated")
        return [{"label": label, "kind": "loose", "points": diagonal, "place": 1}]
    return []


def _row(
    number: int,
    one: BoardCurve,
    leakage: Leakage,
    utility: Utility,
    places: Sequence[list[float] | None],
    texts: dict[str, int],
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "line": number,
        "left": ["" if place is None else _percent(place[1]) for place in places],
        "promise": [],
        "words": [],
    }
    uncounted = ""
    if utility.key in COUNTED.values() and utility.key not in one.drawn:
        uncounted = " · " + _uncounted(one)
    for share, epsilon in zip(leakage.steps, epsilons(one.curve, leakage), strict=True):
        if epsilon is None or one.draw is None:
            row["promise"].append(absent(one.curve, leakage, share))
            row["words"].append(None)
            continue
        row["promise"].append(promise(one.mechanism, epsilon) + uncounted)
        row["words"].append(marked_words(one.draw, epsilon, texts))
    return row


def _uncounted(one: BoardCurve) -> str:
    """Say why there is no number: the noise cannot be undone, or it takes too long to."""
    try:
        check_countable(one.mechanism, float(one.curve.epsilons[0]))
    except ParameterError:
        return say("nothing can be counted")
    return say("counting was not measured")


def absent(curve: TradeCurve, leakage: Leakage, share: float) -> str:
    """Say why a mechanism has no ε at a share of the leakage."""
    # The largest is searched for and not taken from the end: an estimate need not be monotone.
    values = curve.values(counted(leakage))
    if share < values[0]:
        return say("not measured below {share:.2g} of 100", share=100 * values[0])
    return say("never gives away more than {share:.2g} of 100", share=100 * values.max())


def _percent(value: float) -> str:
    return f"{value:.0f}\u00a0%"


def _finding(
    shown: Sequence[BoardCurve],
    marks: Marks,
    leakage: Leakage,
    utility: Utility,
    number: int,
) -> str:
    """Name the mechanisms of most and least utility at equal leakage, in at most 25 words."""
    share = leakage.steps[number]
    there = {
        one.curve.label: one.drawn.interval_at(utility.key, counted(leakage), share)
        for one, steps in zip(shown, marks, strict=True)
        if steps[number] is not None
    }
    known = {label: reading for label, reading in there.items() if reading is not None}
    level = say("At {share:.3g} of 100", share=100 * share)
    if not known:
        return say("{level}, none of these methods has a measurement.", level=level)
    ranked = sorted(known, key=lambda label: known[label][0])
    worst, best = ranked[0], ranked[-1]
    most = say(
        "{best} leaves {share} {left}",
        best=best,
        share=_percent(100 * known[best][0]),
        left=say(utility.left),
    )
    if best == worst:
        return say("{level}, {most}.", level=level, most=most)
    least = f"{worst}: {_percent(100 * known[worst][0])}"
    # Lower end against upper end: otherwise the order may be due to chance.
    if known[best][1] > known[worst][2]:
        return say("{level}, {most}, {least}.", level=level, most=most, least=least)
    return say(
        "{level}, {most}, {least}; their intervals overlap.", level=level, most=most, least=least
    )


def _doubt(shown: Sequence[BoardCurve], marks: Marks, leakage: Leakage, number: int) -> str:
    """Name the mechanisms of which a better attacker may guess more: their place flatters them."""
    names = [
        one.curve.label
        for one, steps in zip(shown, marks, strict=True)
        if steps[number] is not None and counted(leakage) in one.curve.at_least
    ]
    if not names:
        return ""
    return " " + say(
        "For {names} this is a lower bound: a better attacker may guess more.",
        names=", ".join(names),
    )


def _disagreement(shown: Sequence[BoardCurve], leakage: Leakage, number: int) -> str:
    """Say where the other chart disagrees: who gives most and least away in its sense."""
    others = [one for one in beside(leakage) if one != leakage]
    if not others:
        return ""
    (other,) = others
    shares = {
        one.curve.label: value
        for one in shown
        if (value := one.curve.at(other.key, counted(leakage), leakage.steps[number])) is not None
    }
    # A single mechanism cannot disagree with itself.
    if len(shares) < 2:
        return ""
    weaker = {one.curve.label for one in shown if other.key in one.curve.at_least}
    most, least = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
    sentence = (
        say("Counting near words, {most} gives away {high} of 100, {least} {low}.")
        if other.key == NEARLY
        else say("Counting exact words only, {most} gives away {high} of 100, {least} {low}.")
    )
    high, low = (of_hundred(shares[label], label in weaker) for label in (most, least))
    return " " + sentence.format(most=most, least=least, high=high, low=low)
