"""Facts left: brute force on a small lexicon, the real rewriter, and the leak behind them."""

import itertools
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcore.attack.language.context import guesses_around
from dpcore.attack.language.language import UNKNOWN, language
from dpcore.attack.leak import leak
from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.prior import Prior, content_words, parse_prior
from dpcore.attack.output.success import chance_of_any
from dpcore.attack.persons import FactsLeft, Share, facts_left, guesses_at, share_over_texts
from dpcore.errors import CorpusError, EpsilonError, ParameterError
from dpcore.learn.intervals import student_quantile
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_FACT_TAGS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.rewrite.redact.spans import AnnotatedText, parse_facts
from dpcore.rewrite.sentence import prepare, release
from tests.attack.test_leak import FEW, MANY
from tests.chance import FALSE_ALARM, assert_mean, deviation
from tests.fuzzing import repeated

Table = NDArray[np.float64]

A, B, C, D, E, F = (FEW.words[i] for i in (42, 45, 48, 51, 54, 57))
"""Content words."""
THE = FEW.words[0]
EPSILONS = {"tem": 8.0, "k-ary": 4.0, "neighbour-response": 4.0, "santext": 8.0}


def annotate(text: str, *people: Sequence[tuple[str, str]]) -> AnnotatedText:
    """A text with the facts (tag, keyword) of each person."""
    facts = [{"facts": [{"tag": t, "keyword": k} for t, k in some]} for some in people]
    return parse_facts(text, json.dumps(facts))


TEXTS = [
    annotate(f"{A} {B} {C}", [("X", f"{A} {B}"), ("Y", f"{B} {C}")], [("X", C)]),
    annotate(f"{D} zzyzxq {THE} {D}", [("X", D), ("Y", f"{D} zzyzxq"), ("Y", f"{THE} {D}")]),
    annotate(f"{E}, {F}!", [("X", E), ("X", "nowhere")]),
]


@lru_cache(maxsize=8)
def laws_of(mechanism: Mechanism, epsilon: float) -> Table:
    """P(y | w), a row a word."""
    n = len(mechanism.lexicon)
    return np.array([mechanism.law(word, [epsilon]).dense(n)[0] for word in range(n)])


def brute_right(
    words: Sequence[int], law: Table, hit: Table, wanted: Sequence[Sequence[int]]
) -> float:
    """Chance that all positions of one of these sets are right: a sum over all joint outputs.

    Args:
        words: of the text.
        law: P(y | w).
        hit: 1 if output y counts as right for the word w, shape (n, n) by w and y.
        wanted: sets of positions.
    """
    joint = np.ones(())
    right = []
    for i, word in enumerate(words):
        shape = [1] * len(words)
        shape[i] = len(law)
        joint = joint * law[word].reshape(shape)
        right.append(hit[word].reshape(shape) > 0)
    any_of = np.zeros(joint.shape, dtype=bool)
    for positions in wanted:
        all_of = np.ones(joint.shape, dtype=bool)
        for i in positions:
            all_of = all_of & right[i]
        any_of |= all_of
    return float(joint[any_of].sum())


def hits(mechanism: Mechanism, epsilon: float, prior: Prior, granted: bool) -> tuple[Table, Table]:
    """Return what stays and what is guessed by word and output, from the definition."""
    n = len(mechanism.lexicon)
    law = laws_of(mechanism, epsilon)
    best = (prior.probability[:, None] * law).argmax(axis=0)
    guessed = (best[None, :] == np.arange(n)[:, None]).astype(float)
    if granted:
        guessed[prior.probability == 0] = 1.0
    return np.eye(n), guessed


def parts(result: FactsLeft, tag: str = "") -> dict[str, Any]:
    """The numbers of one tag."""
    row = next(row for row in result.tags if row.tag == tag)
    shares = {"left": row.left, "guessed": row.guessed, "apart": row.apart}
    return {name: share and share.value for name, share in shares.items()}


