"""The channel undone: functions h of outputs whose mean, given a word, is a query g of that word.

If P h = g, then Σ h(y_i) over the outputs has the mean Σ g(w_i) over the words, whatever these are
(`docs/crowd.md`, Theorem 1; for randomised response Warner 1965, for any invertible channel
Agrawal and Aggarwal 2001). For any h at all the mean is off by Σ_w c_w·(P h − g)(w), c_w the number
of times that w occurs: so what is left of P h − g is computed in double precision, kept, and stated
with every estimate.

P h = g has a closed form for k-ary response. Where P is a symmetric kernel up to weights it is
solved by conjugate residuals (one product a step; Saad 2003, Algorithm 6.20), preconditioned by an
approximate inverse where the kernel has one (`Operator.near_inverse`), else by conjugate gradients
on the least-squares problem (two products; Björck 1996, Algorithm 7.4.1). Where P is singular or
nearly so, more steps reduce the bias and add noise: of all steps the one is taken whose expected
error is least for as many words as there are, as common as they are in the language. That choice
depends on public numbers alone, and on the number of words, which a private copy shows anyway.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.output.operators import Operator, check_countable, operator_of, response_of
from dpcore.crowd.queries import Queries
from dpcore.errors import LexiconError
from dpcore.lexicon.cache import CacheEntry, keep, recall
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.mechanism import Mechanism

EXACT = 1e-6
"""Largest |P h − g| of a query that counts as undone: a millionth of a word for each word."""
_STEPS, _SLOW_STEPS = 400, 40  # at most, of a solution; where a product takes a pass over all pairs
_PATIENCE = 12  # steps without a smaller expected error, after which a solution ends
_ROUGH = 3e-4  # part of the residual that steps in single precision may leave
_UNSURE = 1e-5  # part of it that they are off by at most: a product is off by some 1.5e-6
_VERSION = 6  # of the solutions here: another one makes what is in the cache unknown
_TOGETHER = 500  # queries that are solved together: 25,000 words, some 900 MB


@dataclass(frozen=True, eq=False)
class Estimators:
    """Functions of outputs that estimate queries.

    Attributes:
        queries: the queries g.
        values: h, shape (n, m), float32; 0 for outputs that are not used.
        over: functions of outputs with P·over ≥ |P h − g| for every word: their sums bound the
            bias; shape (n, m), float32.
        squares: h₂ with P h₂ = g², shape (n, m), float32; None where g is 0 or 1, so that h₂ = h.
        worst: largest |P h − g| of each query, shape (m,).
        outputs: expected share of each output in texts as common as the language, shape (n,).
        chances: probability that an output is one of a query's words, if the word was one and if
            not, shape (2, m); None where these two are not known to be all.
    """

    queries: Queries
    values: NDArray[np.float32]
    over: NDArray[np.float32]
    squares: NDArray[np.float32] | None
    worst: FloatArray
    outputs: FloatArray
    chances: FloatArray | None = None

    def only(self, columns: IntArray) -> Estimators:
        """Return the same for some of the queries, in this order."""
        return Estimators(
            self.queries.only(columns),
            self.values[:, columns],
            self.over[:, columns],
            None if self.squares is None else self.squares[:, columns],
            self.worst[columns],
            self.outputs,
            None if self.chances is None else self.chances[:, columns],
        )

    @property
    def unbiased(self) -> BoolArray:
        """True for queries that are undone, up to `EXACT`; shape (m,)."""
        return np.asarray(self.worst <= EXACT)

    @cached_property
    def per_word(self) -> FloatArray:
        """Expected h² of an output in texts as common as the language, shape (m,)."""
        return np.array(
            [float(self.outputs @ column.astype(np.float64) ** 2) for column in self.values.T]
        )


def undo(
    mechanism: Mechanism,
    epsilon: float,
    queries: Queries,
    total: float | FloatArray,
    *,
    used: BoolArray | None = None,
    progress: Progress = silent,
) -> Estimators:
    """Return functions of outputs that estimate queries; kept in the cache where that takes long.

    Args:
        mechanism: with an exact law and a promise that is not refuted.
        epsilon: of the private texts.
        queries: over the mechanism's lexicon.
        total: number of words that will be counted, one for all queries or one for each; it
            matters where P has no inverse.
        used: words that go through the mechanism, and outputs that are told from others, shape
            (n,); all if None.
        progress: called with (stage, done, all).

    Raises:
        ParameterError: the mechanism has no law that can be undone.
        EpsilonError: ε is not admissible.
    """
    value = mechanism.check_epsilon(epsilon)
    check_countable(mechanism, value)
    totals = np.broadcast_to(np.asarray(total, dtype=np.float64), len(queries)).tolist()
    # To the next power of four: files of nearly one size share a solution.
    expected = np.array([4.0 ** math.ceil(math.log(max(1.0, each), 4.0)) for each in totals])
    response = response_of(mechanism, value)
    quick = response is not None  # a closed form
    name = _name(mechanism, value, queries, expected, used)
    fingerprint = mechanism.lexicon.fingerprint
    entry = None if quick or name is None else recall(fingerprint, name)
    if entry is not None:
        arrays = dict(entry.arrays)
        return Estimators(queries, **({"squares": None} | arrays))  # type: ignore[arg-type]
    operator = operator_of(mechanism, value, progress)
    # Half by the language and half all alike, so that no word goes without weight.
    frequency = 0.5 * frequencies(mechanism.lexicon) + 0.5 / len(mechanism.lexicon)
    used = np.ones(operator.n, dtype=bool) if used is None else used
    outputs = operator.transposed((frequency * used)[:, None])[:, 0]
    parts = [
        _undone(operator, part, frequency, outputs, some, used, progress)
        for part, some in zip(
            queries.parts(_TOGETHER),
            np.split(expected, range(_TOGETHER, len(queries), _TOGETHER)),
            strict=True,
        )
    ]
    estimators = _joined(queries, parts)
    if response is not None and queries.binary and used.all():
        excess, each = response
        by_chance = each * np.array([places.size for places in queries.places])
        estimators = replace(estimators, chances=np.stack((excess + by_chance, by_chance)))
    if not quick and name is not None:
        fields = ("values", "over", "squares", "worst", "outputs")
        arrays = {name: getattr(estimators, name) for name in fields}
        arrays = {name: array for name, array in arrays.items() if array is not None}
        keep(fingerprint, name, CacheEntry(arrays, {}))
    return estimators


def _joined(queries: Queries, parts: list[Estimators]) -> Estimators:
    if len(parts) == 1:
        return replace(parts[0], queries=queries)
    squares = [part.squares for part in parts]
    return Estimators(
        queries,
        np.concatenate([part.values for part in parts], axis=1),
        np.concatenate([part.over for part in parts], axis=1),
        None if squares[0] is None else np.concatenate(squares, axis=1),  # type: ignore[arg-type]
        np.concatenate([part.worst for part in parts]),
        parts[0].outputs,
    )


def _name(
    mechanism: Mechanism,
    epsilon: float,
    queries: Queries,
    totals: FloatArray,
    used: BoolArray | None,
) -> str | None:
    """Return the name of a solution in the cache; None for the code of other people."""
    # The key of a mechanism names its law; code of other people may change under the same key.
    if not type(mechanism).__module__.startswith("dpcore."):
        return None
    digest = hashlib.sha256()
    several = np.unique(totals).tolist()
    total = several[0] if len(several) == 1 else totals.tolist()
    law = json.dumps([_VERSION, mechanism.key, mechanism.settings(), epsilon, total])
    digest.update(law.encode())
    digest.update(queries.digest)
    digest.update(b"" if used is None else np.packbits(used).tobytes())
    return f"undone-{digest.hexdigest()[:20]}"


def frequencies(lexicon: Lexicon) -> FloatArray:
    """Return the shares of the words in the language, shape (n,); all alike if not known."""
    try:
        return word_frequencies(lexicon)
    except LexiconError:
        return np.full(len(lexicon), 1.0 / len(lexicon))


def _undone(
    operator: Operator,
    queries: Queries,
    frequency: FloatArray,
    outputs: FloatArray,
    totals: FloatArray,
    used: BoolArray,
    progress: Progress,
) -> Estimators:
    """Solve for some queries together."""
    targets = queries.matrix()
    m = targets.shape[1]
    both = targets if queries.binary else np.concatenate((targets, targets**2), axis=1)
    both = both * used[:, None]
    solved = _solve(
        operator, both, frequency, outputs, np.resize(totals, both.shape[1]), used, progress
    )
    values = solved.astype(np.float32)
    # In double precision, for the very numbers that are used.
    means, off = operator.enclosed(values[:, :m].astype(np.float64), progress)
    left = (np.abs(means - both[:, :m]) + off) * used[:, None]
    worst = left.max(axis=0)
    over = np.repeat(worst[None], operator.n, axis=0)
    short = worst > EXACT
    if short.any():
        # The same once more: what is left is a query itself, and small.
        second = _solve(
            operator, left[:, short], frequency, outputs, totals[short], used, progress
        ).astype(np.float32)  # fmt: skip
        means, off = operator.enclosed(second.astype(np.float64), progress)
        shortfall = np.maximum((left[:, short] + off - means) * used[:, None], 0.0).max(axis=0)
        over[:, short] = second + shortfall
    # Rounded upwards: a constant has itself as its mean.
    over = (over + 1e-6 * np.abs(over).max(axis=0)).astype(np.float32)
    squares = None if queries.binary else values[:, m:]
    return Estimators(queries, values[:, :m], over, squares, worst, outputs)


def _solve(
    operator: Operator,
    targets: FloatArray,
    frequency: FloatArray,
    outputs: FloatArray,
    totals: FloatArray,
    used: BoolArray,
    progress: Progress,
) -> NDArray[np.floating]:
    """Return h of the step with the least expected error, for each query by itself."""
    closed = operator.undone(targets, used)
    if closed is not None:
        return closed
    weights = operator.weights
    if weights is not None and np.all(weights[used] > 0):
        steps = residual_steps(operator, targets, used, progress)
    else:
        steps = _least_squares(operator, targets, frequency, outputs, used, progress)
    best = np.zeros(targets.shape, dtype=np.float32)
    least = np.full(targets.shape[1], math.inf)
    since = np.zeros(targets.shape[1], dtype=np.int64)
    # Each query ends by itself, so that none waits for another.
    active = np.arange(targets.shape[1])
    limit = _SLOW_STEPS if operator.slow else _STEPS
    values, residual, unsure = next(steps)
    for step in range(1, limit + 1):
        total = totals[active]
        # Half the width that an interval will have: two standard errors, and the bias.
        noise = np.sqrt(total * np.einsum("i,ij,ij->j", outputs, values, values))
        left = np.abs(residual, out=residual)
        error = 2.0 * noise + total * (frequency @ left)
        done = left.max(axis=0) + unsure <= 0.3 * EXACT
        better = (error < least[active] * (1.0 - 1e-9)) | done
        best[:, active[better]] = values[:, better]
        least[active] = np.where(better, error, least[active])
        since[active] = np.where(better, 0, since[active] + 1)
        goes_on = ~done & (since[active] < _PATIENCE)
        progress("undoing the noise", step, limit)
        if step == limit or not goes_on.any():
            break
        active = active[goes_on]
        values, residual, unsure = steps.send(goes_on)
    return best


Steps = Generator[tuple[FloatArray, FloatArray, FloatArray], BoolArray | None]
"""Yields h, P h − g and what its largest number may be off by, shapes (n, m), (n, m) and (m,).

