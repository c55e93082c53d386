"""Command `autoencoder`: train a network on public text, rewrite private text with it.

The model `words` has a vector for each word, the model `adept` one latent vector for a whole
utterance (Krishna et al. 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, option

from dpcore import __version__
from dpcore.attack.latent import examples_path as adept_examples_path
from dpcore.audit.composition import composition
from dpcore.cli import fields, flags
from dpcore.cli.printer import Answer
from dpcore.cli.reading import read_text
from dpcore.cli.shell import Options, command, group, one_of
from dpcore.cli.texts import EXPERIMENT_NOTE, promises
from dpcore.errors import ParameterError, StudyError, TextError
from dpcore.learn.adept import (
    ARCHITECTURE,
    AdeptSettings,
    Shape,
    load_adept,
    save_adept,
    train_adept,
    words_of,
)
from dpcore.learn.autoencoder import (
    Architecture,
    draw_vectors,
    frequent_words,
    load_autoencoder,
    save_autoencoder,
    train,
)
from dpcore.learn.checkpoint import load as load_checkpoint
from dpcore.learn.checkpoint import state_file
from dpcore.learn.corpus import teaching_corpus
from dpcore.learn.training import TrainingRecord
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS, MAX_SENTENCE_WORDS
from dpcore.mechanisms.clipped.adept import FORMS, NoisyLatents
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create, resolve
from dpcore.noise.streams import generator
from dpcore.optional import need_pandas, safetensors, torch
from dpcore.papers.habernal2021.plans import make_examples as make_adept_examples
from dpcore.papers.huang2024.autoencoder_examples import examples_path, make_examples
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.sentence import check_text
from dpcore.study.autoencoder_trial import sentences_of
from dpcore.study.vocabularies import random_vectors

_RANDOM = "random"
_LINES = 64  # of a file, rewritten at a time
_VOCABULARY = "words of the public texts"
_NOT_COVERED = (
    "the guarantee is about the text that is rewritten; it says nothing of the texts that the "
    "network was trained on"
)

autoencoder_command = group("autoencoder", "Private rewriting by a neural network.")

_model_option = option(
    "--model",
    default="words",
    type=Choice(["words", "adept"]),
    help="words: a vector a word; adept: one for the whole utterance",
)
_noise_options = flags.several(
    option("--mechanism", help="a name from `mechanisms`: the noise on the vectors"),
    option("--epsilon", help="of the mechanism"),
    flags.settings,
    option("--vectors", metavar="NAME|PATH", help=f"a lexicon, or {_RANDOM}  [default: ours]"),
    flags.device,
)


@command("train", autoencoder_command)
@_model_option
@flags.number("--latent", 32, "of adept: coordinates of the vector")
@flags.number("--longest", 15, "of adept: words read")
@flags.file("--data", "public: .txt, one sentence a line, or .parquet  [default: ours]")
@option("--text-column", default="text", metavar="NAME", help="of a .parquet file")
@flags.number("--vocabulary", 3_000, "words at most")
@option("--norm", type=float, metavar="C", help="of clipped vectors  [default: none is clipped]")
@flags.number("--hidden", 128)
@option("--dropout", default=0.5)
@flags.training(epochs=10, batch=64, rate=0.003, patience=2)
@_noise_options
@flags.seed("of the network")
def _train(options: Options) -> Answer:
    """Train an auto-encoder on public sentences, with the noise of a mechanism if one is named."""
    torch(), safetensors("numpy")  # an error should come before a corpus is read
    state = state_file(options.out, resume=options.resume)
    return (_train_adept if options.model == "adept" else _train_words)(options, state)


def _train_words(options: Options, state: Path) -> Answer:
    architecture = Architecture(options.hidden, options.dropout, options.norm)
    training = flags.training_of(options)
    texts = _public(options)
    lexicon = frequent_words(texts, _vectors(options), options.vocabulary)
    noise, name = None, ""
    if options.mechanism is not None or options.epsilon is not None:
        mechanism, epsilon = _mechanism(options, lexicon, architecture)
        noise, name = partial(draw_vectors, mechanism, epsilon), f"{mechanism.key} {epsilon!r}"
        # Part of the state: training that is resumed must go on under the same noise.
        name += repr(sorted(mechanism.settings().items()))
    model, fitted = train(
        texts, lexicon, architecture, training,
        noise=noise, noise_name=name, device=options.device, state=state,
        progress=options.progress,
    )  # fmt: skip
    facts = {"epochs": _history(fitted), "best": fitted.best}
    save_autoencoder(options.out, model, facts | {"noise": name, "seed": training.seed})
    # After the network is saved: until then an interrupt loses nothing.
    state.unlink(missing_ok=True)
    about = {
        "texts": len(texts),
        "words": len(lexicon),
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
    }
    return _trained(options, fitted, about, f"{len(lexicon):,} words")


def _train_adept(options: Options, state: Path) -> Answer:
    for name in ("vectors", "norm", "mechanism", "epsilon"):
        # Refused and not ignored: a person would believe that their noise was used.
        if getattr(options, name) is not None:
            raise ParameterError(
                f"the model adept learns its own words and vectors, without noise of a mechanism: "
                f"leave out --{name}"
            )
    settings = AdeptSettings(
        Shape(hidden=options.hidden, latent=options.latent),
        most=options.vocabulary,
        longest=options.longest,
        training=flags.training_of(options, clip=5.0),
    )
    # A text without a word teaches nothing, and has no latent vector.
    texts = [text for text in _public(options) if words_of(text)]
    model, fitted = train_adept(
        texts, settings, device=options.device, state=state, progress=options.progress
    )
    save_adept(options.out, model)
    state.unlink(missing_ok=True)
    words = len(model.vocabulary.words)
    about = {
        "texts": len(texts),
        "words": words,
        "lexicon": _VOCABULARY,
        "fingerprint": model.vocabulary.fingerprint,
        "latent": options.latent,
        "clip_norm_l1": model.manhattan,
    }
    size = f"{words:,} words, {options.latent} latent coordinates"
    return _trained(options, fitted, about, size)


def _public(options: Options) -> list[str]:
    """Return the public texts for training."""
    if options.data is None:
        return sentences_of(teaching_corpus().part("train").texts, 1, MAX_SENTENCE_WORDS)
    if options.data.suffix == ".parquet":
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
    """Read the lines of a text file, or of standard input."""
    text = read_text(name)
    check_text(text, max_characters=MAX_FILE_CHARACTERS, max_tokens=MAX_FILE_TOKENS)
    return text.splitlines()


def _vectors(options: Options) -> Lexicon:
    return random_vectors(load()) if options.vectors == _RANDOM else load(options.vectors)


def _check_noise(options: Options) -> None:
    """Refuse a mechanism without its ε, and an ε without its mechanism."""
    if options.mechanism is None or options.epsilon is None:
        raise ParameterError("--mechanism and --epsilon say which noise the vectors get: give both")


def _mechanism(
    options: Options, lexicon: Lexicon, architecture: Architecture
) -> tuple[Mechanism, float]:
    """Return the mechanism and its ε; vectors are clipped to the norm of the network."""
    _check_noise(options)
    settings: dict[str, Any] = dict(options.set)
    if "clip_norm" in resolve(options.mechanism).parameters():
        # The norm that the network was trained with; another one may still be asked for.
        settings.setdefault("clip_norm", architecture.norm)
    mechanism = create(options.mechanism, lexicon, settings)
    return mechanism, mechanism.check_epsilon(options.epsilon)


def _history(fitted: TrainingRecord) -> list[dict[str, float]]:
    """Return the losses of each epoch, as rows of the result and of the checkpoint."""
    return [fields.some(epoch, "loss held_out seconds") for epoch in fitted.epochs]


def _trained(options: Options, fitted: TrainingRecord, about: dict[str, Any], size: str) -> Answer:
    """Describe a trained network: data, size and course of the training."""
    history = _history(fitted)
    lines = [
        f"epoch {number}: loss {row['loss']:.4f}, held out {row['held_out']:.4f} nats a word"
        for number, row in enumerate(history, start=1)
    ]
    kept = f"{size}, epoch {fitted.best + 1} of {len(history)} kept"
    return Answer(
        {
            "file": options.out.name,
            **about,
            "epochs": history,
            **fields.some(fitted, "best stopped"),
            "version": __version__,
        },
        [*lines, f"{options.out}: {kept}"],
    )


@command("rewrite", autoencoder_command)
@flags.file("--checkpoint", "of `autoencoder train`", metavar="FILE.safetensors", required=True)
@one_of({"--text": {}, "--in file": {"metavar": "FILE", "help": "one text a line; - reads stdin"}})
@_noise_options
@flags.seed("makes the noise repeatable: an experiment, not for release", None)
def _rewrite(options: Options) -> Answer:
    """Rewrite private text."""
    if options.text is not None:
        check_text(options.text)
    _check_noise(options)
    # The file says which of the two models it holds, so the option is not needed here.
    whole = load_checkpoint(options.checkpoint).architecture == ARCHITECTURE
    lines = _lines(options.file) if options.text is None else [options.text]
    return (_rewrite_utterances if whole else _rewrite_words)(options, lines)


def _rewrite_words(options: Options, lines: Sequence[str]) -> Answer:
    model, _ = load_autoencoder(options.checkpoint, _vectors(options), options.device)
    mechanism, epsilon = _mechanism(options, model.lexicon, model.architecture)
    # One generator for all lines: the noise of a part goes on where that of the last one ended.
    rng = generator(options.seed, "auto-encoder", mechanism.key)
    texts: list[str] = []
    longest = words = 0
    for start in range(0, len(lines), _LINES):
        # `first` numbers the lines of the whole file in messages.
        documents = encode_all(lines[start : start + _LINES], model.lexicon, first=start)
        most = int(np.diff(documents.offsets).max())
        if not most <= MAX_SENTENCE_WORDS:
            raise TextError(
                f"a text of {most:,} words is too long for an auto-encoder; up to "
                f"{MAX_SENTENCE_WORDS:,} are allowed: put each sentence on a line of its own"
            )
        texts += documents.texts(model.rewrite(documents, mechanism, epsilon, rng))
        longest, words = max(longest, most), words + documents.words.size
    # For the longest text: what holds for it holds for every shorter one.
    composed = composition(mechanism, epsilon, longest)
    guarantee = composed.guarantee
    return Answer(
        fields.of_mechanism(mechanism)
        | {
            "epsilon": epsilon,
            "texts": texts,
            "guarantee": guarantee.to_dict(),
            "protected_words": words,
            "longest_text": longest,
            "whole_text": guarantee.for_tokens(longest),
            "composed": composed.to_dict(),
            "experiment": options.seed is not None,
        },
        texts,
        promises(composed, options.seed),
    )


def _rewrite_utterances(options: Options, lines: Sequence[str]) -> Answer:
    """Rewrite with the model `adept`; empty lines stay empty."""
    name = options.mechanism
    if name not in FORMS:
        raise ParameterError(
            f"the noise of this network is one of {', '.join(FORMS)}, got {name[:40]!r}"
        )
    try:
        epsilon = float(options.epsilon)
    except ValueError:
        raise ParameterError(f"epsilon must be a number, got {options.epsilon[:40]!r}") from None
    model = load_adept(options.checkpoint, options.device)
    rng = generator(options.seed, "adept", name)
    # A line without a word has no latent vector that noise could hide.
    places = [i for i, line in enumerate(lines) if words_of(line)]
    rewritten = model.rewrite([lines[i] for i in places], epsilon, rng, FORMS[name])
    texts = [""] * len(lines)
    for place, text in zip(places, rewritten.texts, strict=True):
        texts[place] = text
    noisy = rewritten.latents
    status, statement = _promise(noisy)
    if len(places) < len(lines):
        statement += "; a line without a word stays empty, and that is seen"
    # Reported, since the guarantee rests on it and no option sets it.
    clip_norm, latent = model.clip_norm(FORMS[name]), model.shape.latent
    experiment = options.seed is not None
    return Answer(
        {
            "mechanism": name,
            "parameters": {"clip_norm": clip_norm, "latent": latent},
            "lexicon": _VOCABULARY,
            "fingerprint": model.vocabulary.fingerprint,
            "version": __version__,
            "epsilon": epsilon,
            "true_epsilon": noisy.epsilon,
            "status": status,
            "statement": statement,
            "texts": texts,
            "experiment": experiment,
        },
        texts,
        [f"{status}: {statement}", *([EXPERIMENT_NOTE] if experiment else [])],
    )


def _promise(noisy: NoisyLatents) -> tuple[str, str]:
    """Return status and statement: between any two whole utterances, not between words."""
    dimension = noisy.vectors.shape[1]
    statement = f"ε = {noisy.claimed_epsilon:g} between any two utterances"
    refuted = noisy.epsilon > noisy.claimed_epsilon
    if refuted:
        statement += f" is the claim, and √{dimension} times as much, {noisy.epsilon:.4g}, is true"
    return ("refuted" if refuted else "proved"), f"{statement}; {_NOT_COVERED}"


@command("examples", autoencoder_command)
@_model_option
@flags.file("--data", "of adept: folder of corpora", metavar="DIR")
@flags.file("--out", "[default: ours]", metavar="FILE.json")
def _examples(options: Options) -> Answer:
    """Record the examples that the app shows."""
    if options.model == "adept":
        return _adept_examples(options)
    out = options.out or examples_path()
    examples = make_examples(out, options.progress)
    count = len(examples.rows)
    return Answer(
        {"file": out.name, "rows": count} | examples.facts,
        [f"{out}: {count} examples of {examples.facts['words']:,} words"],
    )


def _adept_examples(options: Options) -> Answer:
    if options.data is None:
        raise ParameterError("the network of the examples learns from ATIS: give --data DIR")
    out = options.out or adept_examples_path()
    examples = make_adept_examples(options.data, out)
    rewrites, texts = len(examples["rewrites"]), len(examples["texts"])
    return Answer(
        {"file": out.name, "rows": rewrites, "texts": texts} | examples["facts"],
        [f"{out}: {texts} utterances, {rewrites} rewrites"],
    )
