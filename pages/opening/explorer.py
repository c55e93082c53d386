"""Any word of the vocabulary on a page without a server: neighbours and laws, computed there.

`explorer.js` reads vectors of few levels a coordinate and has a formula for each closed law; the
same formulas are here, so that what the page is off by is measured when it is written.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.exponential.tem import TruncatedExponential, capped, normalised
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired, law_of
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.samplers import candidate_weights, whole_vocabulary_weight
from dpcore.outwards import at_most
from pages.shared.language import numeral, say
from pages.shared.session import admissible

_LEVELS = 91  # of a coordinate: the printed letters from # to ~ without the backslash
_SPREAD = 4.5  # standard deviations of a coordinate that the levels cover; what is beyond is cut
_TRIED = 200  # words whose numbers are compared with the engine's when the pages are written
_SHOWN = 12  # nearest words of a word
_HIGHEST = {"capped": 20.0, "counted": 30.0, "alike": 30.0}
"""Formula -> last ε of its dial, from which on hardly a word changes."""


@dataclass(frozen=True, eq=False)
class Rounded:
    """Vectors with few levels a coordinate, as the page reads them.

    Attributes:
        levels: number of the level of each coordinate, shape (n, d), uint8.
        least: lowest level of each coordinate, shape (d,).
        steps: distance of two levels, shape (d,).
        excess: what rounding adds to a squared distance on average.
    """

    levels: NDArray[np.uint8]
    least: FloatArray
    steps: FloatArray
    excess: float

    @cached_property
    def values(self) -> FloatArray:
        """Vectors as the page holds them, shape (n, d): rounded to float32."""
        return (self.least + self.steps * self.levels).astype(np.float32).astype(np.float64)

    def distances(self, word: int) -> FloatArray:
        """Return the distances of a word to all, shape (n,), as the page computes them."""
        squares = ((self.values - self.values[word]) ** 2).sum(axis=1) - self.excess
        row = np.sqrt(np.maximum(squares, 0.0))
        row[word] = 0.0
        return np.asarray(row)

    @property
    def codes(self) -> str:
        """One letter for each coordinate."""
        letters = self.levels + 35
        letters[letters >= ord("\\")] += 1
        return letters.tobytes().decode("ascii")


def rounded_vectors(lexicon: Lexicon) -> Rounded:
    """Round the vectors of a lexicon to levels that one letter each can name."""
    vectors = lexicon.vectors.astype(np.float64)
    reach = _SPREAD * vectors.std(axis=0)
    middle = vectors.mean(axis=0)
    steps = 2.0 * reach / (_LEVELS - 1)
    levels = np.clip(np.rint((vectors - middle + reach) / steps), 0, _LEVELS - 1).astype(np.uint8)
    missed = middle - reach + steps * levels - vectors
    return Rounded(levels, middle - reach, steps, 2.0 * float((missed**2).sum(axis=1).mean()))


@dataclass(frozen=True, eq=False)
class Closed:
    """Mechanism whose law the page computes from distances, by one of the formulas of its script.

    Attributes:
        mechanism: the mechanism, with its defaults.
        epsilons: steps of its dial, shape (E,).
        formula: name of the formula.
        numbers: what the formula needs, by name; a list has one entry for each step.
    """

    mechanism: ExactMechanism
    epsilons: FloatArray
    formula: str
    numbers: dict[str, Any]

    def laws(self, row: FloatArray, word: int) -> FloatArray:
        """Return the laws of a word as the page computes them, shape (E, n).

        Args:
            row: its distances to all words, shape (n,).
            word: its index.
        """
        if self.formula == "capped":
            cap = math.inf if self.numbers["cap"] is None else self.numbers["cap"]
            return normalised(capped(row, 2.0 * np.array(self.numbers["rates"]), cap))
        if self.formula == "alike":
            laws = np.repeat(np.exp(-self.epsilons)[:, None], row.size, axis=1)
            laws[:, word] = 1.0
            return np.asarray(laws / laws.sum(axis=1, keepdims=True))
        order = np.argsort(row, kind="stable")
        near = row[order[: len(self.numbers["counts"])]]
        laws = np.empty((self.epsilons.size, row.size))
        laws[:, order] = law_of(near, row[order], np.array(self.numbers["strengths"]))
        return laws


def closed_laws(lexicon: Lexicon) -> list[Closed]:
    """Return the mechanisms whose laws have a closed form in the distances from the word."""

    def closed(short: str, formula: str, numbers: Callable[[Any, list[float]], Any]) -> Closed:
        mechanism = create(short, lexicon, {})
        steps = [float(each) for each in admissible(mechanism) if each <= _HIGHEST[formula]]
        if not isinstance(mechanism, ExactMechanism):
            raise TypeError(f"{short} has no exact law")
        return Closed(mechanism, np.array(steps), formula, numbers(mechanism, steps))

    def tem(mechanism: TruncatedExponential, steps: list[float]) -> dict[str, Any]:
        return {"rates": [0.5 * mechanism.nominal(each) for each in steps], "cap": mechanism.cap}

    def santext(_: Mechanism, steps: list[float]) -> dict[str, Any]:
        return {"rates": [0.5 * each for each in steps], "cap": None}

    def counted(mechanism: TruncatedGumbelRepaired, steps: list[float]) -> dict[str, Any]:
        return {
            "strengths": [mechanism.strength(each) for each in steps],
            "counts": candidate_weights(len(lexicon))[: mechanism.heads].tolist(),
            "all": whole_vocabulary_weight(len(lexicon)),
        }

    def alike(_: Mechanism, steps: list[float]) -> dict[str, Any]:
        return {"others": [math.exp(-each) for each in steps]}

    return [
        closed("tem", "capped", tem),
        closed("tem-calibrated", "capped", tem),
        closed("santext", "capped", santext),
        closed("truncated-gumbel-repaired", "counted", counted),
        closed("k-ary", "alike", alike),
    ]


def explorer(asset: Callable[[str, str], str]) -> tuple[str, str]:
    """Return fields for any word, its nearest words and what a mechanism makes of it, as HTML.

    Args:
        asset: writes a file of all pages, by its name and text, and returns its address.

    Returns:
        The fields, and the address of their script.
    """
    lexicon = load()
    vectors = _vectors(lexicon)
    code = {
        "words": "\n".join(lexicon.words),
        "codes": vectors.codes,
        "steps": vectors.steps.tolist(),
        "least": vectors.least.tolist(),
        "excess": vectors.excess,
    }
    address = asset("vectors.js", f"lab.vectors = {json.dumps(code, ensure_ascii=False)};\n")
    script = Path(__file__).with_name("explorer.js").read_text(encoding="utf-8")
    apart, shares = _differences(lexicon)
    texts = {
        "unknown": say("This word is not among the {count} of the vocabulary: try another one."),
        "stays": say(
            "Under {mechanism} at ε = {epsilon}, “{word}” comes out unchanged in {stays} of 100 "
            "draws. Its nearest words:"
        ),
        "waiting": say("Loading the words…"),
    }
    laws = {
        each.mechanism.short: each.numbers
        | {
            "formula": each.formula,
            "epsilons": each.epsilons.tolist(),
            "off": [100.0 * off for off in shares[each.mechanism.short]],
        }
        for each in _closed(lexicon)
    }
    numbers = {"laws": laws, "texts": texts, "shown": _SHOWN, "apart": apart}
    heads = (say("word"), say("distance"), say("comes out, of 100"))
    head = "".join(f"<th>{html.escape(each)}</th>" for each in heads)
    options = "".join(f"<option>{html.escape(short)}</option>" for short in laws)
    written = {short: numeral(format(100 * max(off), ".2g")) for short, off in shares.items()}
    about = say(
        "Computed in this page, from vectors of {levels} levels a coordinate. For {count} words "
        "spread over the vocabulary, at every step, distances were at most {apart:.2g} from the "
        "engine's, and shares, of 100, at most: {shares}.",
        levels=_LEVELS,
        count=_TRIED,
        apart=apart,
        shares=", ".join(f"{short} {most}" for short, most in written.items()),
    )
    data = html.escape(json.dumps(numbers, ensure_ascii=False))
    fields = (
        f'<section data-explorer="{data}" data-vectors="{address}"><h2>{say("Any word")}</h2>'
        f'<div class="row"><label>{say("A word of the vocabulary")} '
        '<input type="text" autocomplete="off" maxlength="80"></label>'
        f"<label>{say('Mechanism')} <select>{options}</select></label>"
        f'<label>{say("ε, from small to large")} <input type="range" min="0"></label></div>'
        f'<p role="status"></p><div class="table"><table><thead><tr>{head}</tr></thead>'
        f'<tbody></tbody></table></div><p class="small">{html.escape(about)}</p></section>'
    )
    return fields, asset("explorer.js", script)


@cache
def _vectors(lexicon: Lexicon) -> Rounded:
    return rounded_vectors(lexicon)


@cache
def _closed(lexicon: Lexicon) -> list[Closed]:
    return closed_laws(lexicon)


@cache
def _differences(lexicon: Lexicon) -> tuple[float, dict[str, list[float]]]:
    """Return the largest difference of a distance, and of a share at each step, by mechanism.

    All are rounded up.
    """
    vectors, exact, apart = _vectors(lexicon), lexicon.vectors, 0.0
    # Nobody needs to know how far below a millionth.
    shares = {each.mechanism.short: np.full(each.epsilons.size, 1e-6) for each in _closed(lexicon)}
    words = np.unique(np.linspace(0, len(lexicon) - 1, _TRIED).astype(np.int64))
    for word in words.tolist():
        row = vectors.distances(word)
        apart = max(apart, float(np.abs(row - distances(exact, exact[[word]])[0]).max()))
        for each in _closed(lexicon):
            there = each.mechanism.probabilities(word, each.epsilons, None)
            most = shares[each.mechanism.short]
            np.maximum(most, np.abs(each.laws(row, word) - there).max(axis=1), out=most)
    rounded = {name: [float(at_most(off, 2)) for off in most] for name, most in shares.items()}
    return float(at_most(apart, 2)), rounded
