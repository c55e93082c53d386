"""The command `rewrite`: a sentence or a file under a mechanism."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.cli.mechanisms import (
    build,
    check_count,
    describe,
    mechanism_options,
    print_json,
    seed_option,
)
from dpcore.errors import ParameterError, TextError
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands
    from dpcore.lexicon.neighbours import NeighbourIndex
    from dpcore.mechanisms.mechanism import Mechanism


def register(commands: Commands) -> None:
    """Add the command; its handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser("rewrite", help="rewrite a text under a mechanism")
    mechanism_options(command, epsilon=True)
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", help="the text itself")
    source.add_argument("--file", help="a UTF-8 text file; - reads standard input")
    seed_option(
        command, "makes the run an experiment that can be repeated; never release its output"
    )
    command.add_argument(
        "--draw", type=int, default=0, metavar="N", help="which draw of the seed (default 0)"
    )
    rewriting_options(command)
    command.add_argument(
        "--approximate-search",
        action="store_true",
        help="release through an approximate index: faster on large lexicons, and refused where "
        "it would break the guarantee",
    )
    command.set_defaults(handler=_rewrite)


def rewriting_options(command: argparse.ArgumentParser) -> None:
    """What becomes of unknown words, function words and capital letters."""
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


def _read(options: argparse.Namespace) -> str:
    return str(options.text) if options.text is not None else read_file(options.file)


def read_file(name: str) -> str:
    """The text of a UTF-8 file, or of standard input for "-".

    Raises:
        TextError: it cannot be read, or is too large.
    """
    from dpcore.rewrite.checks import decode

    try:
        if name == "-":
            return decode(sys.stdin.buffer.read())
        path = Path(name)
        if path.stat().st_size > 4 * MAX_FILE_CHARACTERS:
            msg = f"{path} is larger than {4 * MAX_FILE_CHARACTERS:,} bytes: split it"
            raise TextError(msg)
        return decode(path.read_bytes())
    except OSError as error:
        msg = f"cannot read {name}: {error.strerror}"
        raise TextError(msg) from None


def _approximate(mechanism: Mechanism) -> NeighbourIndex:
    """The approximate index, built only if this mechanism may use one."""
    from dpcore.lexicon.approximate import ApproximateIndex

    mechanism.check_search(exact=False)
    return ApproximateIndex(mechanism.lexicon)


def _rewrite(options: argparse.Namespace) -> int:
    from dpcore.noise.streams import generator
    from dpcore.rewrite.casing import CasePolicy
    from dpcore.rewrite.sentence import draw, prepare, release
    from dpcore.rewrite.vocabulary import UnknownWordPolicy, released_description

    policy, case = UnknownWordPolicy(options.unknown), CasePolicy(options.case)
    mechanism = build(options)
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
    if options.seed is not None and options.approximate_search:
        msg = "--approximate-search is for releasing; a run with --seed searches exactly"
        raise ParameterError(msg)
    if options.seed is None:
        index = _approximate(mechanism) if options.approximate_search else None
        rewritten = release(sentence, mechanism, epsilon, generator(None), index=index)
    else:
        import numpy as np

        check_count(options.draw, 0, "--draw")
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
    print_json(
        describe(mechanism)
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
