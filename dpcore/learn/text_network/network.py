"""The two text networks of Jia et al. 2019 that Xu et al. 2021 train, as functions of tensors.

Both read fixed public word vectors through one trained linear layer and a ReLU, so that the box of
a word's allowed substitutes is exact after the linear layer and loose only from the ReLU on.

Sizes and layers follow the authors' program (github.com/robinjia/certified-word-sub, src/
text_classification.py and entailment.py): the sentence encoder of the first is a convolution of
width 3 and a mean over the positions, of the second a sum of words; the entailment network
concatenates the two sums and passes them through three hidden layers. The classes have one score
each, also where there are two of them (the authors: one score).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import IntArray
from dpcore.errors import ParameterError
from dpcore.learn.corpus import Bags
from dpcore.learn.substitutions import Substitutions
from dpcore.learn.tensors import torch_generator
from dpcore.limits import MAX_CLASSES, MAX_DIMENSION
from dpcore.optional import torch

Tensors = Mapping[str, Any]


# Interval bound propagation: a value, and a box that holds every value it may take.
#
# Gowal et al. 2018; for words Jia et al. 2019, Section 3. Every function takes the value through a
# layer and, if there is a box, the box through interval arithmetic: for an affine map the centre by
# W and the radius by |W|, for a monotone function both ends. The box of the output holds every
# output of every point of the input box, so a bound is valid, and it is differentiable, so a
# network can be trained for it. Sums round: a bound is off by the rounding of its sums, and a
# margin counts as positive only beyond that (`dpcore.learn.text_network.classifier`).


@dataclass(frozen=True)
class Bounded:
    """A tensor and its bounds, which have its shape; both None where nothing may change.

    Attributes:
        value: the tensor.
        low: at most every value it may take.
        high: at least every value it may take.
    """

    value: Any
    low: Any = None
    high: Any = None

    def each(self, change: Callable[[Any], Any]) -> Bounded:
        """Apply a non-decreasing function to the value and both ends."""
        if self.low is None:
            return Bounded(change(self.value))
        return Bounded(change(self.value), change(self.low), change(self.high))

    def narrowed(self, share: float) -> Bounded:
        """Shrink the box around the value: ends at `share` of their distance from it."""
        if self.low is None or share == 1:
            return self
        return Bounded(
            self.value,
            self.value + share * (self.low - self.value),
            self.value + share * (self.high - self.value),
        )


def relu(x: Bounded) -> Bounded:
    """Return max(x, 0)."""
    return x.each(torch().relu)


def scaled(x: Bounded, factor: Any) -> Bounded:
    """Multiply x by factors ≥ 0 that are broadcast: masks, dropout, means."""
    return x.each(lambda part: part * factor)


def summed(x: Bounded, dimension: int) -> Bounded:
    """Sum over one dimension."""
    return x.each(lambda part: part.sum(dim=dimension))


def joined(first: Bounded, second: Bounded) -> Bounded:
    """Concatenate in the last dimension; a part without a box is fixed."""
    value = torch().cat((first.value, second.value), dim=-1)
    if first.low is None and second.low is None:
        return Bounded(value)
    boxes = [
        x if x.low is not None else Bounded(x.value, x.value, x.value) for x in (first, second)
    ]
    low = torch().cat([x.low for x in boxes], dim=-1)
    return Bounded(value, low, torch().cat([x.high for x in boxes], dim=-1))


def affine(x: Bounded, weight: Any, bias: Any) -> Bounded:
    """Return W x + b over the last dimension, W of shape (out, in)."""
    return _linear(x, lambda part, w, b: torch().nn.functional.linear(part, w, b), weight, bias)


def convolved(x: Bounded, weight: Any, bias: Any) -> Bounded:
    """Convolve over positions, keeping their number.

    Args:
        x: shape (k, t, in).
        weight: shape (out, in, width), with an odd width.
        bias: shape (out,).
    """
    padding = weight.shape[2] // 2

    def over(part: Any, w: Any, b: Any) -> Any:
        maps = torch().nn.functional.conv1d(part.transpose(1, 2), w, b, padding=padding)
        return maps.transpose(1, 2)

    return _linear(x, over, weight, bias)


def _linear(x: Bounded, over: Callable[[Any, Any, Any], Any], weight: Any, bias: Any) -> Bounded:
    value = over(x.value, weight, bias)
    if x.low is None:
        return Bounded(value)
    # Two products instead of four: |W|·radius is the sum of what each coordinate can add, and the
    # shift b moves only the centre.
    centre = over((x.low + x.high) / 2, weight, bias)
    radius = over((x.high - x.low) / 2, weight.abs(), None)
    return Bounded(value, centre - radius, centre + radius)


def extremes(projected: Any, choices: Any, first: Any) -> Bounded:
    """Return the smallest box around finitely many points each, exact per coordinate.

    Args:
        projected: every point that occurs, shape (c, h).
        choices: the points that each position may be, shape (u, a).
        first: the point that it is, shape (u,).

    Returns:
        Value and box of each position, shape (u, h).
    """
    options = projected[choices]
    return Bounded(projected[first], options.amin(dim=1), options.amax(dim=1))


def least_margins(x: Bounded, weight: Any, bias: Any, labels: Any) -> Any:
    """Bound the label's score minus each class's from below, for scores W x + b.

    The differences of rows of W are taken before the bound is (Gowal et al. 2018, Section 3): that
    is never worse than the difference of the bounds of two scores, and exact for a box.

    Args:
        x: with a box, shape (k, h).
        weight: shape (m, h).
        bias: shape (m,).
        labels: classes, shape (k,).

    Returns:
        Shape (k, m); 0 for the label itself.
    """
    # Shape (k, m, h): the label's row minus the row of each class.
    difference = weight[labels].unsqueeze(1) - weight.unsqueeze(0)
    shift = bias[labels].unsqueeze(1) - bias.unsqueeze(0)
    centre, radius = (x.low + x.high) / 2, (x.high - x.low) / 2
    einsum = torch().einsum
    middle = einsum("kmh,kh->km", difference, centre) + shift
    return middle - einsum("kmh,kh->km", difference.abs(), radius)


WIDTH = 3
"""Number of words that one unit of the convolution reads."""


class Kind(StrEnum):
    """Kind of text network."""

    CNN = "cnn"
    """One text: convolution, mean, one hidden layer."""
    ENTAILMENT = "entailment"
    """Two texts: sums of words, hidden layers; the words of the second may be replaced."""


@dataclass(frozen=True)
class Shape:
    """Settings that determine the tensors of a network.

    Attributes:
        kind: architecture.
        dimension: d of the word vectors.
        classes: m.
        hidden: units h of a layer.
        layers: hidden layers after the sentence encoder.
        dropout: share of units that training leaves out.
    """

    kind: Kind
    dimension: int
    classes: int
    hidden: int = 100
    layers: int = 1
    dropout: float = 0.2

    def __post_init__(self) -> None:
        """Check the sizes."""
        if str(self.kind) not in list(Kind):
            raise ParameterError(
                f"a text network is one of {', '.join(Kind)}, got {str(self.kind)[:40]!r}"
            )
        object.__setattr__(self, "kind", Kind(self.kind))
        if not (1 <= self.dimension <= MAX_DIMENSION and 1 <= self.hidden <= MAX_DIMENSION):
            raise ParameterError(
                f"a network has vectors and layers of 1 to {MAX_DIMENSION:,} coordinates, got "
                f"{self.dimension} and {self.hidden}"
            )
        if not 2 <= self.classes <= MAX_CLASSES:
            raise ParameterError(
                f"a network tells 2 to {MAX_CLASSES} classes apart, got {self.classes}"
            )
        if not 1 <= self.layers <= 10:
            raise ParameterError(f"a network has 1 to 10 hidden layers, got {self.layers}")
        if not 0 <= self.dropout < 1:
            raise ParameterError(f"dropout is in [0, 1), got {self.dropout}")

    @classmethod
    def usual(cls, kind: Kind, dimension: int, classes: int, hidden: int = 100) -> Shape:
        """Return a shape with the layers and the dropout of the authors' program."""
        cnn = kind is Kind.CNN
        return cls(kind, dimension, classes, hidden, 1 if cnn else 3, 0.2 if cnn else 0.1)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values that `Shape(**…)` reads."""
        return {**asdict(self), "kind": str(self.kind)}

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every trained tensor."""
        h, wide = self.hidden, self.hidden * (2 if self.kind is Kind.ENTAILMENT else 1)
        shapes: dict[str, tuple[int, ...]] = {
            "words.weight": (h, self.dimension),
            "words.bias": (h,),
        }
        if self.kind is Kind.CNN:
            shapes |= {"convolution.weight": (h, h, WIDTH), "convolution.bias": (h,)}
        for i in range(self.layers):
            shapes |= {f"hidden{i}.weight": (wide, wide), f"hidden{i}.bias": (wide,)}
        return shapes | {"scores.weight": (self.classes, wide), "scores.bias": (self.classes,)}

    def start(self, rng: np.random.Generator, device: Any = "cpu") -> dict[str, Any]:
        """Draw initial tensors: uniform on ±1/√(inputs), like torch's own layers."""
        draw = torch_generator(rng)
        tensors = {}
        for name, shape in self.tensors.items():
            # A bias is drawn within the bound of its layer's weights, whose inputs count.
            weights = self.tensors[name.replace(".bias", ".weight")]
            bound = 1 / math.sqrt(math.prod(weights[1:]))
            values = (2 * torch().rand(shape, generator=draw) - 1) * bound
            tensors[name] = values.to(device).requires_grad_()
        return tensors


