"""The command `autoencoder`: train a network on public text, rewrite private text with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.cli import adept as adept_cli
from dpcore.cli.mechanisms import describe, given_settings, print_json, seed_option
from dpcore.errors import ParameterError, StudyError, TextError
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS, MAX_SENTENCE_WORDS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpcore.cli.mechanisms import Commands
    from dpcore.learn.autoencoder.autoencoder import Architecture
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

_RANDOM = "random"
_MODELS = ("words", "adept")
_LINES = 64  # of a file, rewritten at a time


def register(commands: Commands) -> None:
    """Add the command; the handlers take the parsed arguments and return an exit code."""
    room = commands.add_parser("autoencoder", help="private rewriting by a neural network")
    actions = room.add_subparsers(required=True, metavar="action")

    command = actions.add_parser("train", help="train an auto-encoder on public sentences")
    _model(command)
    adept_cli.add_options(command)
    command.add_argument(
        "--data", type=Path, metavar="FILE", help="public: .txt, one sentence a line, or .parquet"
    )
    command.add_argument("--text-column", default="text", metavar="NAME", help="of a .parquet file")
    command.add_argument(
        "--vocabulary", type=int, default=3_000, metavar="N", help="(default 3000)"
    )
    command.add_argument("--norm", type=float, metavar="C", help="(default: no vector is clipped)")
    command.add_argument("--hidden", type=int, default=128, metavar="N", help="(default 128)")
    command.add_argument("--dropout", type=float, default=0.5, help="(default 0.5)")
    command.add_argument("--epochs", type=int, default=10, metavar="N", help="(default 10)")
    command.add_argument("--batch", type=int, default=64, metavar="N", help="(default 64)")
    command.add_argument("--rate", type=float, default=0.003, help="(default 0.003)")
    command.add_argument("--patience", type=int, default=2, metavar="N", help="epochs without gain")
    command.add_argument("--mechanism", help="learn with its noise (default: without)")
    command.add_argument("--out", type=Path, required=True, metavar="FILE.safetensors")
    command.add_argument("--resume", action="store_true", help="go on where training stopped")
    _common(command)
    seed_option(command, "of the network (default 0)")
    command.set_defaults(handler=_train)

    command = actions.add_parser("rewrite", help="rewrite private text")
    command.add_argument("--checkpoint", type=Path, required=True, metavar="FILE.safetensors")
    command.add_argument("--mechanism", help="a name from `mechanisms`: the noise on the vectors")
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--text")
    source.add_argument("--in", dest="file", metavar="FILE", help="one text a line; - reads stdin")
    _common(command)
    seed_option(command, "makes the noise repeatable: an experiment, not for release")
    command.set_defaults(handler=_rewrite)

    command = actions.add_parser("examples", help="record the examples that the app shows")
    _model(command)
    command.add_argument("--data", type=Path, metavar="DIR", help="adept: folder of corpora")
    command.add_argument("--out", type=Path, metavar="FILE.json", help="(default: ours)")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(handler=_examples)


def _model(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--model", choices=_MODELS, default=_MODELS[0],
        help="words: a vector a word; adept: one for the whole utterance (default words)",
    )  # fmt: skip


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--vectors", metavar="NAME|PATH", help=f"a lexicon, or {_RANDOM} (default: ours)"
    )
    command.add_argument("--epsilon", help="of the mechanism")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    command.add_argument("--device", default="cpu", help="or cuda, auto (default cpu)")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _vectors(options: argparse.Namespace) -> Lexicon:
    from dpcore.lexicon.catalogue import load
    from dpcore.study.vocabularies import random_vectors

    return random_vectors(load()) if options.vectors == _RANDOM else load(options.vectors)


def _mechanism(
    options: argparse.Namespace, lexicon: Lexicon, architecture: Architecture
) -> tuple[Mechanism, float]:
    """The mechanism and its ε; vectors are clipped as the network knows them."""
    from dpcore.mechanisms.registry import create, resolve

    if options.mechanism is None or options.epsilon is None:
        raise ParameterError("--mechanism and --epsilon say which noise the vectors get: give both")
    settings: dict[str, Any] = dict(given_settings(options))
    if "clip_norm" in resolve(options.mechanism).parameters():
        settings.setdefault("clip_norm", architecture.norm)
    made = create(options.mechanism, lexicon, settings)
    return made, made.check_epsilon(options.epsilon)


def _train(options: argparse.Namespace) -> int:
    from functools import partial

    from dpcore.cli.terminal import progress_bars
    from dpcore.learn.autoencoder.autoencoder import Architecture
    from dpcore.learn.autoencoder.training import (
        drawn,
        frequent_words,
        save_autoencoder,
        train,
    )
    from dpcore.learn.training_settings import Training

    architecture = Architecture(options.hidden, options.dropout, options.norm)
    training = Training(
        epochs=options.epochs,
        batch=options.batch,
        rate=options.rate,
        patience=options.patience,
        seed=options.seed or 0,
    )
    state = _state(options)
    texts = _public(options)
    if options.model == "adept":
        return adept_cli.train_model(options, texts, state)
    lexicon = frequent_words(texts, _vectors(options), options.vocabulary)
    noise, name = None, ""
    if options.mechanism is not None or options.epsilon is not None:
        mechanism, epsilon = _mechanism(options, lexicon, architecture)
        noise, name = partial(drawn, mechanism, epsilon), f"{mechanism.key} {epsilon!r}"
        name += repr(sorted(mechanism.settings().items()))
    with progress_bars() as progress:
        made, fitted = train(
            texts, lexicon, architecture, training,
            noise=noise, noise_name=name, device=options.device, state=state, progress=progress,
        )  # fmt: skip
    history = [
        {"loss": one.loss, "held_out": one.held_out, "seconds": one.seconds}
        for one in fitted.epochs
    ]
    facts = {"epochs": history, "best": fitted.best, "noise": name, "seed": training.seed}
    save_autoencoder(options.out, made, facts)
    state.unlink(missing_ok=True)
    if options.json:
        print_json(
            {
                "file": options.out.name,
                "texts": len(texts),
                "words": len(lexicon),
                "lexicon": lexicon.name,
                "fingerprint": lexicon.fingerprint,
                "epochs": history,
                "best": fitted.best,
                "stopped": fitted.stopped,
                "version": __version__,
            }
        )
        return 0
    for number, one in enumerate(history, start=1):
        print(f"epoch {number}: loss {one['loss']:.4f}, held out {one['held_out']:.4f} nats a word")
    print(f"{options.out}: {len(lexicon):,} words, epoch {fitted.best + 1} of {len(history)} kept")
    return 0


def _state(options: argparse.Namespace) -> Path:
    """Where training keeps what it has reached; there only while it is not finished."""
    from dpcore.learn.checkpoint import unfinished
    from dpcore.learn.packages import safetensors, torch

    torch(), safetensors("numpy")  # said before a corpus is read
    return unfinished(options.out, resume=options.resume)


def _public(options: argparse.Namespace) -> list[str]:
    """The texts that are trained on."""
    if options.data is None:
        from dpcore.learn.corpus import teaching_corpus
        from dpcore.study.autoencoder_trial import sentences_of

        return sentences_of(teaching_corpus().part("train").texts, 1, MAX_SENTENCE_WORDS)
    if options.data.suffix == ".parquet":
        from dpcore.study.tables import need_pandas

        try:
            column = need_pandas("reading a corpus needs").read_parquet(
                options.data, columns=[options.text_column]
            )
        except (OSError, ValueError, KeyError):
            raise StudyError(
                f"{options.data} is not a parquet file with the column {options.text_column!r}"
            ) from None
        return [str(one) for one in column[options.text_column].dropna()]
    return _lines(str(options.data))


def _lines(name: str) -> list[str]:
    """The lines of a text file, or of standard input."""
    from dpcore.cli.rewrite import read_file
    from dpcore.rewrite.checks import check_text

    text = read_file(name)
    check_text(text, max_characters=MAX_FILE_CHARACTERS, max_tokens=MAX_FILE_TOKENS)
    return text.splitlines()


def _rewrite(options: argparse.Namespace) -> int:
    import numpy as np

    from dpcore.learn.adept.adept import ARCHITECTURE
    from dpcore.learn.autoencoder.training import load_autoencoder
    from dpcore.learn.checkpoint import load
    from dpcore.noise.streams import generator
    from dpcore.rewrite.checks import check_text
    from dpcore.rewrite.documents import encode_all

    if options.text is not None:
        check_text(options.text)
    if load(options.checkpoint).architecture == ARCHITECTURE:
        lines = [options.text] if options.text is not None else _lines(options.file)
        return adept_cli.rewrite_lines(options, lines)
    made, _ = load_autoencoder(options.checkpoint, _vectors(options), options.device)
    mechanism, epsilon = _mechanism(options, made.lexicon, made.architecture)
    lines = [options.text] if options.text is not None else _lines(options.file)
    rng = generator(options.seed, "auto-encoder", mechanism.key)
    found: list[str] = []
    longest = words = 0
    for start in range(0, len(lines), _LINES):
        documents = encode_all(lines[start : start + _LINES], made.lexicon, first=start)
        most = int(np.diff(documents.offsets).max())
        if not most <= MAX_SENTENCE_WORDS:
            raise TextError(
                f"a text of {most:,} words is too long for an auto-encoder; up to "
                f"{MAX_SENTENCE_WORDS:,} are allowed: put each sentence on a line of its own"
            )
        found += documents.texts(made.rewrite(documents, mechanism, epsilon, rng))
        longest, words = max(longest, most), words + documents.words.size
    _print(options, mechanism, epsilon, found, longest, words)
    return 0


def _print(
    options: argparse.Namespace,
    mechanism: Mechanism,
    epsilon: float,
    texts: Sequence[str],
    longest: int,
    words: int,
) -> None:
    import sys

    guarantee = mechanism.guarantee(epsilon)
    if options.json:
        print_json(
            describe(mechanism)
            | {
                "epsilon": epsilon,
                "texts": list(texts),
                "guarantee": guarantee.to_dict(),
                "protected_words": words,
                "longest_text": longest,
                "whole_text": guarantee.for_tokens(longest),
                "experiment": options.seed is not None,
            }
        )
        return
    for text in texts:
        print(text)
    print(f"{guarantee.status}: {guarantee.statement}", file=sys.stderr)
    print(guarantee.for_tokens(longest), file=sys.stderr)
    if options.seed is not None:
        print("an experiment with a fixed seed: do not release this text", file=sys.stderr)


def _examples(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.papers.huang2024.autoencoder_examples import examples_path, make_examples

    if options.model == "adept":
        return adept_cli.write_examples(options)
    out = options.out or examples_path()
    with progress_bars() as progress:
        found = make_examples(out, progress)
    if options.json:
        print_json({"file": out.name, "rows": len(found.rows)} | found.facts)
        return 0
    print(f"{out}: {len(found.rows)} examples of {found.facts['words']:,} words")
    return 0
