"""Discrete draws: which digits lead to which outcome, against fractions, and their law."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.noise import discrete
from dpcore.noise.discrete import Digits, Weights, draws, scaled, units
from tests.chance import assert_law
from tests.fixtures import MakeRng
from tests.noise.scripted import drawn, one_word, parts, words_of

# Beside ordinary weights: whole units and parts of one, a unit in the last place below 1, a power
# of two, subnormal floats, and weights that no float64 can hold.
LOGS = [
    0.0, -0.3, math.log1p(-(2.0**-53)), -1.7, -math.log(2.0), -30.0, -38.7, -41.1, -43.0, -60.0,
    -709.0, -744.0, -900.0, -3500.0, -1e5,
]  # fmt: skip


AROUND: list[Any] = [
    sign * Fraction(1, 2**power) for sign in (1, -1) for power in (62, 64, 66, 130, 500)
]


def weights(given: list[float] = LOGS) -> Weights:
    logs = np.array(given)
    return Weights(np.exp(logs), logs.item, 10 * np.arange(logs.size))


def plain(places: list[tuple[Fraction, Fraction, Fraction]], words: list[int]) -> tuple[int, int]:
    """Outcome and words used, by the definition: all digits of x until its place is sure."""
    low, digits = Fraction(0), 0
    for used, word in enumerate(words, start=1):
        digits += 64
        low += Fraction(word, 1 << digits)
        high = low + Fraction(1, 1 << digits)
        for place, (begin, edge, end) in enumerate(places):
            if begin <= low and high <= edge:
                return 10 * place, used
            if edge <= low and high <= end:
                low, digits = Fraction(0), 0
    raise AssertionError("more words are needed")


def test_the_product_of_two_words_is_that_of_whole_numbers(rng: MakeRng) -> None:
    ends = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 2, 2**64 - 1], dtype=np.uint64)
    words = np.concatenate((ends, rng().integers(2**64, size=200, dtype=np.uint64)))
    for total in words[:60]:
        products = scaled(words, total)
        assert [int(f) for f in products] == [int(w) * int(total) >> 64 for w in words]


@pytest.mark.parametrize("n", [1, 2, 3, 1_000, 25_000, 400_000])
def test_the_units_of_any_weights_have_a_sum_in_a_word(n: int) -> None:
    k = discrete.shift(n)
    assert n * (2**k + 1) < 2**64
    assert 2**k > 2**30  # so that few draws need a second look
    assert units(np.array([1.0, 0.5, 5e-324, 0.0]), k).tolist() == [2**k, 2 ** (k - 1), 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("k", [None, 0, 5])
def test_digits_lead_where_the_definition_leads(
    monkeypatch: pytest.MonkeyPatch, rng: MakeRng, k: int | None
) -> None:
    """At, just before and just after every boundary, and anywhere: so every part is w wide."""
    if k is not None:
        monkeypatch.setattr(discrete, "shift", lambda n: k)
    law, after = weights(), rng().integers(2**64, size=12, dtype=np.uint64).tolist()
    places = list(parts(law))
    assert all(begin < edge <= end for begin, edge, end in places)
    numbers: list[Any] = [Fraction(word, 2**64) for word in after]
    for begin, edge, end in places:
        numbers += [x + far for x in (begin, edge, end) for far in (Fraction(0), *AROUND)]
        numbers += [(begin + edge) / 2, (edge + end) / 2]
    for x in numbers:
        if 0 <= x < 1:
            words = words_of(x, 8) + after
            assert drawn(law, words) == plain(places, words)


def test_an_outcome_that_no_float_can_weigh_is_reached() -> None:
    """e^−3500: the digits in the middle of its part lead there, and those beyond do not."""
    law, place = weights(), LOGS.index(-3500.0)
    begin, edge, end = (places := list(parts(law)))[place]
    assert law.values[place] == 0.0
    assert begin < edge < end
    middle = words_of((begin + edge) / 2, 90)
    assert drawn(law, middle) == (10 * place, plain(places, middle)[1])
    beyond = [*words_of(begin + 2 * (edge - begin), 90), 0]
    assert drawn(law, beyond)[0] != 10 * place


@pytest.mark.parametrize("k", [0, 2, 6, None])
def test_draws_have_the_law(rng: MakeRng, monkeypatch: pytest.MonkeyPatch, k: int | None) -> None:
    """Also where nearly every draw is in the last units of its outcome."""
    if k is not None:
        monkeypatch.setattr(discrete, "shift", lambda n: k)
    law = weights([0.0, -0.3, -1.7, -2.5, -5.0, -5.0, -800.0])
    size = 20_000 if k is None else 1_500
    outputs = draws(Digits(rng()), np.zeros(size, dtype=np.int64), one_word(law)) // 10
    assert_law(outputs, law.values / law.values.sum())


@pytest.mark.parametrize("k", [0, 3, 9, 40])
def test_a_batch_is_what_its_draws_give_one_by_one(
    rng: MakeRng, monkeypatch: pytest.MonkeyPatch, k: int
) -> None:
    monkeypatch.setattr(discrete, "shift", lambda n: k)
    laws = [weights(), weights([0.0, -0.1, -3.0]), weights([0.0])]

    def rows(entries: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], Weights]]:
        return [
            (members, law)
            for i, law in enumerate(laws)
            if (members := np.flatnonzero(entries == i)).size
        ]

    entries = rng(1).integers(3, size=400)
    together, alone = rng(2), rng(2)
    batch = draws(Digits(together), entries, rows)
    single = [int(draws(Digits(alone), entries[i : i + 1], rows)[0]) for i in range(400)]
    assert batch.tolist() == single
    assert together.random() == alone.random()