After each step; the first two are the caller's to change. It is told which columns go on."""


def _going_on(keep: BoolArray | None, *columns: FloatArray) -> tuple[FloatArray, ...]:
    """Return the columns that go on, of arrays of shape (n, m) or (m,)."""
    return columns if keep is None or keep.all() else tuple(each[..., keep] for each in columns)


def residual_steps(
    operator: Operator, targets: FloatArray, used: BoolArray, progress: Progress
) -> Steps:
    """Solve K x = z·g, x = a·h, by conjugate residuals, begun again where they are too rough."""
    mask = used[:, None]
    weights = operator.weights[:, None]  # type: ignore[index]
    near = operator.near_inverse(used, progress)
    scale = operator.scale[:, None].astype(operator.rough)  # type: ignore[index]
    x, left, off = np.zeros_like(targets), targets * mask, np.zeros(targets.shape[1])
    while True:
        start = np.abs(left).max(axis=0)
        # Below this single precision no longer helps.
        goal = np.maximum(_ROUGH * start, 0.2 * EXACT)
        unsure = off + _UNSURE * start * (operator.rough == np.float32)
        r: FloatArray = np.asarray(left * scale, operator.rough)
        z = near(r)
        applied = operator.kernel(z, progress) * mask
        p, along, added = z.copy(), applied.copy(), np.zeros_like(r)
        power = np.einsum("ij,ij->j", z, applied)
        del left, applied
        while True:
            turned = near(along)
            length = np.einsum("ij,ij->j", along, turned)
            alpha = np.divide(power, length, out=np.zeros_like(power), where=length > 0)
            added += alpha * p
            r -= alpha * along
            z -= alpha * turned
            del turned
            keep = yield (x + added) / weights, r / scale, unsure
            x, added, r, z, p, along, power, targets, goal, unsure = _going_on(
                keep, x, added, r, z, p, along, power, targets, goal, unsure
            )
            if np.all(np.abs(r / scale).max(axis=0) <= goal):
                break
            applied = operator.kernel(z, progress) * mask
            new = np.einsum("ij,ij->j", z, applied)
            beta = np.divide(new, power, out=np.zeros_like(power), where=power != 0)
            power = new
            p *= beta
            p += z
            along *= beta
            along += applied
            del applied
        x += added
        del added, r, z, p, along
        means, off = operator.nearly_times(x / weights, progress)
        left = (targets - means) * mask
        del means
        keep = yield x / weights, left.copy(), off
        x, left, off, targets = _going_on(keep, x, left, off, targets)


