"""The commands about mechanisms: `mechanisms`, `distribution`, `path` and `calibrate`."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.cli import calibrate as calibrate_cli
from dpcore.errors import ParameterError
from dpcore.limits import MAX_DRAWS, MAX_SEED

if TYPE_CHECKING:
    import argparse

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def register(commands: Commands) -> None:
    """Add the commands; each handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser("mechanisms", help="list the mechanisms and their parameters")
    common_options(command)
    command.set_defaults(handler=_mechanisms)

    command = commands.add_parser("distribution", help="the probability of each output of a word")
    mechanism_options(command, epsilon=True)
    command.add_argument("--word", required=True)
    command.add_argument("--top", type=int, metavar="N", help="print only the N most likely")
    command.add_argument(
        "--draws", type=int, default=1000, metavar="N", help="directions or draws of an estimate"
    )
    seed_option(command, "of an estimated distribution (default 0)")
    command.set_defaults(handler=_distribution)

    command = commands.add_parser("path", help="what one noise draw makes of a word at every ε")
    mechanism_options(command, epsilon=False)
    command.add_argument("--word", required=True)
    seed_option(command, "of the draw (default 0)")
    command.set_defaults(handler=_path)
    calibrate_cli.register(commands)


def common_options(command: argparse.ArgumentParser) -> None:
    """Options of every command that needs a lexicon and can print JSON."""
    command.add_argument("--lexicon", help="a name from `lexicon list`, or a path (default: ours)")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def mechanism_options(command: argparse.ArgumentParser, *, epsilon: bool) -> None:
    """Options of every command that needs a mechanism (and its ε)."""
    command.add_argument("--mechanism", required=True, help="a name from `mechanisms`")
    if epsilon:
        command.add_argument("--epsilon", required=True, help="the privacy parameter")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the mechanism; may be repeated",
    )
    common_options(command)


def seed_option(command: argparse.ArgumentParser, meaning: str) -> None:
    """The option --seed, with what it means to this command."""
    command.add_argument("--seed", type=int, metavar="N", help=f"0 to {MAX_SEED}: {meaning}")


def build(options: argparse.Namespace) -> Mechanism:
    """The mechanism that the options name, over the lexicon that they name."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create, resolve

    resolve(options.mechanism)  # a wrong name is said before a large lexicon is read
    settings = given_settings(options)
    return create(options.mechanism, load(options.lexicon), settings)


def given_settings(options: argparse.Namespace) -> dict[str, str]:
    """What each `--set NAME=VALUE` sets; of two with one name the last."""
    settings: dict[str, str] = {}
    for setting in options.set:
        name, equals, value = setting.partition("=")
        if not (name and equals):
            msg = f"--set takes NAME=VALUE, got {setting[:60]!r}"
            raise ParameterError(msg)
        settings[name.strip()] = value.strip()
    return settings


def describe(mechanism: Mechanism) -> dict[str, Any]:
    """The fields that every result begins with."""
    return {
        "mechanism": mechanism.key,
        "parameters": mechanism.settings(),
        "lexicon": mechanism.lexicon.name,
        "fingerprint": mechanism.lexicon.fingerprint,
        "version": __version__,
    }


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object: UTF-8, no NaN and no infinity."""
    print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def _number(value: float) -> float | None:
    """A number for JSON, which has no infinity: None."""
    return value if math.isfinite(value) else None


def check_count(value: int, least: int, name: str) -> None:
    """Refuse a whole number outside least..MAX_DRAWS."""
    if not least <= value <= MAX_DRAWS:
        msg = f"{name} must be a whole number from {least} to {MAX_DRAWS:,}, got {value}"
        raise ParameterError(msg)


def _mechanisms(options: argparse.Namespace) -> int:
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import MECHANISMS

    lexicon: Lexicon = load(options.lexicon)
    rows: list[dict[str, Any]] = []
    for key, kind in MECHANISMS.items():
        mechanism = kind(lexicon=lexicon)
        allowed = mechanism.admissible
        rows.append(
            {
                "key": key,
                "name": kind.short,
                "title": kind.title,
                "summary": kind.summary,
                "caution": mechanism.caution,
                "source": kind.source,
                "epsilon_means": str(kind.meaning),
                "exact_law": kind.exact_law,
                "accepts_approximate_search": kind.accepts_approximate_search,
                "epsilon_above": allowed.low,
                "epsilon_below": _number(allowed.high),
                "parameters": {
                    name: {k: v for k, v in declared.items() if v is not None and k != "type"}
                    | {"default": declared["default"]}
                    for name, declared in kind.parameters().items()
                },
            }
        )
    if options.json:
        print_json({"lexicon": lexicon.name, "mechanisms": rows})
        return 0
    for row in rows:
        limits = f"ε > {row['epsilon_above']:.4g}"
        if row["epsilon_below"] is not None:
            limits += f", ε < {row['epsilon_below']:.4g}"
        print(f"{row['name']:<20} {row['title']}  [{row['epsilon_means']}; {limits}]")
        print(f"{'':<20} {row['summary']}. {row['source']}.")
        if row["caution"]:
            print(f"{'':<20} {row['caution']}.")
        for name, declared in row["parameters"].items():
            print(f"{'':<22}--set {name}={declared['default']}: {declared['help']}")
    return 0


def _distribution(options: argparse.Namespace) -> int:
    from dpcore.mechanisms.law import Effort
    from dpcore.noise.streams import generator

    check_count(options.draws, 2, "--draws")
    if options.top is not None:
        check_count(options.top, 1, "--top")
    mechanism = build(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    law = mechanism.law(
        options.word,
        epsilon,
        rng=generator(options.seed or 0, "distribution", mechanism.key),
        effort=Effort(directions=options.draws),
    )
    count = options.top or law.outputs.size
    outputs = law.top(count)
    if options.json:
        print_json(
            describe(mechanism)
            | {
                "epsilon": epsilon,
                "word": options.word,
                "exact": law.exact,
                "error": law.error,
                "method": law.method,
                "words": [word for word, _ in outputs],
                "probabilities": [probability for _, probability in outputs],
                "guarantee": mechanism.guarantee(epsilon).to_dict(),
            }
        )
        return 0
    kind = "exact" if law.exact else f"estimated, standard error up to {law.error:.2g}"
    print(f"{mechanism.title}, ε = {epsilon:g}, {options.word!r}: {law.method} ({kind})")
    for word, probability in outputs[: options.top or 20]:
        print(f"{probability:10.6f}  {word}")
    return 0


def _path(options: argparse.Namespace) -> int:
    import numpy as np

    from dpcore.noise.streams import generator

    mechanism = build(options)
    word = mechanism.lexicon.index(options.word)
    seed = options.seed or 0
    paths = mechanism.paths(
        generator(seed, "path", mechanism.key), np.array([word], dtype=np.int64)
    )
    pieces = [
        {
            "from_epsilon": piece.from_epsilon,
            "to_epsilon": _number(piece.to_epsilon),
            "output": mechanism.lexicon.words[piece.output],
        }
        for piece in paths.pieces(0)
    ]
    if options.json:
        print_json(
            describe(mechanism)
            | {"word": options.word, "seed": seed, "exact": paths.exact, "pieces": pieces}
        )
        return 0
    print(f"{mechanism.title}, one draw of {options.word!r}: for looking, not for releasing")
    for piece in pieces:
        end = "∞" if piece["to_epsilon"] is None else f"{piece['to_epsilon']:.4g}"
        print(f"{piece['from_epsilon']:>10.4g} ≤ ε < {end:<10} {piece['output']}")
    return 0
