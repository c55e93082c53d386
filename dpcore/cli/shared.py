"""Options that several commands share, each declared once, and what is read from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import Choice, option

from dpcore import __version__
from dpcore.cli.shell import F, Options, one_of
from dpcore.errors import ParameterError, TextError
from dpcore.limits import MAX_DRAWS, MAX_EPSILONS, MAX_FILE_CHARACTERS, MAX_SEED

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress
    from dpcore.measure.words import Selection
    from dpcore.mechanisms.mechanism import Mechanism

Declared = Callable[[F], F]

METHODS = ("auto", "exact", "protocol", "rao-blackwell")
_A_MECHANISM = "a name from `mechanisms`"
_A_TABLE = "is a table with a header, and its texts stand in this column"

lexicon_option: Declared[Any] = option(
    "--lexicon", help="a name from `lexicon list`, or a path  [default: ours]"
)
settings_option: Declared[Any] = option(
    "--set", multiple=True, metavar="NAME=VALUE", help="a parameter of a mechanism; repeatable"
)
mechanism_option: Declared[Any] = option("--mechanism", required=True, help=_A_MECHANISM)
epsilon_option: Declared[Any] = option("--epsilon", required=True, help="the privacy parameter")
word_option: Declared[Any] = option("--word", required=True)
runs_option: Declared[Any] = option("--runs", default=1000, help="R of Sw")
resume_option: Declared[Any] = option("--resume", is_flag=True, help="go on where training stopped")
device_option: Declared[Any] = option("--device", default="cpu", help="or cuda, auto")


def several(*declared: Declared[Any]) -> Declared[Any]:
    """Options one under another, as one decorator."""
    return lambda function: reduce(lambda inner, declare: declare(inner), declared[::-1], function)


def number(flag: str, default: int | None, text: str = "", **more: Any) -> Declared[Any]:
    """An option that takes a whole number."""
    return option(flag, type=int, default=default, metavar="N", help=text, **more)


def file(flag: str, text: str = "", metavar: str = "FILE", **more: Any) -> Declared[Any]:
    """An option that names a file or a folder."""
    return option(flag, type=Path, metavar=metavar, help=text, **more)


def seed_option(meaning: str) -> Declared[Any]:
    """The option --seed, with what it means to this command."""
    return number("--seed", None, f"0 to {MAX_SEED}: {meaning}")


mechanism_options = several(mechanism_option, settings_option, lexicon_option)
"""Of every command that needs one mechanism; ε, where it needs one too, is `epsilon_option`."""

compared_options = several(
    option("--mechanism", multiple=True, required=True, help=f"{_A_MECHANISM}; repeatable"),
    option(
        "--epsilon",
        multiple=True,
        required=True,
        metavar="[MECHANISM=]VALUES",
        help="a number, a list 1,2,5 or a geometric grid LOW:HIGH:COUNT; MECHANISM=VALUES for one "
        "of several mechanisms; repeatable",
    ),
)
"""Of every command that puts mechanisms beside each other, each at several ε."""

measuring_options = several(
    one_of(
        {
            "--words": {"metavar": "A,B,C", "help": "these words"},
            "--sample": {"type": int, "metavar": "N", "help": "a stratified sample of N words"},
            "--corpus": {"metavar": "FILE", "help": "all tokens of a UTF-8 text file"},
        }
    ),
    number("--at-most", None, "words of --corpus, drawn by their frequency"),
    option("--text-column", metavar="NAME", help=f"--corpus {_A_TABLE}"),
    option(
        "--stratify", default="frequency", type=Choice(["frequency", "density"]), help="of --sample"
    ),
    runs_option,
    option("--method", default="auto", type=Choice(METHODS)),
    settings_option,
    seed_option("of the sample and of the noise that is measured  [default: 0]"),
    lexicon_option,
)
"""Of every command that measures words."""

rewriting_options = several(
    option(
        "--unknown",
        default="replace",
        type=Choice(["replace", "mask", "drop", "reject"]),
        help="what becomes of words outside the vocabulary",
    ),
    option("--keep-stop-words", is_flag=True, help="release function words unchanged"),
    option(
        "--case",
        default="keep",
        type=Choice(["keep", "sentence"]),
        help="capital letters: keep their pattern, or only at sentence beginnings",
    ),
)
"""What becomes of unknown words, function words and capital letters."""


def check_count(value: int, least: int, name: str) -> None:
    """Refuse a whole number outside least..MAX_DRAWS."""
    if not least <= value <= MAX_DRAWS:
        raise ParameterError(
            f"{name} must be a whole number from {least} to {MAX_DRAWS:,}, got {value}"
        )


def _settings(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    for setting in given:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not (name and equals):
            raise ParameterError(f"--set takes NAME=VALUE, got {setting[:60]!r}")
        yield name, value


def given_settings(options: Options) -> dict[str, str]:
    """What each `--set NAME=VALUE` sets; of two with one name the last."""
    return dict(_settings(options.set))


def build(options: Options) -> Mechanism:
    """The mechanism that the options name, over the lexicon that they name."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create, resolve

    resolve(options.mechanism)  # a wrong name is said before a large lexicon is read
    settings = given_settings(options)
    return create(options.mechanism, load(options.lexicon), settings)


