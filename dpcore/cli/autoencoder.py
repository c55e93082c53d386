"""The command `autoencoder`: train a network on public text, rewrite private text with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from click import Choice, option

from dpcore.cli import autoencoder_adept as adept
from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.rewrite import promises
from dpcore.cli.shell import Options, command, group, one_of
from dpcore.cli.terminal import progress_bars
from dpcore.errors import StudyError, TextError
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS, MAX_SENTENCE_WORDS

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.learn.autoencoder.autoencoder import Architecture
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism

_RANDOM = "random"
_LINES = 64  # of a file, rewritten at a time

autoencoder_command = group("autoencoder", "Private rewriting by a neural network.")

_model_option = option(
    "--model",
    default="words",
    type=Choice(["words", "adept"]),
    help="words: a vector a word; adept: one for the whole utterance",
)
_noise_options = shared.several(
    option("--mechanism", help="a name from `mechanisms`: the noise on the vectors"),
    option("--epsilon", help="of the mechanism"),
    shared.settings_option,
    option("--vectors", metavar="NAME|PATH", help=f"a lexicon, or {_RANDOM}  [default: ours]"),
    shared.device_option,
)


def _vectors(options: Options) -> Lexicon:
    from dpcore.lexicon.catalogue import load
    from dpcore.study.vocabularies import random_vectors

    return random_vectors(load()) if options.vectors == _RANDOM else load(options.vectors)


def _mechanism(
    options: Options, lexicon: Lexicon, architecture: Architecture
) -> tuple[Mechanism, float]:
    """The mechanism and its ε; vectors are clipped as the network knows them."""
    from dpcore.mechanisms.registry import create, resolve

    adept.check_noise(options)
    settings: dict[str, Any] = dict(shared.given_settings(options))
    if "clip_norm" in resolve(options.mechanism).parameters():
        settings.setdefault("clip_norm", architecture.norm)
    mechanism = create(options.mechanism, lexicon, settings)
    return mechanism, mechanism.check_epsilon(options.epsilon)


@command("train", autoencoder_command)
@_model_option
@shared.number("--latent", 32, "of adept: coordinates of the vector")
@shared.number("--longest", 15, "of adept: words read")
@shared.file("--data", "public: .txt, one sentence a line, or .parquet  [default: ours]")
@option("--text-column", default="text", metavar="NAME", help="of a .parquet file")
@shared.number("--vocabulary", 3_000, "words at most")
@option("--norm", type=float, metavar="C", help="of clipped vectors  [default: none is clipped]")
@shared.number("--hidden", 128)
@option("--dropout", default=0.5)
@shared.number("--epochs", 10)
@shared.number("--batch", 64)
@option("--rate", default=0.003)
@shared.number("--patience", 2, "epochs without gain")
@shared.file("--out", metavar="FILE.safetensors", required=True)
@shared.resume_option
@_noise_options
@shared.seed_option("of the network  [default: 0]")
def _train(options: Options) -> Answer:
    """Train an auto-encoder on public sentences, with the noise of a mechanism if one is named."""
    from functools import partial

    from dpcore.learn.autoencoder.autoencoder import Architecture
    from dpcore.learn.autoencoder.training import drawn, frequent_words, save_autoencoder, train
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
        return adept.train_model(options, texts, state)
    lexicon = frequent_words(texts, _vectors(options), options.vocabulary)
    noise, name = None, ""
    if options.mechanism is not None or options.epsilon is not None:
        mechanism, epsilon = _mechanism(options, lexicon, architecture)
        noise, name = partial(drawn, mechanism, epsilon), f"{mechanism.key} {epsilon!r}"
        name += repr(sorted(mechanism.settings().items()))
    with progress_bars() as progress:
        model, fitted = train(
            texts, lexicon, architecture, training,
            noise=noise, noise_name=name, device=options.device, state=state, progress=progress,
        )  # fmt: skip
    facts = {"epochs": adept.history_of(fitted), "best": fitted.best}
    save_autoencoder(options.out, model, facts | {"noise": name, "seed": training.seed})
    state.unlink(missing_ok=True)
    fields = {
        "texts": len(texts),
        "words": len(lexicon),
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
    }
    return adept.trained(options, fitted, fields, f"{len(lexicon):,} words")


def _state(options: Options) -> Path:
    """Where training keeps what it has reached; there only while it is not finished."""
    from dpcore.learn.checkpoint import unfinished
    from dpcore.learn.packages import safetensors, torch

    torch(), safetensors("numpy")  # said before a corpus is read
    return unfinished(options.out, resume=options.resume)


def _public(options: Options) -> list[str]:
    """The texts that are trained on."""
    if options.data is None:
        from dpcore.learn.corpus import teaching_corpus
        from dpcore.study.autoencoder_trial import sentences_of

        return sentences_of(teaching_corpus().part("train").texts, 1, MAX_SENTENCE_WORDS)
    if options.data.suffix == ".parquet":
        from dpcore.learn.packages import need_pandas

        name = options.text_column
        try:
            table = need_pandas("reading a corpus needs").read_parquet(options.data, columns=[name])
        except (OSError, ValueError, KeyError):
            raise StudyError(
                f"{options.data} is not a parquet file with the column {name!r}"
            ) from None
        return [str(text) for text in table[name].dropna()]
    return _lines(str(options.data))


def _lines(name: str) -> list[str]:
    """The lines of a text file, or of standard input."""
    from dpcore.rewrite.checks import check_text

    text = shared.read_text(name)
    check_text(text, max_characters=MAX_FILE_CHARACTERS, max_tokens=MAX_FILE_TOKENS)
    return text.splitlines()


@command("rewrite", autoencoder_command)
@shared.file("--checkpoint", "of `autoencoder train`", metavar="FILE.safetensors", required=True)
@one_of({"--text": {}, "--in file": {"metavar": "FILE", "help": "one text a line; - reads stdin"}})
@_noise_options
@shared.seed_option("makes the noise repeatable: an experiment, not for release")
def _rewrite(options: Options) -> Answer:
    """Rewrite private text."""
    from dpcore.learn.adept.adept import ARCHITECTURE
    from dpcore.learn.checkpoint import load
    from dpcore.rewrite.checks import check_text

    if options.text is not None:
        check_text(options.text)
    whole = load(options.checkpoint).architecture == ARCHITECTURE
    lines = _lines(options.file) if options.text is None else [options.text]
    return (adept.rewrite_lines if whole else _rewrite_lines)(options, lines)


def _rewrite_lines(options: Options, lines: Sequence[str]) -> Answer:
    import numpy as np

    from dpcore.learn.autoencoder.training import load_autoencoder
    from dpcore.noise.streams import generator
    from dpcore.rewrite.documents import encode_all

    model, _ = load_autoencoder(options.checkpoint, _vectors(options), options.device)
    mechanism, epsilon = _mechanism(options, model.lexicon, model.architecture)
    rng = generator(options.seed, "auto-encoder", mechanism.key)
    texts: list[str] = []
    longest = words = 0
    for start in range(0, len(lines), _LINES):
        documents = encode_all(lines[start : start + _LINES], model.lexicon, first=start)
        most = int(np.diff(documents.offsets).max())
        if not most <= MAX_SENTENCE_WORDS:
            raise TextError(
                f"a text of {most:,} words is too long for an auto-encoder; up to "
                f"{MAX_SENTENCE_WORDS:,} are allowed: put each sentence on a line of its own"
            )
        texts += documents.texts(model.rewrite(documents, mechanism, epsilon, rng))
        longest, words = max(longest, most), words + documents.words.size
    guarantee = mechanism.guarantee(epsilon)
    return Answer(
        shared.mechanism_fields(mechanism)
        | {
            "epsilon": epsilon,
            "texts": texts,
            "guarantee": guarantee.to_dict(),
            "protected_words": words,
            "longest_text": longest,
            "whole_text": guarantee.for_tokens(longest),
            "experiment": options.seed is not None,
        },
        texts,
        promises(guarantee, longest, options.seed),
    )


@command("examples", autoencoder_command)
@_model_option
@shared.file("--data", "of adept: folder of corpora", metavar="DIR")
@shared.file("--out", "[default: ours]", metavar="FILE.json")
def _examples(options: Options) -> Answer:
    """Record the examples that the app shows."""
    from dpcore.papers.huang2024.autoencoder_examples import examples_path, make_examples

    if options.model == "adept":
        return adept.write_examples(options)
    out = options.out or examples_path()
    with progress_bars() as progress:
        examples = make_examples(out, progress)
    count = len(examples.rows)
    return Answer(
        {"file": out.name, "rows": count} | examples.facts,
        [f"{out}: {count} examples of {examples.facts['words']:,} words"],
    )
