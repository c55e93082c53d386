"""Budgets: both metrics against plain ones, the guarantee by enumeration, the form that fails."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dpcore.arrays import FloatArray
from dpcore.audit.composition import composition, group_compositions
from dpcore.audit.document import document_losses
from dpcore.audit.exact import audit_mechanism
from dpcore.errors import ParameterError
from dpcore.guarantee import MetricPrivacy, Status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import distances
from dpcore.mechanisms.exponential.budget import Budget, hub_distances
from dpcore.mechanisms.exponential.santext import SanText
from tests.mechanisms import lexicons

RULES = ("rank>5:0.2", "rank>5:0.7,rank>12:0.4,rank>19:0.1", "rank>0:0.3", "rank>1:0.05")
LEXICONS = {
    "cloud": lexicons.cloud(24, 3),
    "line": lexicons.line(*np.random.default_rng(3).uniform(-4, 4, 24)),
    "high": lexicons.cloud(24, 60),
    "near and far": lexicons.line(*np.geomspace(1e-3, 20, 24)),
}
FORMS: tuple[dict[str, Any], ...] = (
    {"promise": "same"}, {"promise": "same", "between": 0.7}, {"promise": "any"},
)  # fmt: skip
EPSILONS = (0.05, 1.0, 4.0, 20.0)


def plain_metric(mechanism: Budget) -> FloatArray:
    """d″ of all pairs, pair by pair, as the two definitions are written."""
    vectors, share = mechanism.lexicon.vectors, mechanism.shares.of
    apart, n = distances(vectors, vectors), len(vectors)
    result = np.zeros((n, n))
    for w, v in itertools.permutations(range(n), 2):
        if mechanism.promise == "same":
            b = mechanism.apart
            result[w, v] = b if share[w] != share[v] else min(share[w] * apart[w, v], 2 * b)
            continue
        ways = []
        for r in sorted(set(share.tolist())):
            small = [s for s in range(n) if share[s] <= r]
            detour = sum(min(apart[word, s] for s in small) for word in (w, v))
            ways.append(r * max(apart[w, v], detour))
        result[w, v] = min(ways)
    return result


def largest_excess(logs: FloatArray, allowed: FloatArray) -> float:
    """max over pairs and outputs of the loss less what is allowed."""
    losses = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
    return float((losses - allowed).max())


def logs_of(mechanism: Any, epsilon: float) -> FloatArray:
    return np.stack([mechanism.log_law(w, epsilon) for w in range(len(mechanism.lexicon))])


@pytest.mark.slow
@pytest.mark.parametrize("name", LEXICONS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_the_guarantee_holds_for_all_pairs_and_outputs(
    name: str, rule: str, form: dict[str, Any]
) -> None:
    mechanism = Budget(lexicon=LEXICONS[name], rule=rule, **form)
    plain, every = plain_metric(mechanism), np.arange(24)
    np.testing.assert_allclose(mechanism.promised_distances(every, 1.0), plain, rtol=1e-12)
    # A metric: for all three words.
    assert (plain[:, None, :] <= plain[:, :, None] + plain[None, :, :] + 1e-12).all()
    for epsilon in EPSILONS:
        logs = logs_of(mechanism, epsilon)
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-12)
        exponents = -0.5 * epsilon * plain
        by_hand = exponents - np.log(np.exp(exponents).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(logs, by_hand, rtol=1e-11)
        guarantee = mechanism.guarantee(epsilon)
        assert guarantee.status is Status.PROVED
        assert largest_excess(logs, epsilon * plain) <= 1e-11 * max(1.0, epsilon * plain.max())
        assert audit_mechanism(mechanism, epsilon).losses.holds
        # What the sentence says, which is weaker: budgets times Euclidean distances.
        vectors, share = mechanism.lexicon.vectors, mechanism.shares.of
        apart = distances(vectors, vectors)
        said = epsilon * np.minimum(share[:, None], share) * apart
        if form["promise"] == "same":
            said = np.where(share[:, None] == share, said, epsilon * mechanism.apart)
        assert largest_excess(logs, said) <= 1e-11 * max(1.0, said.max())
        euclidean = np.array([[guarantee.euclidean_loss(d) for d in row] for row in apart])
        assert (euclidean >= epsilon * plain * (1 - 1e-12)).all()
        assert isinstance(guarantee, MetricPrivacy)
        assert (guarantee.euclidean_factor * apart >= plain * (1 - 1e-12)).all()


@pytest.mark.parametrize("name", LEXICONS)
@pytest.mark.parametrize("rule", RULES[:2])
def test_canary_an_epsilon_of_its_own_for_each_word_breaks_the_guarantee(
    name: str, rule: str
) -> None:
    """The same enumeration finds the obvious form: each word at ε times its share."""
    lexicon = LEXICONS[name]
    share = Budget(lexicon=lexicon, rule=rule).shares.of
    naive = SanText(lexicon=lexicon)
    apart = distances(lexicon.vectors, lexicon.vectors)
    epsilon = 20.0
    logs = np.stack([naive.log_law(w, epsilon * share[w]) for w in range(24)])
    smaller, larger = (
        epsilon * choose(share[:, None], share) * apart for choose in (np.minimum, np.maximum)
    )
    assert largest_excess(logs, smaller) > 0.1
    if name != "high":  # there no two words are near each other
        assert largest_excess(logs, larger) > 0.1
    # Between words of one share it is one mechanism, and keeps its guarantee.
    alike = share[:, None] == share
    assert largest_excess(logs, np.where(alike, larger, np.inf)) <= 1e-9


@pytest.mark.parametrize("name", LEXICONS)
@pytest.mark.parametrize("rule", RULES)
def test_no_way_over_other_words_is_shorter_than_what_is_guaranteed(name: str, rule: str) -> None:
    """d″ of `any` is below the shortest path, which no mechanism can exceed, and near to it."""
    mechanism = Budget(lexicon=LEXICONS[name], rule=rule, promise="any")
    share = mechanism.shares.of
    vectors = mechanism.lexicon.vectors
    direct = np.minimum(share[:, None], share) * distances(vectors, vectors)
    shortest = direct.copy()
    for middle in range(24):
        shortest = np.minimum(shortest, shortest[:, [middle]] + shortest[[middle]])
    metric = mechanism.promised_distances(np.arange(24), 1.0)
    assert (metric <= shortest + 1e-12).all()
    least = share == share.min()
    np.testing.assert_allclose(metric[least], direct[least], rtol=1e-12)
    # The nearest words of a small share take the part of those on the way.
    assert (shortest <= 3.0 * metric + 1e-12).all()


def test_words_of_a_small_share_are_hubs() -> None:
    lexicon, rule = LEXICONS["cloud"], RULES[1]
    apart = distances(lexicon.vectors, lexicon.vectors)
    share = Budget(lexicon=lexicon, rule=rule).shares.of
    for hub, r in zip(hub_distances(lexicon, rule), (0.1, 0.4, 0.7, 1.0), strict=True):
        np.testing.assert_allclose(hub, apart[:, share <= r].min(axis=1), rtol=1e-14)


def test_one_budget_for_all_is_the_exponential_mechanism() -> None:
    lexicon = LEXICONS["cloud"]
    for promise in ("same", "any"):
        mechanism = Budget(lexicon=lexicon, rule="rank>0:0.3", promise=promise)
        np.testing.assert_allclose(
            logs_of(mechanism, 4.0), logs_of(SanText(lexicon=lexicon), 0.3 * 4.0), rtol=1e-12
        )


@pytest.mark.parametrize("form", FORMS)
def test_a_column_is_that_of_the_laws(form: dict[str, Any]) -> None:
    mechanism = Budget(lexicon=lexicons.cloud(700, 25), rule="rank>300:0.3", **form)
    vectors = mechanism.lexicon.vectors
    for output in (0, 299, 300, 699):
        away = distances(vectors, vectors[[output]])[0]
        column = mechanism.column_form.column(output, away, 3.0)
        for word in (0, 5, 299, 300, 698):
            log = mechanism.log_law(word, 3.0)[output]
            assert column[word] == pytest.approx(log, rel=mechanism.column_form.error, abs=1e-9)


# -- a whole text ----------------------------------------------------------------------------------

SIX = lexicons.cloud(6, 2, seed=1)
RULE = "rank>3:0.25"


def texts_delta(
    laws: FloatArray, first: tuple[int, ...], second: tuple[int, ...], target: float
) -> float:
    """δ at a target of two texts, over all outputs one by one."""
    p, q = np.ones(1), np.ones(1)
    for w, v in zip(first, second, strict=True):
        p, q = np.outer(p, laws[w]).ravel(), np.outer(q, laws[v]).ravel()
    return float(np.maximum(p - math.exp(target) * q, 0.0).sum())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_accounting_of_texts_is_that_of_enumeration(
    form: dict[str, Any], epsilon: float
) -> None:
    """Sums, composed bounds and bounds by budget, over all pairs of texts of two words."""
    mechanism = Budget(lexicon=SIX, rule=RULE, **form)
    laws = np.exp(logs_of(mechanism, epsilon))
    metric = mechanism.promised_distances(np.arange(6), epsilon)
    worst = composition(mechanism, epsilon, 2)
    groups = group_compositions(mechanism, epsilon, 2)
    share = mechanism.shares.of
    assert list(groups) == ["rank>3", "all other words"]
    ratios = np.log(laws)
    for first in itertools.product(range(6), repeat=2):
        for second in itertools.product(range(6), repeat=2):
            places = list(zip(first, second, strict=True))
            promised = epsilon * sum(metric[w, v] for w, v in places)
            largest = sum(float((ratios[w] - ratios[v]).max()) for w, v in places)
            assert largest <= promised + 1e-11
            assert promised <= worst.total * (1 + 1e-12)
            assert texts_delta(laws, first, second, worst.epsilon) <= worst.delta
            for name, code in (("rank>3", 0.25), ("all other words", 1.0)):
                if all(share[w] == share[v] == code for w, v in places):
                    bound = groups[name]
                    assert promised <= bound.total * (1 + 1e-12)
                    assert texts_delta(laws, first, second, bound.epsilon) <= bound.delta
    assert groups["rank>3"].total <= groups["all other words"].total <= worst.total


@pytest.mark.parametrize("form", FORMS)
def test_the_losses_of_two_texts_compose_as_enumeration_says(form: dict[str, Any]) -> None:
    """Places of different budgets in one text."""
    mechanism, first, second = Budget(lexicon=SIX, rule=RULE, **form), (0, 4, 5, 1), (1, 5, 5, 3)
    laws = np.exp(logs_of(mechanism, 3.0))
    losses = document_losses(mechanism, 3.0, first, second)
    for target in (0.0, 0.5, 1.0, 2.0):
        exact = texts_delta(laws, first, second, target)
        assert exact * (1 - 1e-12) <= losses.delta(target) <= exact + 1e-3


# -- statements ------------------------------------------------------------------------------------


def test_the_guarantee_names_every_budget() -> None:
    mechanism = Budget(lexicon=LEXICONS["cloud"], rule=RULES[1])
    facts: Any = mechanism.guarantee(10.0).to_dict()
    assert [entry["epsilon"] for entry in facts["budgets"]] == [1.0, 4.0, 7.0, 10.0]
    assert facts["between"] == pytest.approx(10.0 * mechanism.apart)
    statement = mechanism.guarantee(10.0).statement
    assert "1 for rank>19, 4 for rank>12, 7 for rank>5, 10 for all other words" in statement
    assert f"e^{facts['between']:.4g}" in statement
    whole = mechanism.guarantee(10.0).for_tokens(3)
    assert "3 protected words" in whole
    assert f"{facts['between']:.4g} where they have different ones" in whole
    any_words = Budget(lexicon=LEXICONS["cloud"], rule=RULES[1], promise="any").guarantee(10.0)
    assert "the smaller of their budgets" in any_words.statement
    assert any_words.to_dict()["between"] is None
    assert any_words.for_tokens(1).count("smaller") == 1


def test_what_the_other_words_pay_is_said() -> None:
    """In many dimensions all words are about equally far: twice the smallest share is the most."""
    high = Budget(lexicon=lexicons.cloud(400, 300), rule="rank>200:0.2", promise="any")
    assert 0.2 <= high.left <= 0.5
    assert f"{high.left:.2f} times their ε" in high.caution
    assert "public" in Budget(lexicon=LEXICONS["cloud"], rule=RULES[0]).caution
    assert Budget(lexicon=LEXICONS["cloud"], rule="rank>0:0.3").caution == ""


def test_a_rule_that_cannot_be_read_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="rule of budget"):
        Budget(lexicon=LEXICONS["cloud"], rule="information:0.5")
    with pytest.raises(ParameterError, match="promise of budget"):
        Budget(lexicon=LEXICONS["cloud"], promise="all")


def test_the_bundled_kinds_are_the_budgets() -> None:
    words = ("doctor", "lawyer", "garage", "the", "qqzzyyxx")
    lexicon = Lexicon("five", words, np.eye(5, dtype=np.float32))
    mechanism = Budget(lexicon=lexicon, rule="noun.person:0.2,noun.artifact:0.5")
    apart = mechanism.promised_distances(np.arange(5), 1.0)
    assert apart[0, 1] == pytest.approx(0.2 * math.sqrt(2))
    assert apart[0, 2] == apart[2, 3] == mechanism.apart
    assert apart[3, 4] == pytest.approx(math.sqrt(2))