def settings_of_each(options: Options, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings of each mechanism; one that none of them has is refused."""
    from dpcore.mechanisms.registry import resolve

    kinds = {name: resolve(name) for name in names}
    settings: dict[str, dict[str, str]] = {name: {} for name in kinds}
    for key, value in _settings(options.set):
        having = [name for name, kind in kinds.items() if key in kind.parameters()]
        if not having:
            raise ParameterError(
                f"none of the mechanisms {', '.join(kinds)} has a parameter {key[:40]!r}"
            )
        for name in having:
            settings[name][key] = value
    return settings


def build_each(options: Options, names: Sequence[str], progress: Progress) -> list[Mechanism]:
    """The mechanisms of these names, each once, over the lexicon that the options name."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create

    settings = settings_of_each(options, names)
    lexicon = load(options.lexicon, progress=progress)
    return [create(name, lexicon, given) for name, given in settings.items()]


def _numbers(text: str) -> list[str | float]:
    """The ε of one option: LOW:HIGH:COUNT, or a list of texts that the mechanism will judge."""
    import numpy as np

    parts = text.split(":")
    if len(parts) == 1:
        # Texts stay texts: `check_epsilon` says what is wrong with one in the mechanism's words.
        return [part.strip() for part in text.split(",")]
    try:
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
        if len(parts) != 3 or not (0 < low < high < np.inf and 2 <= count <= MAX_EPSILONS):
            raise ValueError
    except (ValueError, IndexError):
        raise ParameterError(
            "a grid of epsilon is LOW:HIGH:COUNT with 0 < LOW < HIGH and COUNT from 2 to "
            f"{MAX_EPSILONS:,}, got {text[:60]!r}"
        ) from None
    return [float(value) for value in np.geomspace(low, high, count)]


def epsilons_of_each(given: Sequence[str], mechanisms: Sequence[Mechanism]) -> list[list[float]]:
    """The checked ε of each mechanism, ascending and each once."""
    named: dict[str, list[str | float]] = {}
    common: list[str | float] = []
    known = {name for mechanism in mechanisms for name in (mechanism.key, mechanism.short)}
    for text in given:
        # A mechanism named beside its values has these alone, whatever all others share.
        name, equals, values = text.rpartition("=")
        if equals and name not in known:
            raise ParameterError(
                f"--epsilon {text[:60]!r} is for a mechanism that is not measured; measured are "
                + ", ".join(mechanism.short for mechanism in mechanisms)
            )
        (named.setdefault(name, []) if equals else common).extend(_numbers(values))
    grids = []
    for mechanism in mechanisms:
        values_of = named.get(mechanism.key, []) + named.get(mechanism.short, []) or common
        if not values_of:
            raise ParameterError(f"no epsilon is given for {mechanism.short}")
        if len(values_of) > MAX_EPSILONS:
            raise ParameterError(
                f"at most {MAX_EPSILONS:,} values of epsilon, got {len(values_of):,}"
            )
        checked = {mechanism.check_epsilon(value) for value in values_of}  # type: ignore[arg-type]
        grids.append(sorted(checked))
    return grids


def _selection(options: Options, lexicon: Lexicon, progress: Progress) -> Selection:
    from dpcore.measure import words
    from dpcore.noise.streams import generator

    seed = options.seed or 0
    if options.words is not None:
        return words.named(lexicon, options.words.split(","))
    if options.corpus is None:
        rng = generator(seed, "sample of words")
        return words.sample(lexicon, options.sample, rng, options.stratify, progress)
    selection = words.corpus_file(lexicon, Path(options.corpus), options.text_column)
    if options.at_most is None:
        return selection
    return words.reduced(selection, options.at_most, generator(seed, "words of a text"))


def prepare(
    options: Options, names: Sequence[str], progress: Progress
) -> tuple[list[Mechanism], Selection]:
    """Mechanisms and words; what can be refused before a large lexicon is read, is."""
    if options.at_most is not None and options.corpus is None:
        raise ParameterError("--at-most is for the words of --corpus")
    if options.text_column is not None and options.corpus is None:
        raise ParameterError("--text-column is for the table of --corpus")
    check_runs_and_seed(options)
    mechanisms = build_each(options, names, progress)
    return mechanisms, _selection(options, mechanisms[0].lexicon, progress)


def check_runs_and_seed(options: Options) -> int:
    """Refuse what cannot be run; returns the seed."""
    from dpcore.measure.deniability import check_runs
    from dpcore.noise.streams import check_seed

    check_runs(options.runs)
    return check_seed(options.seed or 0)


def read_text(name: str) -> str:
    """The text of a UTF-8 file, or of standard input for "-".

    Raises:
        TextError: it cannot be read, or is too large.
    """
    import sys

    from dpcore.rewrite.checks import decode

    try:
        if name == "-":
            return decode(sys.stdin.buffer.read())
        path = Path(name)
        if path.stat().st_size > 4 * MAX_FILE_CHARACTERS:
            raise TextError(f"{path} is larger than {4 * MAX_FILE_CHARACTERS:,} bytes: split it")
        return decode(path.read_bytes())
    except OSError as error:
        raise TextError(f"cannot read {name}: {error.strerror}") from None


def lexicon_fields(lexicon: Lexicon) -> dict[str, Any]:
    """The fields that a result about a lexicon begins with."""
    return {"lexicon": lexicon.name, "fingerprint": lexicon.fingerprint, "version": __version__}


def mechanism_fields(mechanism: Mechanism) -> dict[str, Any]:
    """The fields that a result about one mechanism begins with."""
    return {
        "mechanism": mechanism.key,
        "parameters": mechanism.settings(),
        **lexicon_fields(mechanism.lexicon),
    }


def selection_fields(options: Options, lexicon: Lexicon, selection: Selection) -> dict[str, Any]:
    """The fields that a result about measured words begins with."""
    return {
        **lexicon_fields(lexicon),
        "runs": options.runs,
        "seed": options.seed or 0,
        "selection": {
            "description": selection.description,
            "words": len(selection),
            "tokens": selection.tokens,
            "unknown_tokens": selection.unknown,
        },
    }
