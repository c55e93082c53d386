"""The lexicon, the mechanisms and the values of ε that options name."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from math import inf

import numpy as np

from dpcore.cli.shell import Options
from dpcore.errors import ParameterError
from dpcore.lexicon import catalogue
from dpcore.lexicon.cache import cache_status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import CERTIFIED_AT_ONCE_WORDS, MAX_EPSILONS
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create, resolve


def load_lexicon(options: Options) -> Lexicon:
    """Load the lexicon that the options name."""
    return catalogue.load(options.lexicon, language=options.language, progress=options.progress)


def build_mechanism(options: Options) -> Mechanism:
    """Create the mechanism that the options name, over the lexicon that they name."""
    resolve(options.mechanism)  # refuses a wrong name before a large lexicon is read
    return with_certificate(options, create(options.mechanism, load_lexicon(options), options.set))


def with_certificate(options: Options, mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with the certificate of its lexicon, which is computed for few words.

    For many words the answer names the command that computes it. A certificate that cannot be kept
    is not computed: another process that draws with this mechanism would not have it.
    """
    calibrated, words = mechanism.calibrated, len(mechanism.lexicon)
    if calibrated is None or calibrated.is_known:
        return mechanism
    if words <= calibrated.certified_by_command and cache_status().writable:
        calibrated.calibrate(options.progress)
        # Created again: a mechanism is frozen, and reads its certificate when it is made.
        mechanism = create(mechanism.key, mechanism.lexicon, mechanism.settings())
    name_calibrate(options, mechanism)
    return mechanism


def name_calibrate(options: Options, mechanism: Mechanism) -> None:
    """Add the command that computes a missing certificate to the answer."""
    calibrated = mechanism.calibrated
    if calibrated is None or len(mechanism.lexicon) <= CERTIFIED_AT_ONCE_WORDS:
        return
    if not calibrated.is_known:
        command = shlex.split(calibrated.calibrate_command)
        # A lexicon that was given by its path has no name: the command repeats the path.
        typed = [options.lexicon if word == catalogue.NO_NAME else word for word in command]
        options.uncertified[mechanism.short] = shlex.join(typed)


def settings_of_each(options: Options, mechanisms: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the settings of each mechanism; refuse a setting that none of them has."""
    kinds = {name: resolve(name) for name in mechanisms}
    settings: dict[str, dict[str, str]] = {name: {} for name in kinds}
    for key, value in options.set.items():
        having = [name for name, kind in kinds.items() if key in kind.parameters()]
        if not having:
            raise ParameterError(
                f"none of the mechanisms {', '.join(kinds)} has a parameter {key[:40]!r}"
            )
        for name in having:
            # One --set serves every compared mechanism that has the parameter.
            settings[name][key] = value
    return settings


def build_mechanisms(options: Options, mechanisms: Sequence[str]) -> list[Mechanism]:
    """Create the mechanisms of these names, each once, over the lexicon that the options name."""
    settings = settings_of_each(options, mechanisms)
    public = load_lexicon(options)
    return [
        with_certificate(options, create(name, public, given)) for name, given in settings.items()
    ]


def parse_epsilons(text: str) -> list[str | float]:
    """Parse the ε of one option: LOW:HIGH:COUNT, or a list of texts for the mechanism to check."""
    parts = text.split(":")
    if len(parts) == 1:
        # Texts stay texts: `check_epsilon` of the mechanism reports errors in its own words.
        return [part.strip() for part in text.split(",")]
    try:
        low, high, steps = float(parts[0]), float(parts[1]), int(parts[2])
        if len(parts) != 3 or not (0 < low < high < inf and 2 <= steps <= MAX_EPSILONS):
            raise ValueError
    except (ValueError, IndexError):
        raise ParameterError(
            "a grid of epsilon is LOW:HIGH:COUNT with 0 < LOW < HIGH and COUNT from 2 to "
            f"{MAX_EPSILONS:,}, got {text[:60]!r}"
        ) from None
    # In equal ratios: ε acts on a logarithmic scale.
    return [float(value) for value in np.geomspace(low, high, steps)]


def epsilons_of_each(given: Sequence[str], mechanisms: Sequence[Mechanism]) -> list[list[float]]:
    """Return the checked ε of each mechanism, ascending and each once."""
    named: dict[str, list[str | float]] = {}
    common: list[str | float] = []
    known = {name for mechanism in mechanisms for name in (mechanism.key, mechanism.short)}
    for text in given:
        # A mechanism named beside its values has these alone, not those that all others share.
        name, equals, listed = text.rpartition("=")
        if equals and name not in known:
            raise ParameterError(
                f"--epsilon {text[:60]!r} is for a mechanism that is not measured; measured are "
                + ", ".join(mechanism.short for mechanism in mechanisms)
            )
        (named.setdefault(name, []) if equals else common).extend(parse_epsilons(listed))
    grids = []
    for mechanism in mechanisms:
        chosen = named.get(mechanism.key, []) + named.get(mechanism.short, []) or common
        if not chosen:
            # Some may be named beside their values while others are forgotten.
            raise ParameterError(f"no epsilon is given for {mechanism.short}")
        if len(chosen) > MAX_EPSILONS:
            raise ParameterError(f"at most {MAX_EPSILONS:,} values of epsilon, got {len(chosen):,}")
        checked = {mechanism.check_epsilon(value) for value in chosen}  # type: ignore[arg-type]
        # Ascending and each once: paths of one draw are read along ε.
        grids.append(sorted(checked))
    return grids
