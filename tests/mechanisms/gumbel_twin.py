"""The truncated Gumbel law as its integral says: every word, every kink, fine panels."""

import itertools
import math

import numpy as np
from scipy import integrate

from dpcore.arrays import FloatArray


def survival_and_density(t: FloatArray, b: float, c: float) -> tuple[FloatArray, FloatArray]:
    """S(t) and f(t) of Gumbel(0, b) on [−c, c] for t ≤ c, from z = e^{−t/b} − e^{−c/b}."""
    inside = np.maximum(t, -c)
    if c == math.inf:
        z, mass = np.exp(-inside / b), 1.0
    else:
        z = math.exp(-c / b) * np.expm1((c - inside) / b)
        mass = -math.expm1(-2.0 * math.sinh(c / b))
    return -np.expm1(-z) / mass, np.where(t >= -c, np.exp(-inside / b - z) / (b * mass), 0.0)


def _panels(low: float, high: float, kinks: FloatArray, widest: float) -> FloatArray:
    inside = kinks[(kinks > low) & (kinks < high)]
    pieces = math.ceil((high - low) / widest)
    return np.union1d(np.linspace(low, high, pieces + 1), inside)


def _nodes(edges: FloatArray, order: int) -> list[tuple[FloatArray, FloatArray]]:
    x, w = np.polynomial.legendre.leggauss(order)
    parts = []
    for start in range(0, edges.size - 1, 100):
        half = np.diff(edges[start : start + 101]) / 2.0
        middle = edges[start : start + half.size] + half
        parts.append(((middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()))
    return parts


def _fallen(low: float, high: float, depth: float, d: FloatArray, b: float, c: float) -> float:
    """The t at which Π S has fallen by `depth` nats, by bisection."""
    for _ in range(40):
        t = 0.5 * (low + high)
        total = np.log(survival_and_density(np.full(d.size, t) - d, b, c)[0]).sum()
        low, high = (t, high) if total > -depth else (low, t)
    return high


def fine_law(
    d: FloatArray, weights: FloatArray, b: float, c: float, order: int = 8, depth: float = 700.0
) -> FloatArray:
    """P(u_i), shape (n,): composite Gauss–Legendre with a panel between any two kinks.

    Beyond the t where Π S has fallen by `depth` nats the term of K = n is left out.
    """
    low, high = max(-c, -b * math.log(60.0)), min(c, d[-1] + 45.0 * b)
    widest = min(b / 3.0, c / 40.0)
    # The density jumps by e^(−e^(c/b)) at a kink: from c = 4b on that is below 1e-23.
    kinks = d - c if c < 4.0 * b else d[:0]
    law = np.zeros(d.size)
    head = max(1, int(np.count_nonzero(weights[:-1] > 1e-25)))
    for t, share in _nodes(_panels(low, high, kinks[:head], widest), order):
        s, f = survival_and_density(t[:, None] - d[:head], b, c)
        products = np.cumprod(s, axis=1) * weights[: d.size - 1][:head]
        law[:head] += share @ (f / s * np.cumsum(products[:, ::-1], axis=1)[:, ::-1])
    stop = _fallen(low, high, depth, d, b, c)
    seen = int((d < stop + c).sum())
    # Where thousands of words start at once the product falls within a small part of the range.
    for t, share in _nodes(_panels(low, stop, kinks, min(widest, (stop - low) / 400)), order):
        s, f = survival_and_density(t[:, None] - d[:seen], b, c)
        law[:seen] += weights[-1] * (share * np.exp(np.log(s).sum(axis=1))) @ (f / s)
    return law


def adaptive_law(d: FloatArray, weights: FloatArray, b: float, c: float) -> FloatArray:
    """P(u_i), shape (n,), each entry by adaptive quadrature of the definition, for few words."""

    def integrand(t: float, i: int) -> float:
        s, f = survival_and_density(np.array(t) - d, b, c)
        others = [weights[k - 1] * np.prod(np.delete(s[:k], i)) for k in range(i + 1, d.size + 1)]
        return float(f[i] * np.sum(others))

    edges = np.unique(np.concatenate((np.clip(d - c, -c, c), [0.0, c])))
    if c == math.inf:
        edges = np.linspace(-4.0 * b, d[-1] + 45.0 * b, 30)
    return np.array(
        [
            sum(
                integrate.quad(integrand, lo, hi, args=(i,), epsabs=1e-14, epsrel=1e-12)[0]
                for lo, hi in itertools.pairwise(edges)
            )
            for i in range(d.size)
        ]
    )
