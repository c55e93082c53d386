"""What the noise of a layer does to one picture, as a person can look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.learn.pixeldp.digits import Place, digits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.learn.pixeldp.digits import Digits
    from dpcore.learn.pixeldp.noise_layer import NoiseLayer

    FloatArray = NDArray[np.float64]

WIDTH = 8
"""Numbers in a line of what is looked at: a picture has as many lines, a first layer fewer."""


@dataclass(frozen=True, eq=False)
class Look:
    """The same numbers without and with noise; read-only.

    Attributes:
        clean: shape (lines, `WIDTH`).
        noisy: of the same shape.
    """

    clean: FloatArray
    noisy: FloatArray

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        self.clean.setflags(write=False)
        self.noisy.setflags(write=False)


def look_at(
    layer: NoiseLayer,
    place: Place,
    picture: FloatArray,
    rng: np.random.Generator,
    data: Digits | None = None,
) -> Look:
    """One picture, and one draw of the noise on it.

    The picture itself; what the decoder of the auto-encoder makes of the noisy code; or the units
    of the first layer after the rectifier.

    Args:
        layer: the noise, at `place`.
        place: where it stands.
        picture: shape (64,).
        rng: of the noise.
        data: pictures that the auto-encoder was made from; `digits` if None.
    """
    clean = layer.clean(picture[None])
    outputs = np.concatenate((clean, layer.noisy(clean, rng)))
    if Place(place) is Place.FIRST_LAYER:
        outputs = np.maximum(outputs, 0.0)
    elif layer.matrix is not None:
        mean = (digits() if data is None else data).train.mean(axis=0)
        # The code is W·x, not W·(x − mean): what the components leave out of the mean is constant.
        left_out = mean - (layer.matrix @ mean) @ layer.matrix
        outputs = outputs @ layer.matrix + left_out
    lines = outputs.reshape(2, -1, WIDTH)
    return Look(lines[0].copy(), lines[1].copy())
