"""The two text networks of Jia et al. 2019 that Xu et al. 2021 train, as functions of tensors.

Both read fixed public word vectors through one trained linear layer and a ReLU, so that the box of
a word's allowed substitutes is exact after the linear layer and loose only from the ReLU on.

Sizes and layers follow the authors' program (github.com/robinjia/certified-word-sub, src/
text_classification.py and entailment.py): the sentence encoder of the first is a convolution of
width 3 and a mean over the places, of the second a sum of words; the entailment network puts the
two sums side by side and passes them through three hidden layers. The classes have one score each,
also where there are two of them (the authors: one score).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import ParameterError
from dpcore.learn.packages import torch
from dpcore.learn.tensors import torch_generator
from dpcore.learn.text_network.interval import (
    Bounded,
    affine,
    convolved,
    extremes,
    joined,
    relu,
    scaled,
    summed,
)
from dpcore.limits import MAX_CLASSES, MAX_DIMENSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcore.arrays import IntArray
    from dpcore.learn.bags import Bags
    from dpcore.learn.substitutions import Substitutions

    Tensors = Mapping[str, Any]

WIDTH = 3
"""Words that one unit of the convolution sees."""


class Kind(StrEnum):
    """Which network."""

    CNN = "cnn"
    """One text: convolution, mean, one hidden layer."""
    ENTAILMENT = "entailment"
    """Two texts: sums of words, hidden layers; the words of the second may be replaced."""


@dataclass(frozen=True)
class Shape:
    """What fixes the tensors of a network.

    Attributes:
        kind: which network.
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
        """The layers and the dropout of the authors' program for each network."""
        cnn = kind is Kind.CNN
        return cls(kind, dimension, classes, hidden, 1 if cnn else 3, 0.2 if cnn else 0.1)

    def to_json(self) -> dict[str, Any]:
        """JSON values that `Shape(**…)` reads."""
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
        """Tensors to begin training with: uniform on ±1/√(inputs), as torch's own layers begin."""
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
        words: what each place is after the first linear layer, shape (k, t, h).
        mask: 1 where a word stands, shape (k, t, 1).
    """

    words: Bounded
    mask: Any


def padded(bags: Bags) -> IntArray:
    """The known words of each document in order, shape (k, t); −1 behind the last one.

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
    """What the first linear layer makes of each place.

    With substitutions the box of a place is the smallest one around what the layer makes of its
    allowed words: no wider box is looked at before, so the linear layer costs nothing (Jia et al.
    2019, Section 3.2).

    Args:
        words: of k texts, −1 for no word, shape (k, t).
        tensors: of the network; their device and type are those of the result.
        vectors: public word vectors, shape (n, d).
        substitutions: what may become of a word; None: nothing, and there is no box.
    """
    weight, bias = tensors["words.weight"], tensors["words.bias"]

    def tensor(array: NDArray[Any]) -> Any:
        return torch().from_numpy(array).to(weight.device)

    def projected(distinct: IntArray) -> Any:
        points = tensor(vectors[distinct]).to(weight.dtype)
        return torch().nn.functional.linear(points, weight, bias)

    mask = tensor(words >= 0).to(weight.dtype).unsqueeze(-1)
    # Every distinct word goes through the layer once, however often it stands in the texts; an
    # empty place (−1) borrows word 0, which the mask takes away again.
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
    """The last hidden layer; scores are affine in it.

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
        # The same units are left out of the value and of its bounds: else the bounds of one draw
        # would not hold for the value of another.
        kept = torch().rand(x.value.shape, generator=draw, device=x.value.device) >= shape.dropout
        return scaled(x, kept / (1 - shape.dropout))

    # The mask goes on after the ReLU: the bias has made something of the empty places too.
    x = scaled(relu(text.words), text.mask)
    if premise is None:
        x = convolved(x, tensors["convolution.weight"], tensors["convolution.bias"])
        # A text without known words has no place to average over: its mean is 0.
        lengths = text.mask.sum(dim=1, keepdim=True).clamp(min=1)
        x = dropped(summed(scaled(relu(x), text.mask / lengths), 1))
    else:
        other = scaled(relu(premise.words), premise.mask)
        x = joined(summed(other, 1), summed(x, 1))
    for i in range(shape.layers):
        x = relu(affine(x, tensors[f"hidden{i}.weight"], tensors[f"hidden{i}.bias"]))
        x = dropped(x)
    return x
