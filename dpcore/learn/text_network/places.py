"""Texts as tensors: padded places, and the first layer of a network with its exact box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.learn.packages import torch
from dpcore.learn.text_network.interval import Bounded, extremes
from dpcore.learn.text_network.network import Places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcore.learn.bags import Bags
    from dpcore.learn.substitutions import Substitutions

    IntArray = NDArray[np.int64]


def padded(bags: Bags) -> IntArray:
    """The known words of each document in order, shape (k, t); −1 behind the last one.

    Words outside the vocabulary are left out, as in `Bags.counts`.
    """
    known = bags.words >= 0
    document = np.repeat(np.arange(len(bags)), bags.lengths)[known]
    lengths = np.bincount(document, minlength=len(bags))
    starts = np.cumsum(lengths) - lengths
    found = np.full((len(bags), max(1, int(lengths.max(initial=0)))), -1, dtype=np.int64)
    found[document, np.arange(document.size) - starts[document]] = bags.words[known]
    return found


def places(
    words: IntArray,
    tensors: Mapping[str, Any],
    vectors: NDArray[np.float32],
    substitutions: Substitutions | None = None,
) -> Places:
    """What the first linear layer makes of each place.

    Every distinct word is taken through the layer once. With substitutions the box of a place is
    the smallest one around what the layer makes of its allowed words: no wider box is looked at
    before, so the linear layer costs nothing (Jia et al. 2019, Section 3.2).

    Args:
        words: of k texts, −1 for no word, shape (k, t).
        tensors: of the network; their device and type are those of the result.
        vectors: public word vectors, shape (n, d).
        substitutions: what may become of a word; None: nothing, and there is no box.
    """
    weight, bias = tensors["words.weight"], tensors["words.bias"]

    def tensor(array: NDArray[Any]) -> Any:
        return torch().from_numpy(array).to(weight.device)

    mask = tensor(words >= 0).to(weight.dtype).unsqueeze(-1)
    distinct, at = np.unique(np.maximum(words, 0), return_inverse=True)
    place = tensor(at.reshape(words.shape))
    linear = torch().nn.functional.linear
    if substitutions is None:
        found = linear(tensor(vectors[distinct]).to(weight.dtype), weight, bias)
        return Places(Bounded(found[place]), mask)
    candidates, flat = np.unique(substitutions.table(distinct), return_inverse=True)
    choices = flat.reshape(distinct.size, -1)
    projected = linear(tensor(vectors[candidates]).to(weight.dtype), weight, bias)
    box = extremes(projected, tensor(choices), tensor(np.ascontiguousarray(choices[:, 0])))
    return Places(box.each(lambda part: part[place]), mask)
