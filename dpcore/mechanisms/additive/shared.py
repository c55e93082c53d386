"""Laws of many words from one set of noise directions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpcore.mechanisms.law import Effort, Law
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.lexicon.ranking import Ranking
    from dpcore.mechanisms.additive.additive import RadialMechanism
    from dpcore.mechanisms.additive.rays import Bundle
    from dpcore.mechanisms.mechanism import Mechanism

_KEPT = 3  # sets of directions: those of a page with every mechanism at its first settings
_PUBLIC_SEED = 0  # of randomness that estimates a law: it protects nothing


@dataclass
class SharedDirections:
    """Noise directions that estimate the laws of all words, for mechanisms that can share them.

    They depend on nothing that anybody typed, so one instance can serve everyone.
    """

    effort: Effort = field(default_factory=Effort)
    _bundles: OrderedDict[tuple[object, ...], Bundle] = field(
        default_factory=OrderedDict, repr=False
    )
    _busy: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def bundle(self, mechanism: RadialMechanism) -> Bundle:
        """The directions of this mechanism; the last few are kept, for they are large."""
        key = mechanism.direction_key
        with self._busy:
            if key not in self._bundles:
                rng = generator(_PUBLIC_SEED, "directions")
                self._bundles[key] = mechanism.bundle(rng, self.effort.directions)
            self._bundles.move_to_end(key)
            while len(self._bundles) > _KEPT:
                self._bundles.popitem(last=False)
            return self._bundles[key]

    def law(
        self,
        mechanism: Mechanism,
        word: int,
        epsilons: FloatArray | Sequence[float],
        ranking: Ranking,
    ) -> Law:
        """The law of one word: exact where it can be, else from the shared directions."""
        rng = generator(_PUBLIC_SEED, "law", mechanism.key)
        if (radial := mechanism.rays) is not None:
            bundle = self.bundle(radial)
            return radial.law(word, epsilons, rng=rng, ranking=ranking, bundle=bundle)
        return mechanism.law(word, epsilons, rng=rng, ranking=ranking, effort=self.effort)
