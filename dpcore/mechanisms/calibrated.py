"""Mechanisms whose noise is as small as the true ε on this lexicon allows.

Noise has a strength s (in 1/distance; a larger one is less noise). At ε the strength is the larger
of two: the one that a theorem allows for every vocabulary, and the one that a certificate allows
for this one. Both are step functions or continuous and increasing in ε, so a draw that is a
step function of the strength is one of ε.
"""

from __future__ import annotations

import shlex
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.guarantee import Guarantee, MetricPrivacy, Status
from dpcore.lexicon.progress import silent
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS
from dpcore.mechanisms.certificate import (
    Certificate,
    keep_certificate,
    known_certificate,
    write_certificate,
)
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.outwards import at_most

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from dpcore.arrays import FloatArray
    from dpcore.lexicon.progress import Progress
    from dpcore.mechanisms.path import EpsilonPaths


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibratedMechanism(Mechanism):
    """A mechanism with a strength of noise that is certified on its lexicon.

    The certificate of a vocabulary of up to 1,000 words is computed when it is first needed; that
    of a larger one comes with the laboratory or is made by `python -m dpcore calibrate`. Without
    one the theorem alone decides.
    """

    # -- what a member says

    certified_by_command: ClassVar[int] = CERTIFIED_AT_ONCE_WORDS
    """Words up to which a command computes a certificate that it needs, with progress."""

    @abstractmethod
    def proved_strength(self, epsilon: float) -> float:
        """The strength that is proved at ε for every vocabulary; 0 if there is none."""

    @abstractmethod
    def proved_epsilon(self, strengths: FloatArray) -> FloatArray:
        """The ε that is proved for each strength, increasing (the inverse)."""

    @abstractmethod
    def compute_certificate(self, progress: Progress = silent) -> Certificate:
        """Evaluate the loss of all pairs of words: minutes for a large vocabulary."""

    @abstractmethod
    def promise(self, epsilon: float) -> MetricPrivacy:
        """What the theorem says at ε, with its reason and source."""

    # -- what follows

    @property
    def calibrated(self) -> CalibratedMechanism:
        """Itself."""
        return self

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate of this lexicon and these settings, if there is one."""
        known = known_certificate(self.lexicon.fingerprint, self.key, self.settings())
        if known is not None or len(self.lexicon) > CERTIFIED_AT_ONCE_WORDS:
            return known
        return self.calibrate()

    @property
    def is_known(self) -> bool:
        """True if the certificate comes with the laboratory or was kept on this computer."""
        return known_certificate(self.lexicon.fingerprint, self.key, self.settings()) is not None

    def calibrate(self, progress: Progress = silent) -> Certificate:
        """Compute the certificate and keep it in the cache folder."""
        certificate = self.compute_certificate(progress)
        keep_certificate(self.lexicon.fingerprint, self.key, self.settings(), certificate)
        return certificate

    def write(self, path: Path, certificate: Certificate, provenance: Mapping[str, Any]) -> None:
        """Enter what was certified in a file such as the bundled one, with how it was made."""
        fingerprint, settings = self.lexicon.fingerprint, self.settings()
        write_certificate(path, fingerprint, self.key, settings, certificate, provenance)

    @property
    def lowest_epsilon(self) -> float:
        """Below or at this ε there is no strength."""
        proved = float(self.proved_epsilon(np.zeros(1))[0])
        if self.certificate is None:
            return proved
        # The range is open, and the least certified ε must be inside.
        return min(proved, float(np.nextafter(self.certificate.epsilons[0], 0.0)))

    def strength(self, epsilon: float) -> float:
        """The strength of the noise at ε, in 1/distance."""
        value = self.check_epsilon(epsilon)
        # Both are true, so the one that needs less noise is taken.
        certified = self.certificate.strength(value) if self.certificate else 0.0
        return max(certified, self.proved_strength(value))

    def epsilon_of(self, strengths: FloatArray) -> FloatArray:
        """The smallest ε at which the strength is at least this, elementwise."""
        proved = self.proved_epsilon(strengths)
        if self.certificate is None:
            return proved
        return np.minimum(proved, self.certificate.epsilon_of(strengths))

    def same_law_from(self, epsilon: float) -> float:
        """Where the strength last rose: between two certified ε the law is that of the smaller."""
        least = float(self.epsilon_of(np.array([self.strength(epsilon)]))[0])
        # A certificate's ε are rounded down in their last digits: a round one with the same law.
        neat = float(at_most(least, 3))
        if least <= neat <= epsilon and self.strength(neat) == self.strength(epsilon):
            return neat
        return min(least, epsilon)

    def in_own_epsilon(self, paths: EpsilonPaths, per_strength: float) -> EpsilonPaths:
        """Paths whose breaks are `per_strength` times a strength, as functions of ε."""
        finite = np.isfinite(paths.breaks)
        breaks = np.full(paths.breaks.shape, np.inf)
        breaks[finite] = self.epsilon_of(paths.breaks[finite] / per_strength)
        return replace(paths, breaks=breaks, low=self.admissible.low)

    def guarantee(self, epsilon: float) -> Guarantee:
        """Metric privacy at ε: certified on this lexicon, or proved where the theorem decides."""
        value = self.check_epsilon(epsilon)
        proved = self.promise(value)
        if self.certificate is None:
            return replace(proved, reason=f"{proved.reason} {self._without_certificate()}")
        if not self.certificate.strength(value) > self.proved_strength(value):
            return proved
        return replace(
            proved,
            status=Status.CERTIFIED,
            reason=(
                f"The loss of all pairs of the {len(self.lexicon):,} words and all outputs was "
                f"computed or bounded: with this noise it is at most ε = {at_most(value)} times "
                "their distance. For another vocabulary it need not be."
            ),
            source=f"computed on this lexicon; {proved.source}",
        )

    def _without_certificate(self) -> str:
        return (
            "There is no certificate of this lexicon with these settings, which would allow less "
            f"noise: `{self.calibrate_command}` computes it."
        )

    @property
    def calibrate_command(self) -> str:
        """What computes the certificate of this lexicon and these settings from the shell."""
        from dpcore.lexicon.catalogue import lexicon_option

        parts = ["python", "-m", "dpcore", "calibrate", "--mechanism", self.short]
        for name, value in self.settings().items():
            if value != getattr(type(self), name, None):
                parts += ["--set", f"{name}={value}"]
        return shlex.join(parts + lexicon_option(self.lexicon))
