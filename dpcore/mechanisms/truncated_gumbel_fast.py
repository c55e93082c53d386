"""The truncated Gumbel law in probabilities, for about half a millisecond a word.

The integrals of `truncated_gumbel_law` with u = t + c, where −c is the place below which no
survival function differs from 1, and with the hazard g = f/S:

    P(u_i) = ∫ g(u − c − d_i) · Σ_{k ≥ i} π_k Π_{j ≤ k} S(u − c − d_j) du,    u > d_i.

The counts k < n involve a few nearest words only. The term of the whole vocabulary has weight
π_n ≈ 1/n, so it bears a larger error. Up to the first far word it shares the nodes of the other
terms; from there on it is computed on a grid (`truncated_gumbel_grid`), refined until half as
many cells would do and the probabilities sum to 1.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.mechanisms.truncated_gumbel_grid import far_integrals, whole_end
from dpcore.mechanisms.truncated_gumbel_noise import FloatArray, nodes, noise_of

_LEFT_OUT = 4e-12  # mass of the counts that are left out
_MOST_CANDIDATES = 80
_NEAR = 40  # words that are not put on the grid, at least
_NEAR_TIMES_WORDS = 50_000  # and more in a smaller vocabulary
_CELL = 0.04  # width of a grid cell in units of b, at most
_FEWEST, _MOST = 64, 4000  # cells
_DOUBT = 2e-10  # by how much a probability may change from cells of twice the width
_ASTRAY = 1e-8  # by how much the sum of the probabilities may differ from 1
_STEEP = np.array([1 / 128, 1 / 32, 1 / 12, 1 / 4])  # panels behind the last kink of all words


def _candidates(weights: FloatArray) -> int:
    """How many nearest words the counts below n involve, −1 if too many."""
    head = weights[: min(_MOST_CANDIDATES, weights.size - 1)]
    if float(weights[head.size : -1].sum()) > 0.5 * _LEFT_OUT:
        return -1
    return int((np.cumsum(head[::-1]) > 0.5 * _LEFT_OUT).sum())


def fast_law(d: FloatArray, weights: FloatArray, b: float, bound: float) -> FloatArray | None:
    """P(u_i), shape (n,); None where this route cannot vouch for its error.

    Args:
        d: sorted distances, d[0] = 0, shape (n,).
        weights: P(K = k) for k = 1..n, shape (n,).
        b: noise scale.
        bound: C, at least d[-1].
    """
    used = _candidates(weights)
    if used < 0:
        return None
    noise = noise_of(b, bound)
    near = min(max(_NEAR, used, _NEAR_TIMES_WORDS // d.size), d.size)
    first = min(float(d[near]), noise.end) if near < d.size else noise.end
    kinks = d[1:near] if noise.kinked else d[:0]
    if near == d.size:  # behind the last kink the product of all falls steeply
        kinks = np.append(kinks, d[-1] + (first - d[-1]) * _STEEP)
    ends = [first, noise.end] if first < noise.end else [first]
    u, w = nodes(noise, np.concatenate(([0.0], kinks[kinks < first], ends)), d[:near])
    survival, hazard = noise.parts(d[:near], u)
    products = np.cumprod(survival, axis=0)
    # K = n before the first far word, then K < n everywhere.
    law = np.zeros(d.size)
    share = float(weights[-1])
    whole = share * (hazard @ (w * products[-1] * (u < first)))
    terms = products[:used] * weights[:used, None]
    np.cumsum(terms[::-1], axis=0, out=terms[::-1])
    terms *= hazard[:used]
    law[:used] = terms @ w
    if first < noise.end and share > 0:
        stop = whole_end(noise, d, near)
        cells = max(_FEWEST, 2 * math.ceil((stop - first) / (2.0 * _CELL * noise.scale)))
        before = float(whole.sum())
        doubt = astray = math.inf
        while not (doubt < _DOUBT and astray < _ASTRAY):
            if cells > _MOST:
                return None
            head, far, change = far_integrals(noise, d, near, stop, cells)
            doubt = share * change
            astray = abs(before + share * (float(head.sum() + far.sum()) - 1.0))
            cells *= 4
        whole += share * head
        law[near : near + far.size] = share * np.maximum(far, 0.0)
    law[:near] += whole
    return law
