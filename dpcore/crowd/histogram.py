"""All words at once: the most likely histogram, and undone counts with their standard errors.

The most likely histogram c maximises Σ_y o_y·ln (Pᵀc)_y over all c ≥ 0 with the sum of the outputs.
Its steps c ← c·P(o/(Pᵀc)) never lower the likelihood (the EM algorithm; for randomised data
Agrawal and Aggarwal 2001, for local privacy the iterative Bayesian update of ElSalamouny and
Palamidessi 2020). It has no negative counts and is nearer to the truth for rare words, and it is
biased: beside it stand the undone counts, Pᵀĉ = o, which are not.

Their standard errors come from the same equation: with o·ξ, ξ normal numbers of variance 1/o, each
solution is a draw of the noise, and the mean square of R of them has the law of chi-squared with R
degrees of freedom around the variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.arrays import BoolArray, FloatArray
from dpcore.attack.output.operators import Operator, operator_of
from dpcore.crowd.estimates import OutputCounts
from dpcore.crowd.undo import EXACT, residual_steps
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator

_STEPS, _SLOW_STEPS = 2_000, 40
_GAIN = 1e-7  # of the likelihood of a word, in a step, at which the histogram is found
_SOLUTION_STEPS = 60
_DRAWS = 64  # of the noise: a standard error is known to 9 %


def most_likely(
    mechanism: Mechanism,
    epsilon: float,
    observed: OutputCounts,
    *,
    used: BoolArray | None = None,
    progress: Progress = silent,
) -> FloatArray:
    """Return the most likely word counts of each group, shape (G, n), at least 0.

    Args:
        mechanism: with an exact law and a promise that is not refuted.
        epsilon: of the private texts.
        observed: outputs by group.
        used: as for `dpcore.crowd.undo.undo`.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: the noise cannot be undone.
        EpsilonError: ε is not admissible.
    """
    operator = operator_of(mechanism, epsilon, progress)
    allowed = np.ones(operator.n, dtype=bool) if used is None else used
    outputs = observed.outputs.T.astype(np.float64) * allowed[:, None]
    total = np.maximum(outputs.sum(axis=0), 1.0)
    counts = np.outer(allowed / allowed.sum(), total)
    before = np.full(total.size, -np.inf)
    # The probability that a word comes out as one that is used is divided out.
    reach = operator.times(allowed[:, None].astype(np.float64))
    reach = np.where(allowed[:, None], np.maximum(reach, 1e-300), 1.0)
    limit = _SLOW_STEPS if operator.slow else _STEPS
    for step in range(1, limit + 1):
        expected = operator.transposed(counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(outputs > 0, outputs / expected, 0.0)
            likelihood = np.where(outputs > 0, outputs * np.log(expected), 0.0).sum(axis=0)
        counts = counts * operator.times(ratio) / reach
        progress("finding the most likely words", step, limit)
        if np.all(likelihood - before <= _GAIN * total):
            break
        before = likelihood
    return np.asarray(counts.T)


@dataclass(frozen=True, eq=False)
class AllCounts:
    """Undone counts of all words; arrays of shape (G, n).

    Attributes:
        counts: ĉ, unbiased, perhaps below 0.
        errors: standard errors of `counts`, each from `draws` draws of the noise; too small for a
            word that never came out.
        draws: degrees of freedom of an error.
    """

    counts: FloatArray
    errors: FloatArray
    draws: int = _DRAWS


def all_counts(
    mechanism: Mechanism,
    epsilon: float,
    observed: OutputCounts,
    *,
    used: BoolArray | None = None,
    like: Sequence[int] | None = None,
    progress: Progress = silent,
) -> AllCounts:
    """Undo the counts of all words in every group, by one solution for all of them.

    Args:
        mechanism: whose law is a symmetric kernel up to weights, such as k-ary or tem.
        epsilon: of the private texts.
        observed: outputs by group.
        used: as for `dpcore.crowd.undo.undo`.
        like: for each group the number of one whose texts are of the same kind, and more: the noise
            is drawn for that one, and is in proportion to how often a word came out; each group
            itself if None.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: the noise cannot be undone, or not for all words at once.
        EpsilonError: ε is not admissible.
    """
    operator = operator_of(mechanism, epsilon, progress)
    allowed = np.ones(operator.n, dtype=bool) if used is None else used
    if operator.weights is None or not np.all(operator.weights[allowed] > 0):
        raise ParameterError(
            f"the counts of all words are not undone at once for {mechanism.short}: some words "
            "cannot be told apart; ask for words or lists, or take k-ary or tem"
        )
    outputs = observed.outputs.T.astype(np.float64) * allowed[:, None]
    groups = outputs.shape[1]
    model = np.arange(groups) if like is None else np.asarray(like)
    models, place = np.unique(model, return_inverse=True)
    # The draws are of the error alone: the same texts give the same errors.
    normal = generator(0, "errors of counts").normal(size=(_DRAWS, operator.n, 1))
    noise = [np.sqrt(outputs[:, models]) * draw for draw in normal]
    solved = _transposed_solution(
        operator, np.concatenate([outputs, *noise], axis=1), allowed, progress
    )  # fmt: skip
    counts = solved[:, :groups]
    squares = (solved[:, groups:].reshape(operator.n, _DRAWS, models.size) ** 2).mean(axis=1)
    squares = squares[:, place]
    if like is not None:  # of h² nearly all is that of the word itself
        squares = squares * (outputs / np.maximum(outputs[:, model], 1.0))
    # Σ h² estimates the variance and the count itself: what stays is the noise.
    errors = np.sqrt(np.maximum(squares - np.maximum(counts, 0.0), 0.25 * squares))
    return AllCounts(np.asarray(counts.T), np.asarray(errors.T))


def _transposed_solution(
    operator: Operator, right: FloatArray, used: BoolArray, progress: Progress
) -> FloatArray:
    """Solve Pᵀc = o: with P = K·diag(a) over z, K(c/z) = o/a, as for queries."""
    # The law of k-ary response, which has a closed form, is symmetric.
    closed = operator.undone(right, used)
    if closed is not None:
        return closed
    both = operator.weights * operator.scale  # type: ignore[operator]
    targets = right / both[:, None]
    size = np.maximum(np.abs(targets).max(axis=0), 1e-300)
    solution = np.zeros_like(targets)
    steps = residual_steps(operator, targets / size, used, progress)
    for step, (values, left, unsure) in zip(range(1, _SOLUTION_STEPS + 1), steps, strict=False):
        progress("undoing all counts", step, _SOLUTION_STEPS)
        solution = values
        if np.all(np.abs(left).max(axis=0) + unsure <= EXACT):
            break
    return np.asarray(solution * size * both[:, None])