@pytest.mark.parametrize("stranger", ["counts", "counts-all", "equal"])
@pytest.mark.parametrize("key", EPSILONS)
def test_shares_are_those_of_brute_force(key: str, stranger: str) -> None:
    mechanism, epsilon = create(key, FEW), EPSILONS[key]
    (result,) = facts_left(TEXTS, FEW, mechanism, [epsilon], stranger=stranger)
    law = laws_of(mechanism, epsilon)
    prior = parse_prior(FEW, stranger)
    a, b, c, d, e, the = FEW.indices([A, B, C, D, E, THE]).tolist()
    for name, hit, persons in zip(
        ("left", "guessed"),
        hits(mechanism, epsilon, prior, stranger == "counts"),
        (result.persons_left, result.persons_guessed),
        strict=True,
    ):
        first = [brute_right((a, b, c), law, hit, [p]) for p in ((0, 1), (1, 2), (2,))]
        # The word outside the vocabulary is left out: its fact is never right.
        single = brute_right((d, the, d), law, hit, [(0,), (2,)])
        pair = brute_right((d, the, d), law, hit, [(1, 2)])
        last = brute_right((e,), law, hit, [(0,)])
        numbers = parts(result)
        assert numbers[name] == pytest.approx((sum(first) + single + pair + last) / 7, rel=3e-5)
        assert parts(result, "Y")[name] == pytest.approx((first[1] + pair) / 3, rel=3e-5)
        union = brute_right((a, b, c), law, hit, [(0, 1), (1, 2)])
        second = brute_right((d, the, d), law, hit, [(0,), (2,), (1, 2)])
        assert persons is not None
        assert persons.value == pytest.approx((union + first[2] + second + last) / 4, rel=3e-5)
    assert (result.left_exact, result.guessed_exact, result.attacker) == (True, True, "bayes")
    assert result.persons == 4
    assert [(row.annotated, row.facts, row.outside) for row in result.tags] == [
        (8, 7, 1),
        (5, 4, 0),
        (3, 3, 1),
    ]


def test_values_told_apart_are_those_of_brute_force() -> None:
    """One word exactly; a fact at two places, and two words, from drawn outputs."""
    mechanism, epsilon, draws = create("tem", FEW), 8.0, 4_000
    (result,) = facts_left(TEXTS, FEW, mechanism, [epsilon], draws=draws)
    law = laws_of(mechanism, epsilon)
    indices = FEW.indices([A, B, C, D, E, THE])
    a, b, c, d, e, the = indices.tolist()

    def ahead(value: Sequence[int], other: Sequence[int]) -> float:
        own, theirs = np.ones(()), np.ones(())
        for v, o in zip(value, other, strict=True):
            own, theirs = np.multiply.outer(own, law[v]), np.multiply.outer(theirs, law[o])
        tied = np.isclose(own, theirs, rtol=1e-9, atol=0)
        return float(own[(own > theirs) & ~tied].sum() + 0.5 * own[tied].sum())

    # X, one word: c, d (at two places) and e; X of two words has one value.
    exact = [np.mean([ahead([v], [o]) for o in (c, d, e) if o != v]) for v in (c, e)]
    drawn = np.mean([ahead([d, d], [o, o]) for o in (c, e)])
    assert result.tags[1].compared == 3
    slack = 2 * 0.5 * np.sqrt(np.log(2 / FALSE_ALARM) / (2 * draws)) * 2  # Hoeffding, of a mean
    found = parts(result, "X")["apart"]
    assert found == pytest.approx((sum(exact) + drawn) / 3, abs=slack)
    assert not result.apart_exact
    # Y, two words: b c, and the d.
    pairs = np.mean([ahead((b, c), (the, d)), ahead((the, d), (b, c))])
    assert result.tags[2].compared == 2
    assert parts(result, "Y")["apart"] == pytest.approx(pairs, abs=slack)
    some = [TEXTS[0], TEXTS[2]]
    (alone,) = facts_left(some, FEW, mechanism, [epsilon])
    assert alone.apart_exact
    both = np.mean([ahead([c], [e]), ahead([e], [c])])
    assert parts(alone, "X")["apart"] == pytest.approx(both, rel=3e-5)
    assert a not in (b, c)


@pytest.mark.parametrize("key", ["tem", "k-ary", "neighbour-response"])
def test_the_real_rewriter_leaves_as_much(
    key: str, rng: Callable[..., np.random.Generator]
) -> None:
    """Counted over 800 releases of each text; fails a right share with probability 1e-6."""
    mechanism, epsilon, runs = create(key, FEW), EPSILONS[key], 800
    (result,) = facts_left(TEXTS, FEW, mechanism, [epsilon])
    prior = content_words(FEW)
    (guesses,) = guesses_at(mechanism, np.array([epsilon]), prior)
    numbers = parts(result)
    source = rng(1)
    left, guessed = np.zeros(runs), np.zeros(runs)
    for annotated in TEXTS:
        sentence = prepare(annotated.text, FEW)
        for run in range(runs):
            outputs = [t.output for t in release(sentence, mechanism, epsilon, source).tokens]
            named = guesses.rule(FEW.indices([o.lower() for o in outputs if o.isalpha()]))
            names = [FEW.words[i] for i in named.tolist()]
            words = [o.lower() for o in outputs if o.isalpha()]
            for fact in annotated.facts:
                left[run] += any(_at(annotated, span, words) for span in fact.spans)
                guessed[run] += any(_at(annotated, span, names, prior) for span in fact.spans)
    for counts, name in ((left, "left"), (guessed, "guessed")):
        assert_mean(counts / 7, numbers[name], max(float((counts / 7).std()), 1e-9))


