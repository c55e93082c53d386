"""The model `adept` of the command `autoencoder`: one latent vector for a whole utterance."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dpcore import __version__
from dpcore.cli.mechanisms import print_json
from dpcore.errors import ParameterError
from dpcore.mechanisms.clipped.adept_latent import FORMS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from dpcore.mechanisms.clipped.adept_latent import NoisyLatents

_OWN = "words of the public texts"
_NOT_COVERED = (
    "the promise is about the text that is rewritten; it says nothing of the texts that the "
    "network was trained on"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Options of `train` that only this model has."""
    command.add_argument("--latent", type=int, default=32, metavar="N", help="adept (default 32)")
    command.add_argument(
        "--longest", type=int, default=15, metavar="N", help="adept: words read (default 15)"
    )


def train_model(options: argparse.Namespace, texts: Sequence[str], state: Path) -> int:
    """Train on public utterances and write the checkpoint; returns an exit code."""
    from dpcore.cli.terminal import progress_bars
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
    history = [
        {"loss": one.loss, "held_out": one.held_out, "seconds": one.seconds}
        for one in fitted.epochs
    ]
    if options.json:
        print_json(
            {
                "file": options.out.name,
                "texts": len(used),
                "words": len(model.vocabulary.words),
                "lexicon": _OWN,
                "fingerprint": model.vocabulary.fingerprint,
                "latent": options.latent,
                "clip_norm_l1": model.manhattan,
                "epochs": history,
                "best": fitted.best,
                "stopped": fitted.stopped,
                "version": __version__,
            }
        )
        return 0
    for number, one in enumerate(history, start=1):
        print(f"epoch {number}: loss {one['loss']:.4f}, held out {one['held_out']:.4f} nats a word")
    print(
        f"{options.out}: {len(model.vocabulary.words):,} words, {options.latent} latent "
        f"coordinates, epoch {fitted.best + 1} of {len(history)} kept"
    )
    return 0


def rewrite_lines(options: argparse.Namespace, lines: Sequence[str]) -> int:
    """Rewrite private utterances; empty lines stay empty; returns an exit code."""
    from dpcore.learn.adept.adept import load_adept
    from dpcore.learn.adept.words import words_of
    from dpcore.noise.streams import generator

    if options.mechanism is None or options.epsilon is None:
        raise ParameterError("--mechanism and --epsilon say which noise the vectors get: give both")
    if options.mechanism not in FORMS:
        raise ParameterError(
            f"the noise of this network is one of {', '.join(FORMS)}, got "
            f"{options.mechanism[:40]!r}"
        )
    form = FORMS[options.mechanism]
    try:
        epsilon = float(options.epsilon)
    except ValueError:
        raise ParameterError(f"epsilon must be a number, got {options.epsilon[:40]!r}") from None
    model = load_adept(options.checkpoint, options.device)
    rng = generator(options.seed, "adept", options.mechanism)
    places = [i for i, line in enumerate(lines) if words_of(line)]
    rewritten = model.rewrite([lines[i] for i in places], epsilon, rng, form)
    found = [""] * len(lines)
    for place, text in zip(places, rewritten.texts, strict=True):
        found[place] = text
    noisy = rewritten.latents
    status, statement = _promise(noisy)
    if len(places) < len(lines):
        statement += "; a line without a word stays empty, and that is seen"
    if options.json:
        print_json(
            {
                "mechanism": options.mechanism,
                "parameters": {"clip_norm": model.clip_norm(form), "latent": model.shape.latent},
                "lexicon": _OWN,
                "fingerprint": model.vocabulary.fingerprint,
                "version": __version__,
                "epsilon": epsilon,
                "true_epsilon": noisy.epsilon,
                "status": status,
                "statement": statement,
                "texts": found,
                "experiment": options.seed is not None,
            }
        )
        return 0
    for text in found:
        print(text)
    print(f"{status}: {statement}", file=sys.stderr)
    if options.seed is not None:
        print("an experiment with a fixed seed: do not release this text", file=sys.stderr)
    return 0


def write_examples(options: argparse.Namespace) -> int:
    """Record the examples of `dpcore.attack.latent.examples`; returns an exit code."""
    from dpcore.attack.latent.examples import examples_path
    from dpcore.papers.habernal2021.examples import make_examples

    if options.data is None:
        raise ParameterError("the network of the examples learns from ATIS: give --data DIR")
    out = options.out or examples_path()
    found = make_examples(options.data, out)
    if options.json:
        print_json(
            {"file": out.name, "rows": len(found["rewrites"]), "texts": len(found["texts"])}
            | found["facts"]
        )
        return 0
    print(f"{out}: {len(found['texts'])} utterances, {len(found['rewrites'])} rewrites")
    return 0


def _promise(noisy: NoisyLatents) -> tuple[str, str]:
    """Status and statement: between any two whole utterances, not between words."""
    dimension = noisy.vectors.shape[1]
    statement = f"ε = {noisy.claimed_epsilon:g} between any two utterances"
    refuted = noisy.epsilon > noisy.claimed_epsilon
    if refuted:
        statement += f" is the claim, and √{dimension} times as much, {noisy.epsilon:.4g}, is true"
    return ("refuted" if refuted else "proved"), f"{statement}; {_NOT_COVERED}"
