"""Options that several commands share, each declared once, and their readers."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from math import inf
from pathlib import Path
from typing import Any

import click
import numpy as np
from click import Choice, option

from dpcore import __version__
from dpcore.cli.shell import F, Options, one_of
from dpcore.errors import ParameterError, TextError
from dpcore.learn.training import Training
from dpcore.lexicon import catalogue
from dpcore.lexicon.cache import cache_status
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import (
    CERTIFIED_AT_ONCE_WORDS,
    MAX_EPSILONS,
    MAX_FILE_CHARACTERS,
    MAX_SEED,
)
from dpcore.measure import words
from dpcore.measure.deniability import check_runs
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create, resolve
from dpcore.noise.streams import check_seed, generator
from dpcore.rewrite.sentence import decode

Declared = Callable[[F], F]

VALUES = "a list 1,2,5 or a geometric grid LOW:HIGH:COUNT"
_A_MECHANISM = "a name from `mechanisms`"


def several(*declared: Declared[Any]) -> Declared[Any]:
    """Return one decorator of several options, in this order."""
    return lambda function: reduce(lambda inner, declare: declare(inner), declared[::-1], function)


def number(
    flag: str,
    default: int | None,
    text: str = "",
    *,
    least: int | None = None,
    most: int | None = None,
) -> Declared[Any]:
    """Declare an option that takes a whole number, within limits if there are any."""
    limited = least is not None or most is not None
    kind = click.IntRange(least, most) if limited else click.INT
    return option(flag, type=kind, default=default, metavar="N", help=text)


def file(flag: str, text: str = "", metavar: str = "FILE", **more: Any) -> Declared[Any]:
    """Declare an option that names a file or a folder."""
    return option(flag, type=Path, metavar=metavar, help=text, **more)


def seed_option(meaning: str, default: int | None = 0) -> Declared[Any]:
    """Declare the option --seed, with its meaning for this command."""
    return number("--seed", default, f"0 to {MAX_SEED}: {meaning}")


class Pair(click.ParamType):  # type: ignore[type-arg]  # older releases take none
    """NAME=VALUE, as two texts without white space around them."""

    name = "pair"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Cut at the first equals sign."""
        name, equals, text = (part.strip() for part in value.partition("="))
        if not (name and equals):
            self.fail(f"{value[:60]!r} is not {param and param.metavar}", param, ctx)
        return name, text


def pairs(flag: str, text: str) -> Declared[Any]:
    """Declare a repeatable option NAME=VALUE: a dictionary, for each name the last value."""
    return option(
        flag, type=Pair(), multiple=True, metavar="NAME=VALUE", help=f"{text}; repeatable",
        callback=lambda _, __, given: dict(given),
    )  # fmt: skip


def names(text: str) -> list[str]:
    """Convert A,B,C to a list, as the type of an option."""
    return text.split(",")


language_option: Declared[Any] = option(
    "--language", help="of the words, such as de  [default: what the lexicon says]"
)
lexicon_option = several(
    option("--lexicon", help="a name from `lexicon list`, or a path  [default: ours]"),
    language_option,
)
settings_option = pairs("--set", "a parameter of a mechanism")
mechanism_option: Declared[Any] = option("--mechanism", required=True, help=_A_MECHANISM)
epsilon_option: Declared[Any] = option("--epsilon", required=True, help="the privacy parameter")
word_option: Declared[Any] = option("--word", required=True)
runs_option = number("--runs", 1000, "R of Sw")
device_option: Declared[Any] = option("--device", default="cpu", help="or cuda, auto")


def training_options(epochs: int, batch: int, rate: float, patience: int | None) -> Declared[Any]:
    """Declare the options of commands that train a network, with their defaults."""
    return several(
        number("--epochs", epochs),
        number("--batch", batch),
        option("--rate", default=rate),
        number("--patience", patience, "epochs without gain"),
        file("--out", metavar="FILE.safetensors", required=True),
        option("--resume", is_flag=True, help="go on where training stopped"),
    )


mechanism_options = several(mechanism_option, settings_option, lexicon_option)
"""Options of every command that needs one mechanism; ε, where needed, is `epsilon_option`."""

compared_options = several(
    option("--mechanism", multiple=True, required=True, help=f"{_A_MECHANISM}; repeatable"),
    option(
        "--epsilon",
        multiple=True,
        required=True,
        metavar="[MECHANISM=]VALUES",
        help=f"a number, {VALUES}; MECHANISM=VALUES for one of several mechanisms; repeatable",
    ),
)
"""Options of every command that compares mechanisms, each at several ε."""

measuring_options = several(
    one_of(
        {
            "--words": {"type": names, "metavar": "A,B,C", "help": "these words"},
            "--sample": {"type": int, "metavar": "N", "help": "a stratified sample of N words"},
            "--corpus": {"type": Path, "metavar": "FILE", "help": "all tokens of a text file"},
        }
    ),
    number("--at-most", None, "words of --corpus, drawn by their frequency"),
    option("--text-column", metavar="NAME", help="of --corpus, a table with a header"),
    option(
        "--stratify", default="frequency", type=Choice(["frequency", "density"]), help="of --sample"
    ),
    runs_option,
    option("--method", default="auto", type=Choice(["auto", "exact", "protocol", "rao-blackwell"])),
    settings_option,
    seed_option("of the sample and of the noise that is measured"),
    lexicon_option,
)
"""Options of every command that measures words."""