def _at(
    annotated: AnnotatedText, span: tuple[int, int], words: list[str], prior: Prior | None = None
) -> bool:
    """Return True if these words stand at a span, counted by the white space before it."""
    start, end = span
    first = len(annotated.text[:start].split())
    wanted = annotated.text[start:end].replace(",", "").split()
    return all(
        word == words[first + i]
        or (prior is not None and word in FEW and not prior.probability[FEW.index(word)])
        for i, word in enumerate(wanted)
    )


def test_a_mechanism_without_a_law_is_drawn() -> None:
    """Madlib of a fact of one word: the share that stays is that of many direct draws."""
    mechanism, epsilon, draws = create("madlib", FEW), 6.0, 4_000
    (result,) = facts_left(TEXTS[2:], FEW, mechanism, [epsilon], draws=draws)
    assert {result.left_exact, result.guessed_exact, result.apart_exact} == {False}
    word = FEW.index(E)
    drawn = mechanism.sample(np.random.default_rng(0), np.full(draws, word), epsilon) == word
    found = parts(result)
    assert found["left"] == pytest.approx(drawn.mean(), abs=2 * float(deviation(draws, 0.25)))
    assert found["apart"] is None
    assert result.attacker in ("repeats", "density", "constant")


@pytest.mark.parametrize("lexicon", [FEW, MANY], ids=["laws", "columns"])
def test_the_mean_of_the_chances_is_the_leak(lexicon: Lexicon) -> None:
    mechanism, epsilons = create("tem", lexicon), np.array([3.0, 8.0, 20.0])
    for stranger in ("counts", "counts-all", "equal"):
        prior = parse_prior(lexicon, stranger)
        for each, row in zip(
            guesses_at(mechanism, epsilons, prior),
            leak(mechanism, epsilons, stranger),
            strict=True,
        ):
            assert each.right is not None
            assert prior.probability @ each.right == pytest.approx(row.after, rel=1e-9)


def test_a_redactor_hides_and_releases() -> None:
    texts = [
        annotate("He met Peter in London today", [("N", "Peter"), ("P", "London"), ("T", "today")]),
        annotate("Today zzyzxq met PETER", [("N", "peter"), ("N", "zzyzxq"), ("T", "today")]),
    ]
    words = ("he", "met", "peter", "in", "london", "today", "the")
    lexicon = Lexicon("seven", words, np.eye(7, dtype=np.float32))
    plain, rules = facts_left(texts, lexicon, redactors=["", "rules"], stranger="equal")
    assert parts(plain)["left"] == parts(plain)["guessed"] == 1.0
    # "Peter" and "London" have a capital inside a sentence; "zzyzxq" and "PETER" are not found.
    assert parts(rules)["left"] == pytest.approx(4 / 6)
    assert parts(rules, "P") == {"left": 0.0, "guessed": 0.0, "apart": None}
    assert rules.tags[0].outside == 1
    assert parts(rules, "N")["left"] == pytest.approx(2 / 3)
    assert rules.persons == 2
    assert rules.persons_left == pytest.approx((1.0, 0.025**0.5, 1.0))  # Clopper and Pearson
    mechanism = create("k-ary", lexicon)
    alone, both = facts_left(
        texts, lexicon, mechanism, [2.0], redactors=["", "rules"], stranger="equal"
    )
    stay = mechanism.law(0, [2.0]).dense(7)[0][0]
    assert parts(alone)["left"] == pytest.approx(5 * stay / 6)  # a word is outside
    assert parts(both)["left"] == pytest.approx(3 * stay / 6)
    # A blind guess under a block names the first word of all.
    assert parts(both)["guessed"] == pytest.approx(3 * stay / 6)


def test_who_reads_on_names_what_the_bigrams_make_likeliest() -> None:
    """All sentences of three words, weighed by the model one by one; one word is blacked out."""
    model, n = language(FEW), len(FEW)
    mechanism, epsilon = create("tem", FEW), 8.0
    channel, law = open_channel(mechanism), laws_of(mechanism, epsilon)
    sentence = prepare(f"{A} {B} {C}", FEW)
    after = np.array([model.after(word) for word in range(n)])
    hidden = np.array([False, True, False])
    for outputs in ([1, 5, 9], [42, 3, 48], [17, 40, 2]):
        joint = (
            model.after(model.boundary)[:n, None, None]
            * after[:, :n, None]
            * after[None, :, :n]
            * after[None, None, :, n]
            * law[:, outputs[0], None, None]
            * law[None, None, :, outputs[2]]
        )
        expected = [joint.sum(axis=axes).argmax() for axes in ((1, 2), (0, 2), (0, 1))]
        found = guesses_around(
            sentence, hidden, channel, np.array(outputs), epsilon, np.ones(3, dtype=bool)
        )
        assert found.tolist() == expected
    seen = guesses_around(
        sentence, hidden, None, sentence.words, 0.0, np.array([True, False, True])
    )
    assert seen.tolist() == [sentence.words[0], UNKNOWN, sentence.words[2]]


