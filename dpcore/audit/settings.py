"""At which parameters claims are audited."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.errors import ParameterError
from dpcore.limits import MAX_AUDIT_DRAWS, MAX_AUDIT_ENTRIES, MAX_DIMENSION
from dpcore.noise.streams import check_seed

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon


LARGEST_DELTA = 0.5


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """What a page or a command may change about the table of claims.

    Attributes:
        epsilon: ε of claims between any two words, and of ε per unit of distance.
        delta: δ where a claim has one (but TrLaplace's, which is `delta_root`^d).
        delta_root: δ^{1/d} of TrLaplace as published.
        latent: n, the coordinates of ADePT's latent vector.
        clip_norm: C; None for the largest norm of the lexicon.
        edge: truncated Gumbel is audited at this multiple of its lowest ε.
        words: private words compared where laws are expensive (truncated Gumbel; its repair takes
            five times and TEM ten times as many).
        draws: noise vectors that test a sampler (4,000 see a scale that is off by 2 %), and draws
            of a word for a Monte Carlo bound.
        seed: of every sample.
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    delta_root: float = 0.25
    latent: int = 32
    clip_norm: float | None = None
    edge: float = 1.01
    words: int = 6
    draws: int = 4000
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no claim can be audited at."""
        if not 0 < self.epsilon < math.inf:
            raise ParameterError(f"epsilon must be a finite number > 0, got {self.epsilon}")
        if not 0 < self.delta <= LARGEST_DELTA:
            raise ParameterError(
                f"delta must be > 0 and at most {LARGEST_DELTA}, got {self.delta}: use "
                "a small one, such as 1e-5"
            )
        if not 0 < self.delta_root < 1:
            raise ParameterError(f"delta_root must be between 0 and 1, got {self.delta_root}")
        if not 1 < self.edge < math.inf:
            raise ParameterError(f"edge must be a finite number > 1, got {self.edge}")
        if self.clip_norm is not None and not 0 < self.clip_norm < math.inf:
            raise ParameterError(f"clip_norm must be a finite number > 0, got {self.clip_norm}")
        bounds = {
            "latent": (1, MAX_DIMENSION),
            "words": (2, 5000),
            "draws": (1000, MAX_AUDIT_DRAWS),
        }
        for name, (low, high) in bounds.items():
            if not low <= getattr(self, name) <= high:
                raise ParameterError(
                    f"{name} must be from {low:,} to {high:,}, got {getattr(self, name)}"
                )
        check_seed(self.seed)

    def sample(self, lexicon: Lexicon, times: int = 1) -> tuple[int, str]:
        """How many private words are compared, and a sentence if they are fewer than asked for.

        `words` times so many, but no more than the lexicon has, and than laws are held at a time.
        """
        n, asked = len(lexicon), times * self.words
        most = MAX_AUDIT_ENTRIES // n
        if min(asked, n) <= most:
            return min(asked, n), ""
        return most, f" Of the {asked:,} words asked for {most:,} are compared, the most here."

    def moved_to(self, epsilon: float, reason: str) -> str:
        """A sentence that says so if a claim is audited at another ε than this one."""
        if epsilon == self.epsilon:
            return ""
        return f" Audited at ε = {epsilon:.4g} and not at {self.epsilon:.4g}: {reason}."

    def command(self, key: str, lexicon: Lexicon, *names: str) -> str:
        """The command that repeats the audit of one claim.

        Args:
            key: of the claim.
            lexicon: the vocabulary.
            names: which of the settings this claim uses; only those that are not the default are
                written.
        """
        return f"python -m dpcore audit --claim {key}{self.options(lexicon, *names)}"

    def options(self, lexicon: Lexicon, *names: str) -> str:
        """What such a command ends with: settings that are not the default, and the lexicon."""
        from dpcore.lexicon.catalogue import lexicon_option

        plain = AuditSettings()
        changed = [
            f"--at {name}={getattr(self, name)}"
            for name in names
            if getattr(self, name) != getattr(plain, name)
        ]
        where = [shlex.quote(word) for word in lexicon_option(lexicon)]
        return "".join(f" {part}" for part in (*changed, *where))