def _least_squares(
    operator: Operator,
    targets: FloatArray,
    frequency: FloatArray,
    outputs: FloatArray,
    used: BoolArray,
    progress: Progress,
) -> Steps:
    """Minimise Σ_w f_w·(P h − g)(w)² by conjugate gradients, h in units of its expected noise."""
    rows = (np.sqrt(frequency) * used)[:, None]
    # An output that is not expected carries no weight, and no number either.
    with np.errstate(divide="ignore"):
        unit = np.where((outputs > 0) & used, 1.0 / np.sqrt(outputs), 0.0)[:, None]
    u = np.zeros_like(targets)
    r = targets * rows
    s = unit * operator.transposed(r * rows, progress)
    p, power = s.copy(), np.einsum("ij,ij->j", s, s)
    while True:
        along = rows * operator.times(unit * p, progress)
        length = np.einsum("ij,ij->j", along, along)
        alpha = np.divide(power, length, out=np.zeros_like(power), where=length > 0)
        u += alpha * p
        r -= alpha * along
        with np.errstate(divide="ignore", invalid="ignore"):
            residual = np.where(rows > 0, r / rows, 0.0)
        keep = yield unit * u, residual, np.zeros_like(power)
        u, r, p, power = _going_on(keep, u, r, p, power)
        s = unit * operator.transposed(r * rows, progress)
        new = np.einsum("ij,ij->j", s, s)
        p *= np.divide(new, power, out=np.zeros_like(power), where=power > 0)
        p += s
        power = new