def test_who_reads_sees_all_where_nothing_is_hidden() -> None:
    mechanism = create("k-ary", FEW)
    low, high = facts_left(TEXTS, FEW, mechanism, [0.5, 60.0], stranger="reads")
    assert parts(high)["guessed"] == pytest.approx(6 / 7)  # one fact is outside
    assert parts(low)["guessed"] <= parts(high)["guessed"]
    assert (high.attacker, high.guessed_exact) == ("reads", False)
    plain, rules = facts_left(TEXTS, FEW, redactors=["", "rules"], stranger="reads")
    assert parts(plain)["guessed"] == 1.0
    assert rules.left_exact


@repeated(90)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), max_size=6),
    st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), min_size=11, max_size=11),
)
def test_the_chance_of_any_place_is_that_of_all_outcomes(
    pairs: list[tuple[int, int]], chance: list[float]
) -> None:
    places = [(first, first + size) for first, size in pairs]
    expected = 0.0
    for outcome in itertools.product((False, True), repeat=11):
        if any(all(outcome[first:stop]) for first, stop in places):
            expected += float(
                np.prod([p if right else 1 - p for p, right in zip(chance, outcome, strict=True)])
            )
    assert chance_of_any(places, np.array(chance)) == pytest.approx(expected, abs=1e-12)


def test_shares_over_texts() -> None:
    assert share_over_texts(np.zeros(2), np.zeros(2)) is None
    assert share_over_texts(np.array([1.0, 0.0]), np.array([2.0, 0.0])) == Share(0.5, 0.0, 1.0)
    low = share_over_texts(np.zeros(3), np.ones(3))
    assert low is not None
    assert low.high == pytest.approx(1 - 0.025 ** (1 / 3))
    # Texts of one fact each: the t-interval of their mean.
    values = np.array([0.1, 0.4, 0.3])
    share = share_over_texts(values, np.ones(3))
    half = student_quantile(2) * values.std(ddof=1) / np.sqrt(3)
    assert share == pytest.approx(
        (values.mean(), max(values.mean() - half, 0), values.mean() + half)
    )


def test_the_same_seed_gives_the_same_numbers() -> None:
    mechanism = create("madlib", FEW)
    first, again = (facts_left(TEXTS, FEW, mechanism, [4.0], seed=5) for _ in range(2))
    assert first == again
    assert json.dumps(first[0].to_dict())


def test_nonsense_is_refused() -> None:
    mechanism = create("k-ary", FEW)
    refusals: tuple[tuple[dict[str, Any], str], ...] = (
        ({"mechanism": mechanism, "epsilons": [0.0]}, "epsilon"),
        ({"epsilons": [1.0]}, "no ε"),
        ({"mechanism": create("k-ary", MANY), "epsilons": [1.0]}, "lexicon"),
        ({"redactors": ["nobody"]}, "redactor"),
        ({"stranger": "nobody"}, "counts"),
        ({"stranger": 3}, "stranger"),
        ({"draws": 1}, "draws"),
        ({"mechanism": create("madlib", FEW), "epsilons": [4.0], "stranger": "reads"}, "exact law"),
    )
    for wrong, message in refusals:
        with pytest.raises((ParameterError, EpsilonError), match=message):
            facts_left(TEXTS, FEW, **wrong)
    many = [annotate(A, [(f"TAG{i}", A) for i in range(MAX_FACT_TAGS + 1)])]
    with pytest.raises(CorpusError, match="tags"):
        facts_left(many, FEW)


def test_guesses_that_are_known_already_give_the_same() -> None:
    mechanism, epsilons = create("tem", FEW), np.array([4.0, 8.0])
    known = guesses_at(mechanism, epsilons, content_words(FEW))
    computed = facts_left(TEXTS, FEW, mechanism, epsilons)
    assert facts_left(TEXTS, FEW, mechanism, epsilons, guesses=known) == computed
    with pytest.raises(ParameterError, match="at each of 2 ε"):
        facts_left(TEXTS, FEW, mechanism, epsilons, guesses=known[:1])