@dataclass(frozen=True)
class Places:
    """One text of each of k examples in tensors.

    Attributes:
        words: each position after the first linear layer, shape (k, t, h).
        mask: 1 at a word, shape (k, t, 1).
    """

    words: Bounded
    mask: Any


def padded(bags: Bags) -> IntArray:
    """Return the known words of each document in order, padded with −1, shape (k, t).

    Words outside the vocabulary are left out, as in `Bags.counts`.
    """
    known = bags.words >= 0
    document = np.repeat(np.arange(len(bags)), bags.lengths)[known]
    lengths = np.bincount(document, minlength=len(bags))
    starts = np.cumsum(lengths) - lengths
    rows = np.full((len(bags), max(1, int(lengths.max(initial=0)))), -1, dtype=np.int64)
    rows[document, np.arange(document.size) - starts[document]] = bags.words[known]
    return rows


def places(
    words: IntArray,
    tensors: Tensors,
    vectors: NDArray[np.float32],
    substitutions: Substitutions | None = None,
) -> Places:
    """Apply the first linear layer to each position.

    With substitutions the box of a position is the smallest one around the layer's outputs for its
    allowed words: no wider box is taken before, so the linear layer costs nothing (Jia et al.
    2019, Section 3.2).

    Args:
        words: of k texts, −1 for no word, shape (k, t).
        tensors: of the network; their device and type are those of the result.
        vectors: public word vectors, shape (n, d).
        substitutions: allowed substitutes of a word; None allows none, and there is no box.
    """
    weight, bias = tensors["words.weight"], tensors["words.bias"]

    def tensor(array: NDArray[Any]) -> Any:
        return torch().from_numpy(array).to(weight.device)

    def projected(distinct: IntArray) -> Any:
        points = tensor(vectors[distinct]).to(weight.dtype)
        return torch().nn.functional.linear(points, weight, bias)

    mask = tensor(words >= 0).to(weight.dtype).unsqueeze(-1)
    # Every distinct word goes through the layer once, however often it occurs; padding (−1)
    # borrows word 0, which the mask removes again.
    distinct, where = np.unique(np.maximum(words, 0), return_inverse=True)
    place = tensor(where.reshape(words.shape))
    if substitutions is None:
        return Places(Bounded(projected(distinct)[place]), mask)
    candidates, flat = np.unique(substitutions.table(distinct), return_inverse=True)
    choices = flat.reshape(distinct.size, -1)
    itself = tensor(np.ascontiguousarray(choices[:, 0]))  # the first choice of a word
    box = extremes(projected(candidates), tensor(choices), itself)
    return Places(box.each(lambda part: part[place]), mask)


