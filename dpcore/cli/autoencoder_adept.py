"""The model `adept` of the command `autoencoder`: one latent vector for a whole utterance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.cli.printer import Answer
from dpcore.cli.rewrite import EXPERIMENT_NOTE
from dpcore.cli.shell import Options
from dpcore.cli.terminal import progress_bars
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.learn.training_settings import Fitted
    from dpcore.mechanisms.clipped.adept_latent import NoisyLatents

_VOCABULARY = "words of the public texts"
_NOT_COVERED = (
    "the promise is about the text that is rewritten; it says nothing of the texts that the "
    "network was trained on"
)


def check_noise(options: Options) -> None:
    """Refuse a mechanism without its ε, and an ε without its mechanism."""
    if options.mechanism is None or options.epsilon is None:
        raise ParameterError("--mechanism and --epsilon say which noise the vectors get: give both")


def history_of(fitted: Fitted) -> list[dict[str, float]]:
    """The losses of each epoch, as rows of the result and of the checkpoint."""
    return [
        {"loss": epoch.loss, "held_out": epoch.held_out, "seconds": epoch.seconds}
        for epoch in fitted.epochs
    ]


def trained(options: Options, fitted: Fitted, fields: dict[str, Any], size: str) -> Answer:
    """What is told of a network that was trained.

    Args:
        options: of `train`.
        fitted: how training went.
        fields: what it learned from and what it is, for the result.
        size: the same for a person.
    """
    history = history_of(fitted)
    lines = [
        f"epoch {number}: loss {row['loss']:.4f}, held out {row['held_out']:.4f} nats a word"
        for number, row in enumerate(history, start=1)
    ]
    kept = f"{size}, epoch {fitted.best + 1} of {len(history)} kept"
    return Answer(
        {
            "file": options.out.name,
            **fields,
            "epochs": history,
            "best": fitted.best,
            "stopped": fitted.stopped,
            "version": __version__,
        },
        [*lines, f"{options.out}: {kept}"],
    )


def train_model(options: Options, texts: Sequence[str], state: Path) -> Answer:
    """Train on public utterances and write the checkpoint."""
    from dpcore.learn.adept.adept import save_adept
    from dpcore.learn.adept.network import Shape
    from dpcore.learn.adept.training import AdeptSettings, train_adept
    from dpcore.learn.adept.words import words_of
    from dpcore.learn.training_settings import Training

    for name in ("vectors", "norm", "mechanism", "epsilon"):
        if getattr(options, name) is not None:
            raise ParameterError(
                f"the model adept learns its own words and vectors, without noise of a mechanism: "
                f"leave out --{name}"
            )
    settings = AdeptSettings(
        Shape(hidden=options.hidden, latent=options.latent),
        most=options.vocabulary,
        longest=options.longest,
        training=Training(
            epochs=options.epochs,
            batch=options.batch,
            rate=options.rate,
            clip=5.0,
            patience=options.patience,
            seed=options.seed or 0,
        ),
    )
    used = [text for text in texts if words_of(text)]
    with progress_bars() as progress:
        model, fitted = train_adept(
            used, settings, device=options.device, state=state, progress=progress
        )
    save_adept(options.out, model)
    state.unlink(missing_ok=True)
    words = len(model.vocabulary.words)
    fields = {
        "texts": len(used),
        "words": words,
        "lexicon": _VOCABULARY,
        "fingerprint": model.vocabulary.fingerprint,
        "latent": options.latent,
        "clip_norm_l1": model.manhattan,
    }
    return trained(options, fitted, fields, f"{words:,} words, {options.latent} latent coordinates")


def rewrite_lines(options: Options, lines: Sequence[str]) -> Answer:
    """Rewrite private utterances; empty lines stay empty."""
    from dpcore.learn.adept.adept import load_adept
    from dpcore.learn.adept.words import words_of
    from dpcore.mechanisms.clipped.adept_latent import FORMS
    from dpcore.noise.streams import generator

    check_noise(options)
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
    places = [i for i, line in enumerate(lines) if words_of(line)]
    rewritten = model.rewrite([lines[i] for i in places], epsilon, rng, FORMS[name])
    texts = [""] * len(lines)
    for place, text in zip(places, rewritten.texts, strict=True):
        texts[place] = text
    noisy = rewritten.latents
    status, statement = _promise(noisy)
    if len(places) < len(lines):
        statement += "; a line without a word stays empty, and that is seen"
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


def write_examples(options: Options) -> Answer:
    """Record the examples of `dpcore.attack.latent.examples`."""
    from dpcore.attack.latent.examples import examples_path
    from dpcore.papers.habernal2021.examples import make_examples

    if options.data is None:
        raise ParameterError("the network of the examples learns from ATIS: give --data DIR")
    out = options.out or examples_path()
    examples = make_examples(options.data, out)
    rewrites, texts = len(examples["rewrites"]), len(examples["texts"])
    return Answer(
        {"file": out.name, "rows": rewrites, "texts": texts} | examples["facts"],
        [f"{out}: {texts} utterances, {rewrites} rewrites"],
    )


def _promise(noisy: NoisyLatents) -> tuple[str, str]:
    """Status and statement: between any two whole utterances, not between words."""
    dimension = noisy.vectors.shape[1]
    statement = f"ε = {noisy.claimed_epsilon:g} between any two utterances"
    refuted = noisy.epsilon > noisy.claimed_epsilon
    if refuted:
        statement += f" is the claim, and √{dimension} times as much, {noisy.epsilon:.4g}, is true"
    return ("refuted" if refuted else "proved"), f"{statement}; {_NOT_COVERED}"
