"""Losses through neighbours against sums over all texts and all outputs."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dpcore.arrays import FloatArray
from dpcore.attack.language.context import Place
from dpcore.attack.language.language import UNKNOWN, Bigram, Counts
from dpcore.attack.language.pufferfish import (
    AGAINST,
    NEAREST,
    MeanLoss,
    SentenceLoss,
    largest_log_ratio,
    mean_loss,
    nearest_others,
    sentence_loss,
    worst_losses,
)
from dpcore.attack.output.channel import open_channel
from dpcore.errors import ParameterError
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.written import Filled
from tests.attack.language.chains import N, random_bigram
from tests.chance import FALSE_ALARM, assert_mean
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

EPSILON = 1.0


@pytest.fixture
def model() -> Bigram:
    return random_bigram(0)


def mechanism_of(key: str = "tem") -> Mechanism:
    return create(key, lexicons.cloud(N, 3))


def laws_of(mechanism: Mechanism, epsilon: float = EPSILON) -> FloatArray:
    return np.stack([mechanism.law(w, [epsilon]).dense(N)[0] for w in range(N)])


def texts_of(model: Bigram, places: list[Place]) -> list[tuple[tuple[int, ...], float]]:
    """Every text of this structure, and its probability up to one factor."""
    rows = np.stack([model.after(w) for w in range(N + 1)])
    choices = [[place.output] if place.output in (N, UNKNOWN) else range(N) for place in places]
    texts = []
    for words in itertools.product(*choices):
        weight, before = 1.0, N
        for word in (*words, N):
            if word != UNKNOWN:
                weight *= model.fallback[word] if before == UNKNOWN else rows[before, word]
            before = word
        # Behind an unknown word nothing is known of the end.
        texts.append((words, weight if words[-1] != UNKNOWN else weight / model.fallback[N]))
    return texts


def log_chance(
    model: Bigram, places: list[Place], laws: FloatArray, position: int, word: int, some: range
) -> float:
    """ln P(outputs of some positions | the word at this one), by the sum over all texts."""
    told, total = 0.0, 0.0
    for words, weight in texts_of(model, places):
        if words[position] != word:
            continue
        total += weight
        for i in some:
            place = places[i]
            if place.output in (N, UNKNOWN):
                continue
            weight *= (
                float(words[i] == place.output) if place.released else laws[words[i], place.output]
            )
        told += weight
    return math.log(told / total)


SHAPES = {
    "w": Place(1),
    "v": Place(3),
    "k": Place(2, True),
    "u": Place(UNKNOWN),
    "b": Place(N, True),
}


@pytest.mark.parametrize("shape", ["w", "wv", "wvwv", "vkw", "wuvw", "wbvw", "kvwk", "wu", "vwkv"])
@pytest.mark.parametrize("key", ["tem", "k-ary"])
def test_losses_are_those_of_the_sum_over_all_texts(model: Bigram, shape: str, key: str) -> None:
    places = [SHAPES[each] for each in shape]
    mechanism = mechanism_of(key)
    laws, channel = laws_of(mechanism), open_channel(mechanism)
    protected = [i for i, each in enumerate(shape) if each in "wv"]
    count, end = len(protected), len(places)
    losses_by_sum = np.array(
        [
            [
                [log_chance(model, places, laws, i, word, part) for part in parts]
                for word in range(N)
            ]
            for i in protected
            for parts in [(range(i, i + 1), range(i), range(i + 1, end), range(end))]
        ]
    )
    for first, second in itertools.permutations(range(N), 2):
        words, others = np.full(count, first), np.full(count, second)
        loss = sentence_loss(channel, places, words, others, EPSILON, model=model)
        parts = np.stack([loss.own, loss.left, loss.right, loss.total], axis=1)
        assert parts == pytest.approx(losses_by_sum[:, first] - losses_by_sum[:, second], abs=1e-9)
        assert (loss.own <= loss.own_bound + 1e-12).all()
        assert (loss.left <= loss.left_bound + 1e-12).all()
        assert (loss.right <= loss.right_bound + 1e-12).all()


def test_the_bound_is_the_largest_over_all_sets_of_words(rng: MakeRng) -> None:
    for seed in range(20):
        first, second = rng(seed).dirichlet(np.ones(6), 2)
        for span in (0.0, 0.3, 2.0, 9.0, 900.0, math.inf):
            low = math.exp(-span)
            true = max(
                math.log(low + (1 - low) * first[list(some)].sum())
                - math.log(low + (1 - low) * second[list(some)].sum())
                for size in range(1, 7)
                for some in itertools.combinations(range(6), size)
            )
            assert largest_log_ratio(first, second, span) == pytest.approx(true, abs=1e-12)


@pytest.mark.parametrize(("key", "epsilon"), [("tem", 1.0), ("tem", 0.1), ("k-ary", 1.5)])
def test_worst_cases_over_all_outputs(model: Bigram, key: str, epsilon: float) -> None:
    mechanism = mechanism_of(key)
    laws = laws_of(mechanism, epsilon)
    pairs = list(itertools.combinations(range(N), 2))
    joint = np.zeros((N,) * 3)  # of the words at places 2, 3, 4 of 5
    for words, weight in texts_of(model, [Place(0)] * 5):
        joint[words[1:4]] += weight
    everywhere = np.zeros((N, *(N,) * 4))  # outputs of the four others, by the word in the middle
    for (p, q, middle, r, s), weight in texts_of(model, [Place(0)] * 5):
        everywhere[middle] += weight * np.einsum(
            "a,b,c,d->abcd", laws[p], laws[q], laws[r], laws[s]
        )
    for worst in worst_losses(mechanism, epsilon, pairs, length=5, model=model):
        sides = []
        for word in (worst.first, worst.second):
            given = joint[:, word, :] / joint[:, word, :].sum()
            sides.append(np.log(laws.T @ given @ laws))
        true = np.abs(sides[0] - sides[1]).max()
        assert worst.adjacent == pytest.approx(true, abs=1e-9)
        whole = [np.log(everywhere[w] / everywhere[w].sum()) for w in (worst.first, worst.second)]
        assert np.abs(whole[0] - whole[1]).max() <= worst.all + 1e-9
        clear = [np.log(joint[:, w, :] / joint[:, w, :].sum()) for w in (worst.first, worst.second)]
        assert worst.unchanged == pytest.approx(np.abs(clear[0] - clear[1]).max(), abs=1e-9)
        assert worst.adjacent < worst.all < worst.unchanged
        assert worst.factor_adjacent == (worst.own + worst.adjacent) / worst.own


def test_one_neighbour_of_k_ary_response_may_reach_the_bound() -> None:
    """Then the set of the theorem is one word or all others, which an output of k-ary tells."""
    first, second = np.array([0.7, 0.1, 0.1, 0.1]), np.array([0.1, 0.3, 0.3, 0.3])
    keep = math.exp(2.0)
    told = np.log((1 + (keep - 1) * first) / (1 + (keep - 1) * second))
    assert largest_log_ratio(first, second, 2.0) == pytest.approx(told.max())


def independent() -> Bigram:
    """A model whose words do not depend on each other."""
    none = np.empty(0, dtype=np.int32)
    counts = Counts(
        words=np.arange(1, N + 1),
        contexts=np.arange(1, N + 2),
        continuations=np.arange(1, N + 2),
        first=none, second=none, pairs=none,
    )  # fmt: skip
    return Bigram.of(counts, 0.75)


def test_neighbours_of_independent_words_tell_nothing() -> None:
    model, mechanism = independent(), mechanism_of()
    places = [Place(1), Place(3), Place(0)]
    loss = sentence_loss(
        open_channel(mechanism), places, np.array([1, 2, 0]), np.array([4, 3, 1]), 1.0, model=model
    )
    assert loss.neighbours == pytest.approx(0.0, abs=1e-12)
    assert loss.total_bound == pytest.approx(loss.own_bound, abs=1e-9)
    assert loss.factor == pytest.approx(1.0)
    (worst,) = worst_losses(mechanism, 1.0, [(0, 1)], model=model)
    assert [worst.adjacent, worst.all, worst.unchanged] == pytest.approx([0.0] * 3, abs=1e-9)


def exact_moments(
    model: Bigram, mechanism: Mechanism, against: str, length: int
) -> dict[str, tuple[float, float]]:
    """Mean and mean square of the mean loss of a text, and the same of sizes, over everything."""
    channel, laws = open_channel(mechanism), laws_of(mechanism)
    nearest = nearest_others(mechanism.lexicon, np.arange(N))
    texts = texts_of(model, [Place(0)] * length)
    total = sum(weight for _, weight in texts)
    means, squares = np.zeros((2, 3)), np.zeros((2, 3))
    for outputs in itertools.product(range(N), repeat=length):
        places = [Place(y) for y in outputs]
        chance = [
            weight / total * math.prod(laws[w, y] for w, y in zip(words, outputs, strict=True))
            for words, weight in texts
        ]
        belief = np.zeros((length, N))
        for (words, _), each in zip(texts, chance, strict=True):
            belief[np.arange(length), list(words)] += each
        table = np.zeros((length, N, N, 3))
        for a, b in itertools.permutations(range(N), 2):
            loss = sentence_loss(
                channel, places, np.full(length, a), np.full(length, b), EPSILON, model=model
            )
            table[:, a, b] = np.stack([loss.own, loss.neighbours, loss.total], axis=1)
        for (words, _), each in zip(texts, chance, strict=True):
            for kind, losses in enumerate((table, np.abs(table))):
                value, square = np.zeros(3), np.zeros(3)
                for i, word in enumerate(words):
                    weights = belief[i] * (np.arange(N) != word)
                    if against == NEAREST:
                        weights = (np.arange(N) == nearest[word]).astype(float)
                    value += weights @ losses[i, word] / weights.sum() / length
                    # A mean of squares is at least the square of the mean over the positions.
                    square += weights @ losses[i, word] ** 2 / weights.sum() / length
                means[kind] += each * value
                squares[kind] += each * square
    deviations = np.sqrt(squares - means**2)
    names = ("own", "neighbours", "total")
    return {
        f"{kind} {name}": (float(means[k, i]), float(deviations[k, i]))
        for k, kind in enumerate(("mean", "size"))
        for i, name in enumerate(names)
    }


@pytest.mark.slow
@pytest.mark.parametrize("against", AGAINST)
def test_means_over_texts_are_those_of_the_sum(model: Bigram, against: str) -> None:
    """Six normal limits, each exceeded with less than `FALSE_ALARM`."""
    assert FALSE_ALARM <= 1e-6
    mechanism, texts = mechanism_of(), 1_500
    mean = mean_loss(
        open_channel(mechanism), EPSILON, against=against, length=2, texts=texts, seed=3,
        model=model,
    )  # fmt: skip
    for name, (true, deviation) in exact_moments(model, mechanism, against, 2).items():
        kind, _, part = name.partition(" ")
        estimate = (mean.means if kind == "mean" else mean.sizes)[part]
        assert_mean(np.full(texts, estimate.value), true, deviation)
        assert 0.0 < estimate.error < 1.2 * deviation / math.sqrt(texts)


def test_mean_losses_depend_on_the_seed_alone(model: Bigram) -> None:
    channel = open_channel(mechanism_of("k-ary"))

    def once(seed: int, texts: int = 5) -> MeanLoss:
        return mean_loss(channel, 2.0, texts=texts, length=4, seed=seed, model=model)

    assert once(1) == once(1)
    assert once(1).means != once(2).means
    assert once(1).promised == 2.0
    sums = once(1).means
    assert sums["left"].value + sums["right"].value == pytest.approx(sums["neighbours"].value)
    assert sums["own"].value + sums["neighbours"].value == pytest.approx(sums["total"].value)


def test_an_output_that_excludes_the_other_word_has_an_infinite_loss() -> None:
    lexicon = lexicons.cloud(N, 3)
    mechanism = create("custext", lexicon, {"k": 2})
    laws = laws_of(mechanism, 2.0)
    assert (laws == 0.0).any()
    channel = open_channel(mechanism)
    mean = mean_loss(channel, 2.0, texts=20, length=3, seed=1, model=random_bigram(0))
    assert math.isinf(mean.means["own"].value)
    assert math.isnan(mean.means["own"].error)
    assert 0.0 < mean.sizes["neighbours"].value < math.inf
    pairs = list(itertools.combinations(range(N), 2))
    for worst in worst_losses(mechanism, 2.0, pairs, model=random_bigram(0)):
        # Its guarantee is conditional: as a bound, ε would be broken here.
        assert 0.0 < worst.adjacent <= worst.all == worst.unchanged
        assert math.isinf(worst.own)


def test_totals_exceed_the_guarantee_of_a_word_only_through_neighbours() -> None:
    channel = open_channel(mechanism_of("k-ary"))
    alone, together = (
        mean_loss(channel, 2.0, texts=40, length=4, seed=2, model=each)
        for each in (independent(), random_bigram(0))
    )
    assert alone.above.value == 0.0
    assert alone.largest == pytest.approx(1.0)  # a kept word
    assert 0.0 < together.above.value < 1.0
    assert together.largest > 1.0


def some_loss(
    key: str = "tem", epsilon: float = 1.0, places: Sequence[Place] = (Place(1), Place(3))
) -> SentenceLoss:
    channel = open_channel(mechanism_of(key))
    model = random_bigram(0)
    return sentence_loss(channel, places, np.array([1, 2]), np.array([0, 4]), epsilon, model=model)


def test_the_sentence_names_its_assumptions_and_adds_up() -> None:
    loss = some_loss()
    statement = loss.statement(1)
    assert isinstance(statement, Filled)
    names = loss.lexicon.words
    assert statement.startswith(
        "If texts follow the bigram model and every word gets independent noise"
    )
    assert f"“{names[2]}” from “{names[4]}”" in statement
    own, rest = loss.own_bound[1], loss.left_bound[1] + loss.right_bound[1]
    assert rest == loss.left_bound[1] > 0
    for value in (own, rest, own + rest):
        assert any(
            0 <= float(word.strip(",:")) - value <= 1e-3 * value
            for word in statement.split()
            if word[0].isdigit()
        )
    row = loss.rows()[1]
    assert row["written"] == names[2]
    assert row["factor"] == pytest.approx((own + rest) / own)


def test_a_sentence_with_unchanged_words_says_so() -> None:
    loss = some_loss(places=[Place(1), Place(3, True), Place(3)])
    assert loss.unchanged == 1
    assert "except 1 that is released unchanged" in loss.statement(0)
    assert "the 3 outputs" in loss.statement(0)
    loss = some_loss(places=[Place(1), Place(3, True), Place(3), Place(0, True)])
    assert "except 2 that are released unchanged" in loss.statement(0)


def test_without_a_bound_on_every_output_only_the_neighbours_are_bounded() -> None:
    loss = some_loss("truncated-gumbel", 17.0)  # its guarantee is refuted
    assert np.isinf(loss.own_bound).all()
    assert np.isfinite(loss.left_bound + loss.right_bound).all()
    assert loss.rows()[0]["own_bound"] is None
    assert "sets no limit" in loss.statement(0)
    assert "inf" not in loss.statement(0)


def test_nearest_others_are_other_words() -> None:
    lexicon = lexicons.cloud(40, 3)
    apart = np.linalg.norm(lexicon.vectors[:, None] - lexicon.vectors, axis=2)
    np.fill_diagonal(apart, math.inf)
    words = np.array([[3, 39], [0, 3]])
    assert nearest_others(lexicon, words).tolist() == apart.argmin(axis=1)[words].tolist()


def test_refusals(model: Bigram) -> None:
    mechanism = mechanism_of()
    channel = open_channel(mechanism)
    none = np.empty(0, dtype=np.int64)
    refused: list[tuple[str, Any]] = [
        (
            "1 words of the",
            lambda: sentence_loss(channel, [Place(1)], none, none, 1.0, model=model),
        ),
        ("two different", lambda: worst_losses(mechanism, 1.0, [(1, 1)], model=model)),
        ("3 or more", lambda: worst_losses(mechanism, 1.0, [(1, 2)], length=2, model=model)),
        ("1 to 200", lambda: worst_losses(mechanism, 1.0, [(1, 2)], length=201, model=model)),
        ("exact law", lambda: worst_losses(mechanism_of("madlib"), 1.0, [(1, 2)], model=model)),
        ("nearest or post", lambda: mean_loss(channel, 1.0, against="all", model=model)),
        ("2 texts", lambda: mean_loss(channel, 1.0, texts=1, model=model)),
        ("1 to 200", lambda: mean_loss(channel, 1.0, length=0, model=model)),
    ]
    for message, call in refused:
        with pytest.raises(ParameterError, match=message):
            call()
