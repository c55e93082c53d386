"""All mechanisms by their versioned keys; short names resolve to the newest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore.errors import ParameterError, UnknownMechanismError
from dpcore.mechanisms.additive.hyperbolic import Hyperbolic
from dpcore.mechanisms.additive.multivariate import Mahalanobis, MultivariateLaplace
from dpcore.mechanisms.additive.projection import RandomProjection
from dpcore.mechanisms.additive.vickrey import Vickrey
from dpcore.mechanisms.candidates.custext import CusText
from dpcore.mechanisms.candidates.diffractor import Diffractor
from dpcore.mechanisms.candidates.rantext import RanText
from dpcore.mechanisms.candidates.syntf import SynTF
from dpcore.mechanisms.candidates.wbb import WordsBlendingBoxes
from dpcore.mechanisms.clipped.adept import Adept, AdeptManhattan
from dpcore.mechanisms.clipped.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
)
from dpcore.mechanisms.clipped.trlaplace import TrLaplace, TrLaplaceCorrected
from dpcore.mechanisms.exponential.budget import Budget
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.exponential.santext import SanText
from dpcore.mechanisms.exponential.santext_plus import SanTextPlus
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.exponential.tem_calibrated import TemCalibrated
from dpcore.mechanisms.gumbel.published import TruncatedGumbel
from dpcore.mechanisms.gumbel.repaired import TruncatedGumbelRepaired
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.response.k_ary import KAryResponse
from dpcore.mechanisms.response.neighbour import NeighbourResponse

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon

MECHANISMS: dict[str, type[Mechanism]] = {
    kind.key: kind
    for kind in (
        MultivariateLaplace,
        Mahalanobis,
        Vickrey,
        RandomProjection,
        Hyperbolic,
        TruncatedExponential,
        TemCalibrated,
        Optimal,
        Budget,
        TruncatedGumbel,
        TruncatedGumbelRepaired,
        ClippedLaplace,
        ClippedL2Laplace,
        ClippedGaussian,
        ClippedGaussianClassical,
        TrLaplace,
        TrLaplaceCorrected,
        Adept,
        AdeptManhattan,
        KAryResponse,
        NeighbourResponse,
        SanText,
        SanTextPlus,
        CusText,
        Diffractor,
        RanText,
        WordsBlendingBoxes,
        SynTF,
    )
}
"""Registry key ("tem.v1") to class, in the order in which they are shown."""


def resolve(name: str) -> type[Mechanism]:
    """The class for a key ("tem.v1") or a short name ("tem": the newest version)."""
    if name in MECHANISMS:
        return MECHANISMS[name]
    versions = [kind for kind in MECHANISMS.values() if kind.short == name]
    if versions:
        return max(versions, key=lambda kind: int(kind.key.rsplit(".v", 1)[1]))
    known = ", ".join(dict.fromkeys(kind.short for kind in MECHANISMS.values()))
    msg = f"unknown mechanism {name[:40]!r}; known are {known}"
    raise UnknownMechanismError(msg)


def create(name: str, lexicon: Lexicon, settings: Mapping[str, Any] | None = None) -> Mechanism:
    """A mechanism over a lexicon; settings may be strings, as a command line gives them."""
    kind = resolve(name)
    declared = kind.parameters()
    values: dict[str, Any] = {}
    for parameter, value in (settings or {}).items():
        if parameter not in declared:
            known = ", ".join(declared) or "none"
            msg = f"{kind.short} has no parameter {parameter[:40]!r}; its parameters are: {known}"
            raise ParameterError(msg)
        values[parameter] = _convert(kind, parameter, value, str(declared[parameter]["type"]))
    return kind(lexicon=lexicon, **values)


def _convert(kind: type[Mechanism], parameter: str, value: object, annotation: str) -> object:
    """A value of the parameter's declared type, from a string if need be."""
    if not isinstance(value, str) or annotation.startswith("str"):
        return value
    if value.lower() in {"none", "default", "auto"} and "None" in annotation:
        return None
    try:
        return int(value) if annotation.startswith("int") else float(value)
    except ValueError:
        wanted = "a whole number" if annotation.startswith("int") else "a number"
        msg = f"{parameter} of {kind.short} must be {wanted}, got {value[:40]!r}"
        raise ParameterError(msg) from None
