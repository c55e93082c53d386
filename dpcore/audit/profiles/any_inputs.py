"""Audit of noise alone: between any two clipped inputs of d coordinates, without a vocabulary.

The guarantee of noise on a clipped vector does not depend on the words. Pairs of opposite inputs
replace the lexicon, one for each difference that `profile.worst_product` searches, so the report
names the two inputs that are least protected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore.arrays import largest
from dpcore.audit.profiles.noise import pair_profile
from dpcore.audit.profiles.profile import searched_shares, spread_shift
from dpcore.audit.report import AuditReport, Worst, audit_report
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_DIMENSION
from dpcore.mechanisms.clipped.clipped import ClippedMechanism
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create, resolve

_SHOWN = 2  # coordinates of an input that are printed
_ALIKE = 1e-6  # relative: such differences of δ are rounding of the inputs; the first is named


def on_any_inputs(name: str, dimension: str | int, settings: Mapping[str, Any]) -> Mechanism:
    """Create a mechanism over opposite inputs of norm C in d dimensions; C is 1 if it is not set.

    Args:
        name: of a mechanism that adds noise to a clipped vector.
        dimension: d, from 1 to `limits.MAX_DIMENSION`; a text is read as a whole number.
        settings: parameters of the mechanism; may be strings, as a command line gives them.

    Raises:
        ParameterError: the mechanism's loss depends on its vocabulary, or an argument is refused.
    """
    kind = resolve(name)
    if kind.clip_power is None:
        raise ParameterError(
            f"{kind.short} cannot be audited in d dimensions alone, because its privacy loss "
            "depends on the words and their distances: leave out d, and name a lexicon"
        )
    try:
        d = int(dimension)
    except ValueError:
        d = 0
    if not 1 <= d <= MAX_DIMENSION:
        raise ParameterError(
            f"d must be a whole number from 1 to {MAX_DIMENSION:,}, got {str(dimension)[:40]!r}"
        )
    inputs = _inputs(d, kind.clip_power)
    # C only sets the unit of the inputs: the same ε and δ are true for every C.
    return create(name, inputs, {"clip_norm": 1.0} | dict(settings))


def _inputs(dimension: int, power: int) -> Lexicon:
    """Make opposite inputs, half a difference each, that clipping will bring to norm C."""
    longest = float(ClippedMechanism.parameters()["clip_norm"]["high"])
    names: list[str] = []
    rows: list[np.ndarray] = []
    for share in searched_shares(dimension):
        half = spread_shift(1.0, dimension, share, power)
        for name, row in (("x", half), ("−x", -half)):
            shown = ", ".join(f"{value:.4g}" for value in row[:_SHOWN] + 0.0).replace("-", "−")
            names.append(f"{name} = C·({shown}{', …' if dimension > _SHOWN else ''})")
            rows.append(longest * row)
    vectors = np.array(rows, dtype=np.float32)
    return Lexicon(f"inputs of {dimension} coordinates", tuple(names), vectors)


def any_inputs_report(mechanism: Mechanism, epsilon: float) -> AuditReport:
    """Audit a mechanism that `on_any_inputs` made, at its claimed ε."""
    value = mechanism.check_epsilon(epsilon)
    report = audit_report(mechanism, value)
    firsts = range(0, len(mechanism.lexicon), 2)
    deltas = [pair_profile(mechanism, value, i, i + 1).delta(value)[0] for i in firsts]
    most = largest(np.array(deltas), "a δ")[1]
    place = int(np.argmax(np.array(deltas) >= (1.0 - _ALIKE) * most))
    first, second = mechanism.lexicon.words[2 * place : 2 * place + 2]
    return dataclasses.replace(
        report,
        worst=Worst(first, second, delta=deltas[place]),
        method=(
            f"privacy profile of the noise at d = {mechanism.lexicon.dimension}, between any two "
            "clipped inputs: the worst of the differences that were searched is from x to −x"
        ),
    )
