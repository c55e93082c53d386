"""All published claims that the laboratory audits, their verdicts and their privacy profiles."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.arrays import FloatArray
from dpcore.audit.profiles.noise import worst_profile
from dpcore.audit.report import AuditSettings
from dpcore.audit.verdict import Verdict
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import FIELDS, bundled_data, refuse_of_the_system, write_text
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.clipped.clipped import (
    ClippedGaussian,
    ClippedGaussianClassical,
    ClippedL2Laplace,
    ClippedLaplace,
    ClippedMechanism,
)
from dpcore.mechanisms.clipped.trlaplace import TrLaplaceCorrected
from dpcore.papers import feyisetan
from dpcore.papers.carvalho2021 import claims as tem
from dpcore.papers.field import candidates, writers
from dpcore.papers.habernal2021 import claims as adept
from dpcore.papers.habernal2021.claims import latent_profile
from dpcore.papers.huang2024 import claims as clipped
from dpcore.papers.huang2024.claims import published_trlaplace
from dpcore.papers.lecuyer2019 import claims as pixeldp
from dpcore.papers.ours import claims as ours
from dpcore.papers.xu2021 import claims as gumbel

if TYPE_CHECKING:
    import pandas as pd


Claim = Callable[["Lexicon", AuditSettings, Progress], Verdict]


def _at_once(claim: Callable[[Lexicon, AuditSettings], Verdict]) -> Claim:
    """Wrap a claim that is computed in a moment and reports no progress."""
    return lambda lexicon, settings, _: claim(lexicon, settings)


CLAIMS: dict[str, Claim] = {
    "xu-theorem-1": gumbel.xu_theorem_1,
    "xu-lemma-1": _at_once(gumbel.xu_lemma_1),
    "huang-theorem-3": _at_once(clipped.huang_theorem_3),
    "huang-theorem-4": _at_once(clipped.huang_theorem_4),
    "adept-published": _at_once(adept.adept_published),
    "pixeldp-slides": _at_once(pixeldp.pixeldp_slides),
    "gaussian-classical": _at_once(clipped.gaussian_classical),
    "santext-cosine": candidates.santext_cosine,
    "custext-aggressive": candidates.custext_aggressive,
    "rantext": candidates.rantext,
    "wbb": candidates.wbb,
    "syntf-synonyms": candidates.syntf_synonyms,
    "dp-st-cluster": writers.dp_st_cluster,
    "dp-bart-one-noise": _at_once(writers.dp_bart_one_noise),
    "greedy-paraphrase": writers.greedy_paraphrase,
    "budget-from-text": writers.budget_from_text,
    "dp-prompt-top-k": writers.dp_prompt_top_k,
    "dp-prompt-length": _at_once(writers.dp_prompt_length),
    "hosted-temperature": _at_once(writers.hosted_temperature),
    "tokens-in-parallel": _at_once(writers.tokens_in_parallel),
    "budget-own-epsilon": ours.own_epsilon,
    "hyperbolic-flat": _at_once(feyisetan.hyperbolic_flat),
    "dp-prompt-unclipped": _at_once(writers.dp_prompt_unclipped),
    "dp-mlm-stop-words": _at_once(writers.dp_mlm_stop_words),
    "dropped-words": candidates.dropped_words,
    "santext-plus": candidates.santext_plus,
    "custext": candidates.custext,
    "carvalho-theorem-2": tem.carvalho_theorem_2,
    "carvalho-theorem-3": tem.carvalho_theorem_3,
    "madlib": _at_once(feyisetan.madlib),
    "mahalanobis": _at_once(feyisetan.mahalanobis),
    "vickrey": feyisetan.vickrey,
    "random-projection": _at_once(feyisetan.random_projection),
    "hyperbolic": _at_once(feyisetan.hyperbolic),
    "laplace": _at_once(clipped.laplace),
    "l2-laplace": _at_once(clipped.l2_laplace),
    "gaussian": _at_once(clipped.gaussian),
    "pixeldp": _at_once(pixeldp.pixeldp_right),
    "santext": candidates.santext,
    "diffractor": candidates.diffractor,
    "syntf": candidates.syntf,
    "dp-prompt": _at_once(writers.dp_prompt),
    "optimal": ours.optimal,
    "neighbour-response": _at_once(ours.neighbour_response),
    "epsilon-two": ours.epsilon_two,
    "budget": ours.budget,
    "budget-any": ours.budget_any,
    "truncated-gumbel-repaired": ours.gumbel_repaired,
    "tem-calibrated": ours.tem_calibrated,
    "trlaplace-corrected": _at_once(clipped.trlaplace_corrected),
    "adept-a": _at_once(adept.adept_l1_clip),
    "adept-b": _at_once(adept.adept_scaled),
    "adept-c": _at_once(adept.adept_round),
    "dp-prompt-calibrated": _at_once(writers.dp_prompt_calibrated),
    "dp-prompt-response": _at_once(writers.dp_prompt_response),
    "santext-angle": candidates.santext_angle,
    "custext-drawn": candidates.custext_drawn,
    "rantext-fixed": candidates.rantext_fixed,
    "wbb-floor": candidates.wbb_floor,
}
"""Key to claim: first the refuted or doubtful claims, then the proved ones, then the repairs."""


def verdict(
    key: str,
    lexicon: Lexicon,
    settings: AuditSettings | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Compute the verdict on one claim.

    Args:
        key: key of the claim.
        lexicon: vocabulary of the audit.
        settings: parameters of the audit; None for the defaults.
        progress: called with (stage, done, total) if the audit takes longer than a moment.

    Raises:
        ParameterError: the claim is unknown; the message lists the known ones.
    """
    if key not in CLAIMS:
        raise ParameterError(f"unknown claim {key[:40]!r}; known are {', '.join(CLAIMS)}")
    return CLAIMS[key](lexicon, settings or AuditSettings(), progress)