rewriting_options = several(
    option(
        "--unknown",
        default="replace",
        type=Choice(["replace", "mask", "drop", "reject"]),
        help="treatment of words outside the vocabulary",
    ),
    option("--keep-stop-words", is_flag=True, help="release function words unchanged"),
    option(
        "--case",
        default="keep",
        type=Choice(["keep", "sentence"]),
        help="capital letters: keep their pattern, or only at sentence beginnings",
    ),
)
"""Treatment of unknown words, function words and capital letters."""


def lexicon(options: Options) -> Lexicon:
    """Load the lexicon that the options name."""
    return catalogue.load(options.lexicon, language=options.language, progress=options.progress)


def build(options: Options) -> Mechanism:
    """Create the mechanism that the options name, over the lexicon that they name."""
    resolve(options.mechanism)  # refuses a wrong name before a large lexicon is read
    return certified(options, create(options.mechanism, lexicon(options), options.set))


def certified(options: Options, mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with the certificate of its lexicon, which is computed for few words.

    For many words the answer names the command that computes it. A certificate that cannot be kept
    is not computed: another process that draws with this mechanism would not have it.
    """
    calibrated, words = mechanism.calibrated, len(mechanism.lexicon)
    if calibrated is None or calibrated.is_known:
        return mechanism
    if words <= calibrated.certified_by_command and cache_status().writable:
        calibrated.calibrate(options.progress)
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
            settings[name][key] = value
    return settings


def build_each(options: Options, mechanisms: Sequence[str]) -> list[Mechanism]:
    """Create the mechanisms of these names, each once, over the lexicon that the options name."""
    settings = settings_of_each(options, mechanisms)
    public = lexicon(options)
    return [certified(options, create(name, public, given)) for name, given in settings.items()]


def values(text: str) -> list[str | float]:
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
        (named.setdefault(name, []) if equals else common).extend(values(listed))
    grids = []
    for mechanism in mechanisms:
        chosen = named.get(mechanism.key, []) + named.get(mechanism.short, []) or common
        if not chosen:
            raise ParameterError(f"no epsilon is given for {mechanism.short}")
        if len(chosen) > MAX_EPSILONS:
            raise ParameterError(f"at most {MAX_EPSILONS:,} values of epsilon, got {len(chosen):,}")
        checked = {mechanism.check_epsilon(value) for value in chosen}  # type: ignore[arg-type]
        grids.append(sorted(checked))
    return grids


def prepare(options: Options, mechanisms: Sequence[str]) -> tuple[list[Mechanism], words.Selection]:
    """Return mechanisms and words; check some options before a large lexicon is read."""
    if options.at_most is not None and options.corpus is None:
        raise ParameterError("--at-most is for the words of --corpus")
    if options.text_column is not None and options.corpus is None:
        raise ParameterError("--text-column is for the table of --corpus")
    check_runs(options.runs)
    check_seed(options.seed)
    built = build_each(options, mechanisms)
    return built, _selection(options, built[0].lexicon)


def _selection(options: Options, public: Lexicon) -> words.Selection:
    if options.words is not None:
        return words.named(public, options.words)
    if options.corpus is None:
        rng = generator(options.seed, "sample of words")
        return words.sample(public, options.sample, rng, options.stratify, options.progress)
    selection = words.corpus_file(public, options.corpus, options.text_column)
    if options.at_most is None:
        return selection
    return words.reduced(selection, options.at_most, generator(options.seed, "words of a text"))


def measuring(options: Options) -> dict[str, Any]:
    """Return the settings of a measurement of words, as arguments of `dpcore.measure`."""
    return {name: getattr(options, name) for name in ("method", "runs", "seed", "progress")}


def training(options: Options, **more: Any) -> Training:
    """Return the settings of training, by `training_options` and --seed."""
    chosen = fields(options, "epochs batch rate patience seed")
    return Training(**chosen, **more)


def read_text(name: str) -> str:
    """Read a UTF-8 file, or standard input for "-".

    Raises:
        TextError: it cannot be read, or is too large.
    """
    try:
        if name == "-":
            if sys.stdin is None:
                raise TextError("standard input is closed: name a file")
            return decode(sys.stdin.buffer.read())
        path = Path(name)
        # UTF-8 takes up to four bytes a character: a larger file exceeds the limit.
        if path.stat().st_size > 4 * MAX_FILE_CHARACTERS:
            raise TextError(f"{path} is larger than {4 * MAX_FILE_CHARACTERS:,} bytes: split it")
        return decode(path.read_bytes())
    except OSError as error:
        raise TextError(f"cannot read {name}: {error.strerror}") from None


def fields(record: Any, names: str) -> dict[str, Any]:
    """Return some attributes of a record by their names, in this order."""
    return {name: getattr(record, name) for name in names.split()}


def lexicon_fields(public: Lexicon) -> dict[str, Any]:
    """Return the first fields of a result about a lexicon."""
    return {"lexicon": public.name, "fingerprint": public.fingerprint, "version": __version__}


def settings_fields(mechanism: Mechanism) -> dict[str, Any]:
    """Return the name of the mechanism, with its parameters."""
    return {"mechanism": mechanism.key, "parameters": mechanism.settings()}


def mechanism_fields(mechanism: Mechanism) -> dict[str, Any]:
    """Return the first fields of a result about one mechanism."""
    return settings_fields(mechanism) | lexicon_fields(mechanism.lexicon)


def selection_fields(
    options: Options, public: Lexicon, selection: words.Selection
) -> dict[str, Any]:
    """Return the first fields of a result about measured words."""
    return {
        **lexicon_fields(public),
        **fields(options, "runs seed"),
        "selection": {
            "description": selection.description,
            "words": len(selection),
            "tokens": selection.tokens,
            "unknown_tokens": selection.unknown,
        },
    }
