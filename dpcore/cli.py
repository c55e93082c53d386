"""The command line: the same engine as the pages, on one word, a sentence or a file.

Every command prints a table for a person, or with `--json` one JSON object whose fields are
stable. A refused input is one sentence on standard error and exit code 2, never a traceback.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.errors import DpcoreError, ParameterError, TextError
from dpcore.limits import MAX_DRAWS, MAX_FILE_CHARACTERS, MAX_FILE_TOKENS, MAX_SEED

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        0, or 2 for a refused input, or 130 after an interrupt.
    """
    options = _parser().parse_args(arguments)
    try:
        return int(options.handler(options))
    except DpcoreError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe went away, which is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    from dpcore.lexicon.cli import register

    parser = argparse.ArgumentParser(
        prog="python -m dpcore", description="Word-level differential privacy from the shell."
    )
    parser.add_argument("--version", action="version", version=f"dpcore {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    command = commands.add_parser("mechanisms", help="list the mechanisms and their parameters")
    _common(command)
    command.set_defaults(handler=_mechanisms)

    command = commands.add_parser("rewrite", help="rewrite a text under a mechanism")
    _mechanism(command, epsilon=True)
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", help="the text itself")
    source.add_argument("--file", help="a UTF-8 text file; - reads standard input")
    _seed(command, "makes the run an experiment that can be repeated; never release its output")
    command.add_argument(
        "--draw", type=int, default=0, metavar="N", help="which draw of the seed (default 0)"
    )
    command.add_argument(
        "--unknown",
        default="replace",
        choices=("replace", "mask", "drop", "reject"),
        help="what becomes of words outside the vocabulary (default replace)",
    )
    command.add_argument(
        "--keep-stop-words", action="store_true", help="release function words unchanged"
    )
    command.add_argument(
        "--case",
        default="keep",
        choices=("keep", "sentence"),
        help="capital letters: keep their pattern, or only at sentence beginnings (default keep)",
    )
    command.set_defaults(handler=_rewrite)

    command = commands.add_parser("distribution", help="the probability of each output of a word")
    _mechanism(command, epsilon=True)
    command.add_argument("--word", required=True)
    command.add_argument("--top", type=int, metavar="N", help="print only the N most likely")
    command.add_argument(
        "--draws", type=int, default=1000, metavar="N", help="directions or draws of an estimate"
    )
    _seed(command, "of an estimated distribution (default 0)")
    command.set_defaults(handler=_distribution)

    command = commands.add_parser("path", help="what one noise draw makes of a word at every ε")
    _mechanism(command, epsilon=False)
    command.add_argument("--word", required=True)
    _seed(command, "of the draw (default 0)")
    command.set_defaults(handler=_path)

    register(commands)
    return parser


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--lexicon", help="a name from `lexicon list`, or a path (default: ours)")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _mechanism(command: argparse.ArgumentParser, *, epsilon: bool) -> None:
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
    _common(command)


def _seed(command: argparse.ArgumentParser, meaning: str) -> None:
    command.add_argument("--seed", type=int, metavar="N", help=f"0 to {MAX_SEED}: {meaning}")


def _build(options: argparse.Namespace) -> Mechanism:
    """The mechanism that the options name, over the lexicon that they name."""
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import create, resolve

    resolve(options.mechanism)  # a wrong name is said before a large lexicon is read
    settings: dict[str, str] = {}
    for setting in options.set:
        name, equals, value = setting.partition("=")
        if not (name and equals):
            msg = f"--set takes NAME=VALUE, got {setting[:60]!r}"
            raise ParameterError(msg)
        settings[name.strip()] = value.strip()
    return create(options.mechanism, load(options.lexicon), settings)


def _describe(mechanism: Mechanism) -> dict[str, Any]:
    """The fields that every result begins with."""
    return {
        "mechanism": mechanism.key,
        "parameters": mechanism.settings(),
        "lexicon": mechanism.lexicon.name,
        "fingerprint": mechanism.lexicon.fingerprint,
        "version": __version__,
    }


def _print(result: dict[str, Any]) -> None:
    print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def _number(value: float) -> float | None:
    """A number for JSON, which has no infinity: None."""
    return value if math.isfinite(value) else None


def _mechanisms(options: argparse.Namespace) -> int:
    from dpcore.lexicon.catalogue import load
    from dpcore.mechanisms.registry import MECHANISMS

    lexicon: Lexicon = load(options.lexicon)
    rows: list[dict[str, Any]] = []
    for key, kind in MECHANISMS.items():
        allowed = kind(lexicon=lexicon).admissible
        rows.append(
            {
                "key": key,
                "name": kind.short,
                "title": kind.title,
                "summary": kind.summary,
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
        _print({"lexicon": lexicon.name, "mechanisms": rows})
        return 0
    for row in rows:
        limits = f"ε > {row['epsilon_above']:.4g}"
        if row["epsilon_below"] is not None:
            limits += f", ε < {row['epsilon_below']:.4g}"
        print(f"{row['name']:<20} {row['title']}  [{row['epsilon_means']}; {limits}]")
        print(f"{'':<20} {row['summary']}. {row['source']}.")
        for name, declared in row["parameters"].items():
            print(f"{'':<22}--set {name}={declared['default']}: {declared['help']}")
    return 0


def _read(options: argparse.Namespace) -> str:
    from dpcore.rewrite.checks import decode

    if options.text is not None:
        return str(options.text)
    try:
        if options.file == "-":
            return decode(sys.stdin.buffer.read())
        path = Path(options.file)
        if path.stat().st_size > 4 * MAX_FILE_CHARACTERS:
            msg = f"{path} is larger than {4 * MAX_FILE_CHARACTERS:,} bytes: split it"
            raise TextError(msg)
        return decode(path.read_bytes())
    except OSError as error:
        msg = f"cannot read {options.file}: {error.strerror}"
        raise TextError(msg) from None


def _rewrite(options: argparse.Namespace) -> int:
    from dpcore.rewrite.casing import CasePolicy
    from dpcore.rewrite.randomness import generator
    from dpcore.rewrite.sentence import draw, prepare, release
    from dpcore.rewrite.vocabulary import UnknownWordPolicy, released_description

    policy, case = UnknownWordPolicy(options.unknown), CasePolicy(options.case)
    mechanism = _build(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    sentence = prepare(
        _read(options),
        mechanism.lexicon,
        policy=policy,
        keep_stop_words=options.keep_stop_words,
        case_policy=case,
        max_characters=MAX_FILE_CHARACTERS,
        max_tokens=MAX_FILE_TOKENS,
    )
    if options.seed is None:
        rewritten = release(sentence, mechanism, epsilon, generator(None))
    else:
        import numpy as np

        _at_least(options.draw, 0, "--draw")
        drawn = draw(sentence, mechanism, options.seed, options.draw, epsilons=np.array([epsilon]))
        rewritten = drawn.at(epsilon)
    guarantee = mechanism.guarantee(epsilon)
    if not options.json:
        print(rewritten.text)
        print(f"{guarantee.status}: {guarantee.statement}", file=sys.stderr)
        print(guarantee.for_tokens(sentence.protected), file=sys.stderr)
        if options.seed is not None:
            print("an experiment with a fixed seed: do not release this text", file=sys.stderr)
        return 0
    released = released_description(
        policy, keep_stop_words=options.keep_stop_words, case_policy=case
    )
    _print(
        _describe(mechanism)
        | {
            "epsilon": epsilon,
            "tokens": [
                {
                    "input": token.input,
                    "output": token.output,
                    "changed": token.changed,
                    "in_vocabulary": token.in_vocabulary,
                    "role": str(token.role),
                }
                for token in rewritten.tokens
            ],
            "text": rewritten.text,
            "guarantee": guarantee.to_dict(),
            "protected_words": sentence.protected,
            "whole_text": guarantee.for_tokens(sentence.protected),
            "unknown_words": str(policy),
            "released": list(released),
            "experiment": options.seed is not None,
        }
    )
    return 0


def _at_least(value: int, least: int, name: str) -> None:
    if not least <= value <= MAX_DRAWS:
        msg = f"{name} must be a whole number from {least} to {MAX_DRAWS:,}, got {value}"
        raise ParameterError(msg)


def _distribution(options: argparse.Namespace) -> int:
    from dpcore.mechanisms.law import Effort
    from dpcore.rewrite.randomness import generator

    _at_least(options.draws, 2, "--draws")
    if options.top is not None:
        _at_least(options.top, 1, "--top")
    mechanism = _build(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    word = mechanism.lexicon.index(options.word)
    law = mechanism.law(
        word,
        [epsilon],
        rng=generator(options.seed or 0, "distribution", mechanism.key),
        effort=Effort(directions=options.draws),
    )
    count = options.top or law.outputs.size
    outputs = law.top(count)
    words = [mechanism.lexicon.words[index] for index, _ in outputs]
    if options.json:
        _print(
            _describe(mechanism)
            | {
                "epsilon": epsilon,
                "word": options.word,
                "exact": law.exact,
                "error": law.error,
                "method": law.method,
                "words": words,
                "probabilities": [probability for _, probability in outputs],
                "guarantee": mechanism.guarantee(epsilon).to_dict(),
            }
        )
        return 0
    kind = "exact" if law.exact else f"estimated, standard error up to {law.error:.2g}"
    print(f"{mechanism.title}, ε = {epsilon:g}, {options.word!r}: {law.method} ({kind})")
    for output, (_, probability) in list(zip(words, outputs, strict=True))[: options.top or 20]:
        print(f"{probability:10.6f}  {output}")
    return 0


def _path(options: argparse.Namespace) -> int:
    import numpy as np

    from dpcore.rewrite.randomness import generator

    mechanism = _build(options)
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
        _print(
            _describe(mechanism)
            | {"word": options.word, "seed": seed, "exact": paths.exact, "pieces": pieces}
        )
        return 0
    print(f"{mechanism.title}, one draw of {options.word!r}: for looking, not for releasing")
    for piece in pieces:
        end = "∞" if piece["to_epsilon"] is None else f"{piece['to_epsilon']:.4g}"
        print(f"{piece['from_epsilon']:>10.4g} ≤ ε < {end:<10} {piece['output']}")
    return 0