def all_verdicts(
    lexicon: Lexicon,
    settings: AuditSettings | None = None,
    *,
    keys: Iterable[str] | None = None,
    progress: Progress = silent,
) -> list[Verdict]:
    """Compute the verdicts on all claims in the order of `CLAIMS`, or on those of `keys`.

    Args:
        lexicon: vocabulary of the audit.
        settings: parameters of the audit; None for the defaults.
        keys: keys of the claims, in the order of the result; None for all.
        progress: called with ("claims", done, total).

    Raises:
        ParameterError: a claim is unknown.
    """
    chosen = list(CLAIMS if keys is None else keys)
    verdicts = []
    for done, key in enumerate(chosen, start=1):
        # Without the progress of a claim: two bars at a time would tell nothing.
        verdicts.append(verdict(key, lexicon, settings))
        progress("claims", done, len(chosen))
    return verdicts


# Privacy profile that a claim allows, compared with the profile of its noise.


COLUMNS = ("epsilon", "allowed", "low", "high", "claimed_epsilon", "claimed_delta")
"""One row per ε: the largest δ that the claim allows, bounds on the δ of the noise, the claim."""

_CLIPPED: dict[str, type[ClippedMechanism]] = {
    "laplace": ClippedLaplace,
    "l2-laplace": ClippedL2Laplace,
    "gaussian": ClippedGaussian,
    "gaussian-classical": ClippedGaussianClassical,
    "trlaplace-corrected": TrLaplaceCorrected,
}
_WITH_DELTA = {"gaussian", "gaussian-classical", "trlaplace-corrected"}
_ADEPT = ("adept-published", "adept-a", "adept-b", "adept-c")
PROFILED = ("huang-theorem-3", *_CLIPPED, *_ADEPT)
"""Claims whose noise has a profile."""
_STEPS = 40


def allowed_delta(epsilon: float, delta: float, epsilons: FloatArray) -> FloatArray:
    """Return the largest δ(ε′) of any mechanism that is (ε, δ)-private, for each ε′ ≥ 0.

    This is δ for ε′ ≥ ε. Below ε it is 1 − (1 − δ)(1 + e^ε′)/(1 + e^ε): the largest p − e^ε′·q
    under the claim for a set of outputs, p ≤ e^ε·q + δ, and for its complement,
    1 − q ≤ e^ε·(1 − p) + δ.
    """
    x = np.minimum(np.asarray(epsilons, dtype=np.float64), epsilon)
    # In logarithms, since e^ε overflows beyond 709.
    ratio = np.exp(np.logaddexp(0.0, x) - np.logaddexp(0.0, epsilon))
    return np.asarray(np.where(x < epsilon, 1.0 - (1.0 - delta) * ratio, delta))


