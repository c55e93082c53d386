"""Two words under one mechanism over all ε: what each keeps, where it goes, who finds it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.attack.output.two_words import Success, bound, success
from dpcore.measure.deniability import Deniability, finite
from dpcore.measure.outputs import Outputs, outputs_of
from dpcore.measure.pair import Pair, deniability, output_distance

if TYPE_CHECKING:
    from dpcore.mechanisms.additive.shared import SharedDirections
    from dpcore.mechanisms.mechanism import Mechanism

_ENTRIES = 2_000_000  # probabilities of a word held at a time: 16 MB


@dataclass(frozen=True, eq=False)
class Comparison:
    """What one mechanism does to a pair of words at E values of ε.

    Attributes:
        mechanism: registry key.
        pair: the words.
        epsilons: shape (E,).
        deniability: Nw, Sw and effective number of both words.
        distance: expected Euclidean distance of the output from the word, shape (2, E).
        distance_error: its standard error; 0 if exact.
        between: success of the best attacker who asks which of the two words it was.
        beside: for each word, success of one who asks: it, or its nearest neighbour?
        bound: the largest `between` that the promise allows, shape (E,).
        beside_bound: the largest `beside`, shape (2, E).
        status: of the promise at each ε: proved, conditional, refuted.
        detail: how distance and attack were found.
    """

    mechanism: str
    pair: Pair
    epsilons: FloatArray
    deniability: Deniability
    distance: FloatArray
    distance_error: FloatArray
    between: Success
    beside: tuple[Success, Success]
    bound: FloatArray
    beside_bound: FloatArray
    status: tuple[str, ...]
    detail: str

    def rows(self) -> list[dict[str, Any]]:
        """One plain row a word and ε; errors are standard errors, 0 where exact."""
        rows = []
        names = self.pair.names
        for i, measured in enumerate(self.deniability.rows()):
            w, e = divmod(i, self.epsilons.size)
            row = {name: measured[name] for name in _DENIABILITY}
            row |= {
                "other": names[1 - w],
                "output_distance": float(self.distance[w, e]),
                "output_distance_error": float(self.distance_error[w, e]),
                "nearest_distance": self.pair.gaps[w],
                "output_distance_relative": float(self.distance[w, e] / self.pair.gaps[w]),
                "nearest": self.pair.lexicon.words[self.pair.nearest[w]],
                "law": self.detail,
                "exact": self.between.exact,
                "status": self.status[e],
            }
            for label, each, limit in (
                ("attack", self.between, self.bound[e]),
                ("attack_nearest", self.beside[w], self.beside_bound[w, e]),
            ):
                row |= {
                    f"{label}_low": float(each.low[e]),
                    f"{label}_low_error": float(each.low_error[e]),
                    f"{label}_high": float(each.high[e]),
                    f"{label}_high_error": float(each.high_error[e]),
                    f"{label}_bound": finite(limit),
                }
            rows.append(row)
        return rows


_DENIABILITY = (
    "mechanism epsilon word nw nw_low nw_high standard_error sw sw_standard_error effective "
    "effective_standard_error method runs"
).split()


def compare(
    mechanism: Mechanism,
    pair: Pair,
    epsilons: FloatArray,
    shared: SharedDirections,
    *,
    runs: int,
    seed: int,
) -> Comparison:
    """Measure one mechanism.

    Args:
        mechanism: over the lexicon of the pair.
        pair: the words.
        epsilons: admissible, shape (E,), E ≥ 1.
        shared: public directions behind distances and attacks where a law is not exact.
        runs: R of Sw, and directions or runs behind Nw where it is not exact.
        seed: of those.

    Raises:
        EpsilonError: an ε is not admissible.
    """
    values = mechanism.check_epsilons(epsilons)
    size = len(pair.lexicon)
    # An exact law has n entries at every ε; estimated ones keep the few outputs that occurred.
    step = max(1, _ENTRIES // size) if mechanism.exact_law else values.size
    (a, b), (near_a, near_b) = pair.words, pair.nearest
    far: list[tuple[FloatArray, FloatArray]] = []
    attacks: list[list[Success]] = [[], [], []]
    detail = ""
    for start in range(0, values.size, step):
        part = values[start : start + step]
        outputs: dict[int, Outputs] = {
            word: outputs_of(mechanism, word, part, ranking, shared)
            for word, ranking in pair.rankings.items()
        }
        each = [output_distance(pair, outputs[word]) for word in pair.words]
        far.append((np.stack([e[0] for e in each]), np.stack([e[1] for e in each])))
        for place, (first, second) in enumerate(((a, b), (a, near_a), (b, near_b))):
            nearer = pair.distances(first) < pair.distances(second)
            attacks[place].append(success(outputs[first], outputs[second], nearer))
        detail = outputs[a].detail
    between, *beside = (Success.joined(parts) for parts in attacks)
    promises = [mechanism.guarantee(float(epsilon)) for epsilon in values]
    return Comparison(
        mechanism=mechanism.key,
        pair=pair,
        epsilons=values,
        deniability=deniability(mechanism, pair, values, runs, seed),
        distance=np.concatenate([f[0] for f in far], axis=1),
        distance_error=np.concatenate([f[1] for f in far], axis=1),
        between=between,
        beside=(beside[0], beside[1]),
        bound=np.array([bound(promise, pair.distance) for promise in promises]),
        beside_bound=np.array([[bound(p, gap) for p in promises] for gap in pair.gaps]),
        status=tuple(str(promise.status) for promise in promises),
        detail=detail,
    )
