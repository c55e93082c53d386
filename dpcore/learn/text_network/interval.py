"""Interval bound propagation: a value, and a box that holds whatever it may become.

Gowal et al. 2018; for words Jia et al. 2019, Section 3. Every function takes the value through a
layer and, if there is a box, the box through interval arithmetic: for an affine map the centre by W
and the radius by |W|, for a monotone function both ends. The box of the outcome holds every outcome
of every point of the box before, so a bound is valid, and it is differentiable, so that a network
can be trained for it. Sums round: a bound is off by the rounding of its sums, and a margin counts
as positive only beyond that (`dpcore.learn.text_network.classifier`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.learn.packages import torch

if TYPE_CHECKING:
    from collections.abc import Callable


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
        """The same non-decreasing function of the value and both ends."""
        if self.low is None:
            return Bounded(change(self.value))
        return Bounded(change(self.value), change(self.low), change(self.high))

    def narrowed(self, share: float) -> Bounded:
        """The box shrunk around the value: ends at `share` of their distance from it."""
        if self.low is None or share == 1:
            return self
        return Bounded(
            self.value,
            self.value + share * (self.low - self.value),
            self.value + share * (self.high - self.value),
        )


def relu(x: Bounded) -> Bounded:
    """max(x, 0)."""
    return x.each(torch().relu)


def scaled(x: Bounded, factor: Any) -> Bounded:
    """x times factors ≥ 0 that are broadcast: masks, dropout, means."""
    return x.each(lambda part: part * factor)


def summed(x: Bounded, dimension: int) -> Bounded:
    """Sum over one dimension."""
    return x.each(lambda part: part.sum(dim=dimension))


def joined(first: Bounded, second: Bounded) -> Bounded:
    """Side by side in the last dimension; a part without a box is fixed."""
    value = torch().cat((first.value, second.value), dim=-1)
    if first.low is None and second.low is None:
        return Bounded(value)
    boxes = [
        x if x.low is not None else Bounded(x.value, x.value, x.value) for x in (first, second)
    ]
    low = torch().cat([x.low for x in boxes], dim=-1)
    return Bounded(value, low, torch().cat([x.high for x in boxes], dim=-1))


def affine(x: Bounded, weight: Any, bias: Any) -> Bounded:
    """W x + b over the last dimension, W of shape (out, in)."""
    return _linear(x, lambda part, w, b: torch().nn.functional.linear(part, w, b), weight, bias)


def convolved(x: Bounded, weight: Any, bias: Any) -> Bounded:
    """A convolution over places that keeps their number.

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
    # shift b moves the centre alone.
    centre = over((x.low + x.high) / 2, weight, bias)
    radius = over((x.high - x.low) / 2, weight.abs(), None)
    return Bounded(value, centre - radius, centre + radius)


def extremes(projected: Any, choices: Any, first: Any) -> Bounded:
    """The smallest box around finitely many points each: exact, coordinate by coordinate.

    Args:
        projected: every point that occurs, shape (c, h).
        choices: which of them each place may be, shape (u, a).
        first: which one it is, shape (u,).

    Returns:
        Value and box of each place, shape (u, h).
    """
    options = projected[choices]
    return Bounded(projected[first], options.amin(dim=1), options.amax(dim=1))


def least_margins(x: Bounded, weight: Any, bias: Any, labels: Any) -> Any:
    """Lower bounds of the label's score less each class's, for scores W x + b.

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
    # Shape (k, m, h): what a row of the label has more than the row of each class.
    difference = weight[labels].unsqueeze(1) - weight.unsqueeze(0)
    shift = bias[labels].unsqueeze(1) - bias.unsqueeze(0)
    centre, radius = (x.low + x.high) / 2, (x.high - x.low) / 2
    einsum = torch().einsum
    middle = einsum("kmh,kh->km", difference, centre) + shift
    return middle - einsum("kmh,kh->km", difference.abs(), radius)
