"""Samples have the stated law, within the rounding that a guarantee names, for all words."""

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.lexicon.catalogue import load
from dpcore.lexicon.metric import Metric
from dpcore.mechanisms.bulk import OneByOne, bulk
from dpcore.mechanisms.exponential import tem_bulk as bulk_tem
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired
from dpcore.mechanisms.registry import create
from dpcore.noise import discrete
from dpcore.noise.discrete import Weights
from dpcore.noise.samplers import candidate_weights, whole_vocabulary_weight
from dpcore.noise.streams import document_generator
from tests.mechanisms import lexicons
from tests.noise.scripted import drawn, log_width, parts, words_of

PARALLEL = lexicons.lexicon([[1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
LEXICONS = {
    "cloud": lexicons.cloud(120, 8),
    "near duplicates": lexicons.crafted()["near duplicates"],
    "parallel": PARALLEL,
}


def weights_of(mechanism: Any, word: int, epsilon: float) -> Weights:
    """The weights that `sample` draws from."""
    ((_, weights),) = mechanism.rows(epsilon)(np.array([word]))
    return weights


def log_sampled(weights: Weights) -> list[Decimal]:
    """ln P of every outcome as it is drawn, from the widths of the parts."""
    logs = [log_width(weights, place) for place in range(len(weights.outcomes))]
    whole = sum(log.exp() for log in logs).ln()
    sampled = dict(zip(weights.outcomes.tolist(), logs, strict=True))
    return [sampled[y] - whole for y in range(len(logs))]


def arctangent(x: Decimal) -> Decimal:
    """By halving the angle until its series converges fast."""
    halvings = 0
    while x > Decimal("0.01"):
        x, halvings = x / (1 + (1 + x * x).sqrt()), halvings + 1
    terms = [(-1) ** i * x ** (2 * i + 1) / (2 * i + 1) for i in range(25)]
    return sum(terms, Decimal(0)) * 2**halvings


def distance(left: NDArray[np.float32], right: NDArray[np.float32], metric: str) -> Decimal:
    """In decimal numbers, from the float32 vectors as they are."""
    a, b = ([Decimal(float(x)) for x in row] for row in (left, right))
    if metric == "angular":
        lengths = [sum((x * x for x in row), Decimal(0)).sqrt() for row in (a, b)]
        a, b = ([x / length for x in row] for row, length in zip((a, b), lengths, strict=True))
        chord = sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Decimal(0)).sqrt()
        total = sum(((x + y) ** 2 for x, y in zip(a, b, strict=True)), Decimal(0)).sqrt()
        return 2 * arctangent(chord / total)
    apart = [abs(x - y) for x, y in zip(a, b, strict=True)]
    if metric == "euclidean":
        return sum((x * x for x in apart), Decimal(0)).sqrt()
    return sum(apart, Decimal(0)) if metric == "manhattan" else max(apart)


def log_tem(mechanism: TruncatedExponential, word: int, epsilon: float) -> list[Decimal]:
    vectors = mechanism.lexicon.vectors
    half, cap = Decimal(mechanism.nominal(epsilon)) / 2, Decimal(mechanism.cap)
    row = [distance(vectors[word], other, mechanism.metric) for other in vectors]
    logs = [-min(half * d, cap) for d in row]
    whole = sum((log.exp() for log in logs), Decimal(0)).ln()
    return [log - whole for log in logs]


def log_repaired(mechanism: TruncatedGumbelRepaired, word: int, epsilon: float) -> list[Decimal]:
    vectors, n = mechanism.lexicon.vectors, len(mechanism.lexicon)
    s = Decimal(mechanism.strength(epsilon))
    logs = [-s * distance(vectors[word], other, "euclidean") for other in vectors]
    order = sorted(range(n), key=lambda y: -logs[y])
    chances = [Decimal(float(p)) for p in candidate_weights(n)]
    chances += [Decimal(0)] * (n - 1 - len(chances)) + [Decimal(whole_vocabulary_weight(n))]
    sums, z = [], Decimal(0)
    for y in order:
        z += logs[y].exp()
        sums.append(z)
    law: dict[int, Decimal] = {}
    tail = Decimal(0)
    for k in range(n - 1, -1, -1):
        tail += chances[k] / sums[k]
        law[order[k]] = logs[order[k]] + tail.ln()
    whole = sum(law[y].exp() for y in range(n)).ln()
    return [law[y] - whole for y in range(n)]


CASES = [
    *(("tem", {"metric": str(metric)}, "cloud", 9.0) for metric in Metric),
    ("tem", {}, "cloud", 0.3),
    ("tem", {"metric": "angular"}, "parallel", 30.0),
    ("tem", {"beta": 1e-300}, "cloud", 400.0),
    ("tem", {"beta": 5e-324}, "near duplicates", 3e7),
    ("tem-calibrated", {}, "cloud", 4.0),
    ("truncated-gumbel-repaired", {}, "cloud", 60.0),
    ("truncated-gumbel-repaired", {}, "cloud", 4_000.0),
    ("truncated-gumbel-repaired", {}, "near duplicates", 5e8),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "lexicon", "epsilon"), CASES)
def test_the_drawn_law_is_the_stated_one_within_the_rounding_that_is_named(
    name: str, settings: dict[str, float | str], lexicon: str, epsilon: float
) -> None:
    """Against a plain computation in 60 decimal digits."""
    mechanism: Any = create(name, LEXICONS[lexicon], settings)
    rounding = mechanism.guarantee(epsilon).rounding
    assert 0 < rounding.relative < 1e-5
    assert rounding.total_variation == 0
    with localcontext() as context:
        context.prec = 60
        stated = (log_repaired if "gumbel" in name else log_tem)(mechanism, 1, epsilon)
        sampled = log_sampled(weights_of(mechanism, 1, epsilon))
        worst = max(abs(a - b) for a, b in zip(stated, sampled, strict=True))
    assert float(worst) <= rounding.relative


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "epsilon"),
    [
        ("truncated-gumbel-repaired", {}, 10.0),
        ("tem", {"beta": 1e-12}, 60.0),
        ("tem", {"beta": 5e-324}, 1e4),
    ],
)
def test_the_farthest_word_of_the_bundled_lexicon_can_come_out(
    name: str, settings: dict[str, float], epsilon: float
) -> None:
    """Every word has units of its own, and the digits in the middle of its part lead to it."""
    mechanism: Any = create(name, load(), settings)
    weights = weights_of(mechanism, 0, epsilon)
    assert np.all(np.diff(weights.steps.astype(object)) > 0)
    vectors = mechanism.lexicon.vectors.astype(np.float64)
    far = int(np.linalg.norm(vectors - vectors[0], axis=1).argmax())
    place = int(np.flatnonzero(weights.outcomes == far)[0])
    begin, edge, _ = list(parts(weights))[place]
    words = words_of((begin + edge) / 2, 120)
    assert drawn(weights, words)[0] == far
    if "gumbel" in name:
        expected = float(mechanism.log_law(0, epsilon)[far])
    else:
        law = mechanism.law(0, [epsilon]).probabilities[0]
        expected = -mechanism.cap + math.log(law[0])  # the weight of the word itself is 1
    width = edge - begin
    log = math.log(width.numerator) - math.log(width.denominator)
    # A part is its share of S, of which at most n units are in no one's part.
    slack = 4e-12 + len(weights.values) / float(int(weights.steps[-1]))
    assert abs(log - expected) <= slack + 1e-12 * abs(expected)


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 4, 12])
@pytest.mark.parametrize("name", ["tem", "tem-calibrated", "truncated-gumbel-repaired"])
def test_many_documents_are_as_one_by_one_where_first_words_decide_little(
    monkeypatch: pytest.MonkeyPatch, name: str, k: int
) -> None:
    for module in (discrete, bulk_tem):
        monkeypatch.setattr(module, "shift", lambda n: k)
    mechanism = create(name, lexicons.cloud(300, 8))
    epsilon = max(3.0, 1.5 * mechanism.admissible.low)
    words = np.arange(130) % 7
    offsets = np.array([0, 1, 1, 65, 66, 130])
    rngs = [[document_generator(bytes(32), i) for i in range(5)] for _ in range(2)]
    plain = OneByOne(mechanism, epsilon)(rngs[0], words, offsets)
    outputs = bulk(mechanism, epsilon)(rngs[1], words, offsets)
    assert outputs.tolist() == plain.tolist()
    assert [rng.random() for rng in rngs[0]] == [rng.random() for rng in rngs[1]]


def test_parallel_vectors_are_drawn_alike() -> None:
    """At the angle 0 another word is as likely as the word itself."""
    mechanism = create("tem", PARALLEL, {"metric": "angular"})
    law = mechanism.law(0, [20.0]).probabilities[0]
    assert law[0] == law[1] > law[2]
    assert np.array_equal(weights_of(mechanism, 0, 20.0).values[:2], [1.0, 1.0])


def test_the_refuted_mechanism_names_no_rounding() -> None:
    mechanism = create("truncated-gumbel", LEXICONS["cloud"])
    assert mechanism.guarantee(2 * mechanism.admissible.low).rounding is None
