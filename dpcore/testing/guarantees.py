"""What is promised: as data, and kept exactly by all pairs of words and all outputs of a line."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.guarantee import MetricPrivacy, Status
from dpcore.testing.base import Contract
from dpcore.testing.lexicons import cloud, line

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray

LINES = {
    "even": line(-2, -1, 0, 1, 2, 3),
    "near and far": line(0, 1e-3, 0.5, 4, 4.001, -3),
    "two": line(0, 1),
    "random": cloud(25, 1),
}
"""Vocabularies of one dimension, on which every law can be computed."""
_EPSILONS = (1e-3, 0.1, 0.7, 2.0, 5.0, 12.0)


def exact_laws(mechanism: Any, epsilon: float) -> FloatArray:
    """Laws of all words: closed form, or both directions of a line, which are all there are."""
    from dpcore.mechanisms.additive.rays import Bundle

    n = len(mechanism.lexicon)
    if mechanism.exact_law:
        laws = [mechanism.law(w, [epsilon]) for w in range(n)]
    else:
        both = Bundle(np.array([[1.0], [-1.0]]), mechanism.targets)
        laws = [
            mechanism.law(w, [epsilon], rng=np.random.default_rng(0), bundle=both) for w in range(n)
        ]
    return np.stack([law.dense(n)[0] for law in laws])


class GuaranteeContract(Contract):
    """`guarantee`."""

    def test_guarantee_is_data(self) -> None:
        """That JSON can hold, with a sentence and a source."""
        mechanism = self.make()
        for epsilon in (self.typical, str(self.typical)):
            facts: dict[str, Any] = mechanism.guarantee(epsilon).to_dict()  # type: ignore[arg-type]
            assert json.loads(json.dumps(facts, allow_nan=False)) == facts
            assert facts["status"] in set(Status)
            assert facts["epsilon"] > 0
            assert all(facts[part] for part in ("reason", "source", "statement", "kind"))
        assert "3 protected words" in mechanism.guarantee(self.typical).for_tokens(3)

    def test_a_proved_guarantee_holds_exactly_on_a_line(self) -> None:
        """All pairs of words and all outputs, on four lines, at six ε."""
        if not self.on_a_line:
            return
        for lexicon in LINES.values():
            mechanism: Any = self.make(lexicon)
            admissible = [epsilon for epsilon in _EPSILONS if epsilon in mechanism.admissible]
            proved = [epsilon for epsilon in admissible if self._kept(mechanism, epsilon)]
            assert proved or not admissible or not self.proves

    def line_laws(self, mechanism: Any, epsilon: float) -> FloatArray | None:
        """Exact laws of all words of a lexicon on a line, shape (n, n); None if there are none."""
        if not (mechanism.exact_law or mechanism.rays is not None):
            return None
        return exact_laws(mechanism, epsilon)

    def _kept(self, mechanism: Any, epsilon: float) -> bool:
        """Whether anything is proved at ε; then it has to be kept."""
        guarantee = mechanism.guarantee(epsilon)
        if guarantee.status not in {Status.PROVED, Status.CERTIFIED}:
            return False
        laws = self.line_laws(mechanism, epsilon)
        if laws is None:
            return True  # an estimate cannot show that a promise is kept exactly
        np.testing.assert_allclose(laws.sum(axis=1), 1, rtol=1e-12)
        log_delta = getattr(guarantee, "log_delta", -math.inf)
        for w in range(len(laws)):
            for v in range(len(laws)):
                loss = guarantee.loss(_distance(mechanism, guarantee, w, v))
                if math.isinf(log_delta):
                    # 1e-15 is the rounding of a difference of two distribution functions.
                    excess = laws[w] - math.exp(loss) * (1 + 1e-9) * (laws[v] + 1e-15)
                    assert excess.max() <= 1e-15, (epsilon, w, v)
                else:
                    # The hockey-stick divergence Σ(P − e^ε P′)₊.
                    exceeded = float(np.maximum(laws[w] - np.exp(loss) * laws[v], 0.0).sum())
                    assert exceeded <= math.exp(log_delta) * (1 + 1e-9), (epsilon, w, v)
        return True


def _distance(mechanism: Any, guarantee: Any, w: int, v: int) -> float:
    if mechanism.exact_law and isinstance(guarantee, MetricPrivacy):
        pair = np.array([w, v])
        return float(mechanism.promised_distances(pair, guarantee.epsilon)[0, 1])
    rows = mechanism.lexicon.vectors.astype(np.float64)
    factor = getattr(guarantee, "euclidean_factor", 1.0)
    return float(factor * np.linalg.norm(rows[w] - rows[v]))