def features(
    shape: Shape,
    tensors: Tensors,
    text: Places,
    premise: Places | None = None,
    draw: Any = None,
) -> Bounded:
    """Compute the last hidden layer; scores are affine in it.

    Args:
        shape: of the network.
        tensors: of the network.
        text: whose words may be replaced.
        premise: the other text of an entailment network, fixed.
        draw: `torch.Generator` of the dropout of a training step; None uses every unit.

    Returns:
        Shape (k, width of the last hidden layer), with a box if the text has one.
    """
    if (premise is not None) != (shape.kind is Kind.ENTAILMENT):
        raise ParameterError("an entailment network reads a premise and a text, the other a text")

    def dropped(x: Bounded) -> Bounded:
        if draw is None or not shape.dropout:
            return x
        # The same units are dropped from the value and its bounds: else the bounds of one draw
        # would not hold for the value of another.
        kept = torch().rand(x.value.shape, generator=draw, device=x.value.device) >= shape.dropout
        return scaled(x, kept / (1 - shape.dropout))

    # The mask is applied after the ReLU: the bias has changed the padding too.
    x = scaled(relu(text.words), text.mask)
    if premise is None:
        x = convolved(x, tensors["convolution.weight"], tensors["convolution.bias"])
        # A text without known words has no position to average over: its mean is 0.
        lengths = text.mask.sum(dim=1, keepdim=True).clamp(min=1)
        x = dropped(summed(scaled(relu(x), text.mask / lengths), 1))
    else:
        other = scaled(relu(premise.words), premise.mask)
        x = joined(summed(other, 1), summed(x, 1))
    for i in range(shape.layers):
        x = relu(affine(x, tensors[f"hidden{i}.weight"], tensors[f"hidden{i}.bias"]))
        x = dropped(x)
    return x
