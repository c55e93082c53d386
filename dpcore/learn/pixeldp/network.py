"""The network of PixelDP for digits: weights by name, and what stands before and after the noise.

A convolution of 3 × 3 with C channels, a second one of stride 2 with 2C, and a dense layer, with
rectifiers between them; an auto-encoder, where there is one, stands before all that. The weights
are plain tensors, so that the one training loop of the house trains them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import ParameterError
from dpcore.learn.packages import torch
from dpcore.learn.pixeldp.bounded_maps import BoundedMap
from dpcore.learn.pixeldp.digits import Place
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
from dpcore.learn.pixeldp.noisy_classifier import layer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    Weights = dict[str, Any]

SIDE = 8
PIXELS = SIDE * SIDE
_KERNEL = 3
_CODE, _PAINTED = 32, 128
CODING = ("code", "decode", "paint")
"""What the names of the weights of an auto-encoder begin with."""


def random_weights(shapes: Mapping[str, tuple[int, ...]], generator: Any) -> Weights:
    """Weights to begin training with, and a bias of 0 for each of them.

    Args:
        shapes: of the weights by name, outputs first.
        generator: a `torch.Generator`.

    Returns:
        Normal entries of variance 2/inputs, which keep the size of what passes a rectifier (He et
        al. 2015, Section 2.2).
    """
    weights: Weights = {}
    for name, shape in shapes.items():
        size = math.sqrt(2.0 / math.prod(shape[1:]))
        drawn = size * torch().randn(shape, generator=generator)
        weights[name] = drawn.requires_grad_()
        weights[f"{name}-bias"] = torch().zeros(shape[0], requires_grad=True)
    return weights


@dataclass(frozen=True)
class Network:
    """Where the noise stands, and how large everything is.

    Attributes:
        place: of the noise.
        attack: p, the norm of an attack on the picture.
        accounting: the noise.
        classes: number of classes.
        channels: C of the first convolution, 1 to 512.

    Raises:
        ParameterError: there are too many channels, or the place cannot be certified against this
            norm.
    """

    place: Place
    attack: float
    accounting: Accounting
    classes: int
    channels: int = 8

    def __post_init__(self) -> None:
        """Check."""
        object.__setattr__(self, "place", Place(self.place))
        object.__setattr__(self, "accounting", Accounting(self.accounting))
        if not 1 <= self.channels <= 512:
            raise ParameterError(f"a convolution has 1 to 512 channels, got {self.channels}")
        self.before  # noqa: B018 - refuses norms that it cannot bound, before hours of training

    @property
    def before(self) -> BoundedMap | None:
        """The linear map before the noise; None for noise in the picture."""
        if self.place is Place.PICTURE:
            return None
        side = SIDE if self.place is Place.FIRST_LAYER else 0
        return BoundedMap(self.attack, self.accounting.norm, side)

    @property
    def mapped(self) -> str:
        """Name of the weights of that map."""
        return "first" if self.place is Place.FIRST_LAYER else "code"

    @property
    def width(self) -> int:
        """Numbers that the noise is added to, of each picture."""
        widths = {
            Place.PICTURE: PIXELS,
            Place.FIRST_LAYER: PIXELS * self.channels,
            Place.AUTO_ENCODER: _CODE,
        }
        return widths[self.place]

    def training_noise(self, scale: float) -> NoiseLayer:
        """The noise that is trained on: of a scale in units of the bound that is held at 1."""
        # Before the picture stands no map that training could enlarge: its exact sensitivity
        # counts. Elsewhere W/R has at most 1, and the noise is measured by that.
        if self.place is Place.PICTURE:
            return layer_of(self.accounting, scale, self.attack, PIXELS)
        return NoiseLayer(self.accounting, scale, self.accounting.norm, self.width)

    def start(self, generator: Any) -> Weights:
        """Random weights; those of an auto-encoder only where there is one."""
        c = self.channels
        shapes: dict[str, tuple[int, ...]] = {
            "first": (c, 1, _KERNEL, _KERNEL),
            "second": (2 * c, c, _KERNEL, _KERNEL),
            "last": (self.classes, 2 * c * PIXELS // 4),
        }
        if self.place is Place.AUTO_ENCODER:
            shapes |= {"code": (_CODE, PIXELS), "decode": (_PAINTED, _CODE)}
            shapes |= {"paint": (PIXELS, _PAINTED)}
        weights = random_weights(shapes, generator)
        # A bias of the code would be a constant under the noise: that of the decoder does its work.
        weights.pop("code-bias", None)
        return weights

    def released(self, weights: Weights, pictures: Any) -> Any:
        """What the noise is added to, shape (k, 64) to (k, width); its sensitivity is ≤ 1."""
        before = self.before
        if before is None:
            return pictures
        return before.apply(before.bounded(weights[self.mapped]), pictures)

    def logits(self, weights: Weights, outputs: Any) -> Any:
        """What follows the noise, shape (k, width) to (k, classes)."""
        if self.place is Place.FIRST_LAYER:
            # The bias comes after the noise: it is post-processing, and no part of what is bounded.
            maps = outputs.reshape(-1, self.channels, SIDE, SIDE)
            return self._rest(weights, maps + weights["first-bias"][:, None, None])
        if self.place is Place.AUTO_ENCODER:
            outputs = self.decoded(weights, outputs)
        return self._rest(weights, self._first(weights, outputs))

    def plain_logits(self, weights: Weights, pictures: Any) -> Any:
        """The network without noise, bound and auto-encoder: the layer-free baseline."""
        return self._rest(weights, self._first(weights, pictures))

    def decoded(self, weights: Weights, codes: Any) -> Any:
        """Pictures from codes, shape (k, 32) to (k, 64)."""
        linear, relu = torch().nn.functional.linear, torch().relu
        hidden = relu(linear(codes, weights["decode"], weights["decode-bias"]))
        return linear(hidden, weights["paint"], weights["paint-bias"])

    def _first(self, weights: Weights, pictures: Any) -> Any:
        maps = pictures.reshape(-1, 1, SIDE, SIDE)
        conv2d = torch().nn.functional.conv2d
        return conv2d(maps, weights["first"], weights["first-bias"], padding="same")

    def _rest(self, weights: Weights, maps: Any) -> Any:
        functional, relu = torch().nn.functional, torch().relu
        second = functional.conv2d(
            relu(maps), weights["second"], weights["second-bias"], stride=2, padding=_KERNEL // 2
        )
        return functional.linear(relu(second).flatten(1), weights["last"], weights["last-bias"])