def claimed_profile(key: str, lexicon: Lexicon, settings: AuditSettings) -> pd.DataFrame:
    """Compute both profiles on a grid of ε from 0 to above the claimed and, for ADePT, the true ε.

    Args:
        key: one of `PROFILED`.
        lexicon: the dimension and largest norm of the noise.
        settings: as for the verdict.

    Returns:
        A table with the columns `COLUMNS`.

    Raises:
        ParameterError: the claim has no profile, or the mechanism refuses a setting.
    """
    import pandas as pd

    if key not in PROFILED:
        raise ParameterError(
            f"{key[:40]!r} has no privacy profile; known are {', '.join(PROFILED)}"
        )
    epsilon, delta = settings.epsilon, 0.0
    if key in _ADEPT:
        # The true ε of the published noise is √n times the claimed one: the grid reaches beyond it.
        most = 1.25 * max(1.6, math.sqrt(settings.latent) if key == "adept-published" else 0.0)
        grid = _grid(epsilon, most)
        curve = latent_profile(key, settings)(grid)
    else:
        mechanism: ClippedMechanism
        if key == "huang-theorem-3":
            # Its published formula has no noise beyond a largest ε, so ε may be another one.
            mechanism, epsilon = published_trlaplace(lexicon, settings)
            delta = math.exp(mechanism.log_delta)
        else:
            more = {"clip_norm": settings.clip_norm}
            if key in _WITH_DELTA:
                delta = settings.delta
                more["delta"] = delta
            mechanism = _CLIPPED[key](lexicon=lexicon, **more)  # type: ignore[arg-type]
        grid = _grid(epsilon, 2.0)
        curve = worst_profile(mechanism, epsilon, grid)
    columns = {
        "epsilon": curve.x,
        "allowed": allowed_delta(epsilon, delta, curve.x),
        "low": curve.low,
        "high": curve.high,
        "claimed_epsilon": epsilon,
        "claimed_delta": delta,
    }
    return pd.DataFrame(columns, columns=list(COLUMNS))


def _grid(epsilon: float, most: float) -> FloatArray:
    """Return ε′ from 0 to `most` times the claimed ε, which is a point of the grid."""
    return epsilon * np.union1d(np.linspace(0.0, most, _STEPS + 1), [1.0])


# Recorded verdicts on the bundled lexicon.


_FILE = "verdicts.json"
_AGAIN = "python -m dpcore audit --all --file data/audit/verdicts.json"


@dataclass(frozen=True)
class RecordedVerdicts:
    """A table of verdicts and its origin.

    Attributes:
        command: command that reproduces them.
        lexicon: name of the vocabulary.
        fingerprint: digest of the vocabulary.
        version: version of dpcore.
        settings: settings of the audits, with the seed of every sample.
        verdicts: one per claim, in the order of `CLAIMS`.
    """

    command: str
    lexicon: str
    fingerprint: str
    version: str
    settings: AuditSettings
    verdicts: tuple[Verdict, ...]

    def of(self, key: str) -> Verdict | None:
        """Return the verdict on one claim, or None if it was not recorded."""
        return next((verdict for verdict in self.verdicts if verdict.key == key), None)


def summary(
    lexicon: Lexicon, settings: AuditSettings, verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    """Return the JSON form of a table of verdicts."""
    return {
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
        "version": __version__,
        "settings": dataclasses.asdict(settings),
        "verdicts": [verdict.to_dict() for verdict in verdicts],
    }


def write_verdicts(
    path: Path, lexicon: Lexicon, settings: AuditSettings, verdicts: Sequence[Verdict]
) -> None:
    """Write a table of all verdicts with the command that reproduces it.

    Raises:
        ParameterError: the file cannot be written.
    """
    names = [field.name for field in dataclasses.fields(settings)]
    command = f"python -m dpcore audit --all{settings.options(lexicon, *names)}"
    fields = {"command": command} | summary(lexicon, settings, verdicts)
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False, indent=1)
    try:
        write_text(path, text + "\n")
    except OSError as error:
        raise ParameterError(f"cannot write the verdicts: {error.strerror or error}") from None


def verdicts_file() -> Path:
    """Return the path of the bundled verdicts."""
    return bundled_data("audit", _FILE) / _FILE


def read_recorded(path: Path | None = None) -> RecordedVerdicts:
    """Read the recorded verdicts.

    Args:
        path: file written by `audit --all --file`; None reads the bundled one.

    Raises:
        ParameterError: the file is missing or damaged; the message names the command that
            reproduces it.
    """
    place = verdicts_file() if path is None else path
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
        return RecordedVerdicts(
            command=str(record["command"]),
            lexicon=str(record["lexicon"]),
            fingerprint=str(record["fingerprint"]),
            version=str(record["version"]),
            settings=AuditSettings(**record["settings"]),
            verdicts=tuple(Verdict.from_dict(row) for row in record["verdicts"]),
        )
    except (OSError, *FIELDS) as error:
        # A system without memory or handles is no damaged file.
        refuse_of_the_system(error)
        raise ParameterError(
            f"the recorded verdicts cannot be read ({type(error).__name__}); `{_AGAIN}` makes "
            "them again"
        ) from None
