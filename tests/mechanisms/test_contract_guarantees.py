"""Every proved guarantee holds exactly on small vocabularies: all pairs of words, all outputs."""

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from dpcore.guarantee import MetricPrivacy, Status
from dpcore.mechanisms.additive.rays import Bundle
from tests.mechanisms import lexicons, plain
from tests.mechanisms.contract import KEYS, every_mechanism, make


@every_mechanism
def test_guarantee_is_data(key: str, typicals: dict[str, float]) -> None:
    mechanism = make(key)
    numbers: tuple[Any, ...] = (typicals[key], str(typicals[key]))
    for epsilon in numbers:
        facts: dict[str, Any] = mechanism.guarantee(epsilon).to_dict()
        assert json.loads(json.dumps(facts, allow_nan=False)) == facts
        assert facts["status"] in set(Status)
        assert facts["epsilon"] > 0
        assert all(facts[part] for part in ("reason", "source", "statement", "kind"))
    assert "3 protected words" in mechanism.guarantee(typicals[key]).for_tokens(3)


LINES = {
    "even": lexicons.line(-2, -1, 0, 1, 2, 3),
    "near and far": lexicons.line(0, 1e-3, 0.5, 4, 4.001, -3),
    "two": lexicons.line(0, 1),
    "random": lexicons.cloud(25, 1),
}
# As they are by default; the repaired forms have tests of their own.
NOT_PROVED = {
    "truncated-gumbel.v1", "santext-plus.v1", "custext.v1", "rantext.v1", "wbb.v1",
}  # fmt: skip
BOTH_WAYS = np.array([[1.0], [-1.0]])


def _exact_laws(mechanism: Any, epsilon: float) -> NDArray[np.float64]:
    """Laws of all words: closed form, or both directions of a line, which are all there are."""
    n = len(mechanism.lexicon)
    if mechanism.exact_law:
        laws = [mechanism.law(w, [epsilon]) for w in range(n)]
    elif mechanism.rays is None:
        laws = [mechanism.law(w, [epsilon], unit=BOTH_WAYS) for w in range(n)]
    else:
        both = Bundle(BOTH_WAYS, mechanism.targets)
        laws = [
            mechanism.law(w, [epsilon], rng=np.random.default_rng(0), bundle=both) for w in range(n)
        ]
    return np.stack([law.dense(n)[0] for law in laws])


def _distance(mechanism: Any, guarantee: MetricPrivacy, w: int, v: int) -> float:
    if mechanism.exact_law and isinstance(guarantee, MetricPrivacy):
        pair = np.array([w, v])
        return float(mechanism.promised_distances(pair, guarantee.epsilon)[0, 1])
    rows = mechanism.lexicon.vectors.astype(np.float64)
    factor = getattr(guarantee, "euclidean_factor", 1.0)
    return factor * float(np.linalg.norm(rows[w] - rows[v]))


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize(
    "key", [k for k in KEYS if k not in {"vickrey.v1", "trlaplace.v1", "trlaplace-corrected.v1"}]
)
def test_a_proved_guarantee_holds_exactly_on_a_line(key: str, name: str) -> None:
    """All pairs of words and all outputs; Vickrey and TrLaplace have files of their own."""
    settings = {"dimensions": 1} if key == "random-projection.v1" else {}
    mechanism: Any = make(key, LINES[name], **settings)
    proved = 0
    epsilons = (1e-3, 0.1, 0.7, 2.0, 5.0, 12.0)
    for epsilon in epsilons:
        if epsilon not in mechanism.admissible:
            continue
        guarantee = mechanism.guarantee(epsilon)
        if guarantee.status not in {Status.PROVED, Status.CERTIFIED}:
            continue
        proved += 1
        laws = _exact_laws(mechanism, epsilon)
        np.testing.assert_allclose(laws.sum(axis=1), 1, rtol=1e-12)
        log_delta = getattr(guarantee, "log_delta", -math.inf)
        for w in range(len(laws)):
            for v in range(len(laws)):
                loss = guarantee.loss(_distance(mechanism, guarantee, w, v))
                if math.isinf(log_delta):
                    # 1e-15 is the rounding of a difference of two distribution functions.
                    excess = laws[w] - math.exp(loss) * (1 + 1e-9) * (laws[v] + 1e-15)
                    assert excess.max() <= 1e-15
                else:
                    exceeded = plain.delta_between(laws[w], laws[v], loss)
                    assert exceeded <= math.exp(log_delta) * (1 + 1e-9)
    undefined = not any(epsilon in mechanism.admissible for epsilon in epsilons)
    assert proved or undefined or key in NOT_PROVED


@pytest.mark.parametrize(
    "key", ["madlib.v1", "laplace.v1", "l2-laplace.v1", "gaussian.v1", "gaussian-classical.v1"]
)
def test_law_on_a_line_equals_the_distribution_function(key: str) -> None:
    """The Rao–Blackwell law over both directions of a line is the exact law."""
    mechanism: Any = make(
        key, LINES["near and far"], **({"clip_norm": 4.0005} if "madlib" not in key else {})
    )
    targets = mechanism.targets[:, 0].astype(np.float64)
    cdf = norm.cdf if "gaussian" in key else plain.laplace_cdf
    for epsilon in (0.3, 1.0, 8.0):
        laws = _exact_laws(mechanism, epsilon)
        for w, law in enumerate(laws):
            origin = float(mechanism.origins[w, 0])
            expected = plain.line_law(targets, origin, cdf, mechanism.scale(epsilon))
            np.testing.assert_allclose(law, expected, atol=1e-12)
