"""What a training run is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from dpcore.errors import ParameterError
from dpcore.lexicon.train.vocabulary import Selection

# Median exact Euclidean nearest-neighbour distance of GloVe 840B, 300 dimensions, over its
# 33,860 most frequent words (float16). The papers' ranges of ε were found on such vectors.
GLOVE_840B_MEDIAN_NEAREST = 4.787398738552171


@dataclass(frozen=True)
class TrainingPlan:
    """Everything that decides which lexicon comes out, besides the texts.

    Attributes:
        name: Name of the lexicon.
        selection: How words are chosen.
        dimensions: Columns of the result.
        window: Largest distance of a co-occurring pair, in words.
        context_exponent: Power of the context distribution in PMI.
        shift: Subtracted from PMI before the cut at zero, in nats.
        svd_dimensions: Singular values kept.
        singular_power: Power of the singular values.
        encoder: Whether vectors from the sentence encoder stand beside those from counts.
        encoder_weight: Length of the encoder's rows where those from counts have length 1.
        nearest_distance: Median nearest-neighbour distance that the result is scaled to.
        seed: Of the start vector of the singular value decomposition.

    Raises:
        ParameterError: A number is out of range.
    """

    name: str = "wpl-25k"
    selection: Selection = field(default_factory=Selection)
    dimensions: int = 300
    window: int = 5
    context_exponent: float = 1.0
    shift: float = 0.5
    svd_dimensions: int = 300
    singular_power: float = 0.25
    encoder: bool = True
    encoder_weight: float = 1.0
    nearest_distance: float = GLOVE_840B_MEDIAN_NEAREST
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dimensions", "window", "svd_dimensions"):
            if not getattr(self, name) >= 1:
                raise ParameterError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("encoder_weight", "nearest_distance"):
            value = getattr(self, name)
            if not (value > 0 and isfinite(value)):
                raise ParameterError(f"{name} must be a finite number > 0, got {value}")
        for name in ("context_exponent", "shift", "singular_power"):
            if not isfinite(getattr(self, name)):
                raise ParameterError(f"{name} must be finite, got {getattr(self, name)}")
        if not self.seed >= 0:
            raise ParameterError(f"seed must be at least 0, got {self.seed}")
        if not self.selection.words >= 2:
            raise ParameterError(f"words must be at least 2, got {self.selection.words}")
        if not self.encoder and self.dimensions > self.svd_dimensions:
            raise ParameterError(
                f"without the encoder, dimensions must be at most svd_dimensions "
                f"({self.svd_dimensions}), got {self.dimensions}"
            )
