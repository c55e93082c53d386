"""`robust train`, and `robust certify` and `robust attack` of what it wrote."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, option

from dpcore import __version__
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command
from dpcore.errors import ParameterError
from dpcore.learn.bags import bags_of
from dpcore.learn.bundled_networks import network_of
from dpcore.learn.checkpoint import unfinished
from dpcore.learn.packages import safetensors, torch
from dpcore.learn.robust_data import Parts, file_parts, substitutions_of, teaching_parts
from dpcore.learn.substitutions import Substitutions
from dpcore.learn.text_network.classifier import NetworkClassifier, keep
from dpcore.learn.text_network.network import Kind, Shape
from dpcore.learn.text_network.training import Certified, perturbed, train_network
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator

_COPIES = 4
_EPOCHS = "{epoch:>5}{loss:>9.4f}{held_out:>10.4f|held out}{seconds:>9.1f}"

labels_option = option(
    "--labels",
    default="sentiment",
    type=Choice(["sentiment", "topic"]),
    help="of the teaching corpus",
)
checkpoint_option = shared.file(
    "--checkpoint",
    "a network of `robust train`, or normal, ibp: those that come along  [default: a linear "
    "classifier, trained now]",
    metavar="FILE.safetensors",
)
data_options = shared.several(
    shared.file(
        "--data",
        "CSV or parquet: text and label, or premise, hypothesis and label  [default: ours]",
    ),
    shared.number("--words", None, "of a text, its first ones", least=1),
    shared.number("--rows", None, "of --data, drawn  [default: all]", least=1),
    shared.file("--substitutions", "JSON: for each word a list  [default: the nearest words]"),
    shared.number("--neighbours", 1),
)
"""What is learned from, and what words may become."""


def _parts_of(options: Options, network: str, lexicon: Lexicon) -> Parts:
    """The examples that the options name, in three parts."""
    rng = generator(options.seed, "robust data")
    pairs = network == "entailment"
    if options.data is not None:
        return file_parts(
            options.data, lexicon, rng, pairs=pairs, most=options.words, count=options.rows
        )
    if pairs:
        raise ParameterError(
            "an entailment network learns from --data with the columns premise, hypothesis and "
            "label; the teaching corpus has no such pairs"
        )
    return teaching_parts(options.labels, lexicon, rng, options.words)


@command("train")
@option("--network", default="cnn", type=Choice([str(kind) for kind in Kind]))
@option("--training", default="ibp", type=Choice(["normal", "augmented", "ibp"]))
@labels_option
@data_options
@option("--mechanism", help="that perturbs copies, for augmented training")
@option("--epsilon", help="of the mechanism")
@shared.settings_option
@shared.number("--hidden", 100)
@shared.training_options(epochs=15, batch=32, rate=0.001, patience=None)
@shared.number("--threads", None, "of torch")
@shared.several(shared.lexicon_option, shared.device_option)
@shared.seed_option("of everything that is drawn")
def train_command(options: Options) -> Answer:
    """Train a network that changed words fool less."""
    torch(), safetensors("numpy")  # said before a corpus is read
    training = shared.training(options, decay=1e-4, clip=0.25, threads=options.threads)
    state = unfinished(options.out, resume=options.resume)
    lexicon = shared.lexicon(options)
    parts = _parts_of(options, options.network, lexicon)
    shape = Shape.usual(
        Kind(options.network), lexicon.dimension, len(parts.classes), options.hidden
    )
    near = _substitutions(options, lexicon, parts)
    train, held_out, noise = _examples(options, lexicon, parts)
    # Only certified training (interval bounds) learns against substitutions; all are measured.
    ibp = options.training == "ibp"
    model, fitted = train_network(
        shape,
        training,
        train,
        held_out,
        lexicon.vectors,
        certified=Certified() if ibp else None,
        substitutions=near if ibp else None,
        device=options.device,
        state=state,
        vocabulary=f"{lexicon.fingerprint} {options.training} {noise}",
        progress=options.progress,
    )
    measured = _measured(model, parts, near)
    rows = [asdict(epoch) for epoch in fitted.epochs]
    settings = {
        "training": options.training,
        "noise": noise,
        "classes": list(parts.classes),
        "labels": None if options.data else options.labels,
        "seed": training.seed,
    }
    facts = {**measured, "best": fitted.best, "epochs": rows, "seconds": fitted.seconds}
    keep(options.out, model, lexicon, settings, facts)
    state.unlink(missing_ok=True)
    settings |= {"network": options.network, "file": options.out.name}
    epochs = [row | {"epoch": row["number"] + 1} for row in rows]
    return Answer(
        {"settings": settings, "rows": rows, **measured, "version": __version__},
        [
            *table(_EPOCHS, epochs),
            _measured_line(measured, "test texts"),
            f"{options.out}: epoch {fitted.best + 1} of {len(rows)} kept",
        ],
    )


def _examples(options: Options, lexicon: Lexicon, parts: Parts) -> tuple[Any, Any, str]:
    """What is learned from and held out, with perturbed copies if asked for, and their noise."""
    given = [value is not None for value in (options.mechanism, options.epsilon)]
    if given != [options.training == "augmented"] * 2:
        raise ParameterError(
            "--mechanism and --epsilon say how copies are perturbed: give both for --training "
            "augmented, and neither otherwise"
        )
    if options.training != "augmented":
        return parts.train, parts.held_out, ""
    mechanism = shared.certified(options, create(options.mechanism, lexicon, options.set))
    epsilon = mechanism.check_epsilon(options.epsilon)
    rng = generator(options.seed, "robust copies", mechanism.key)
    train, held_out = (
        part.with_copies(
            perturbed(mechanism, part.bags, [epsilon], copies, rng, options.progress)[0]
        )
        for part, copies in ((parts.train, _COPIES), (parts.held_out, 1))
    )
    return train, held_out, f"{mechanism.key} at epsilon {epsilon!r}"


def _substitutions(options: Options, lexicon: Lexicon, parts: Parts) -> Substitutions:
    """What each word of the parts may become."""
    file, most = options.substitutions, options.neighbours
    return substitutions_of(lexicon, file, most, parts, options.progress)


def _measured(model: NetworkClassifier, parts: Parts, near: Substitutions) -> dict[str, Any]:
    test = parts.test
    reader = model.given(test.premises)
    return {
        "clean_accuracy": reader.accuracy(test.bags, test.labels),
        "certified_accuracy": reader.certify(test.bags, test.labels, near).accuracy,
        "texts": len(test),
    }


def _measured_line(measured: dict[str, Any], what: str) -> str:
    return (
        f"{measured['texts']} {what}: {measured['clean_accuracy']:.1%} right, "
        f"{measured['certified_accuracy']:.1%} whatever is substituted (interval bounds)"
    )


def certify_checkpoint(options: Options) -> Answer:
    """`robust certify --checkpoint`: clean and certified accuracy of a trained network."""
    lexicon = shared.lexicon(options)
    model, checkpoint = network_of(options.checkpoint, lexicon)
    settings = checkpoint.settings
    # A network is certified on what it learned to tell apart, unless other data are given.
    if options.data is None and settings.get("labels"):
        options.labels = settings["labels"]
    parts = _parts_of(options, checkpoint.architecture, lexicon)
    if list(parts.classes) != settings.get("classes"):
        raise ParameterError(
            f"the network tells {', '.join(settings.get('classes', []))} apart, and the data "
            f"have the labels {', '.join(parts.classes)[:120]}; give data of its kind"
        )
    near = _substitutions(options, lexicon, parts)
    row = {"training": settings.get("training"), **_measured(model, parts, near)}
    asked = {"checkpoint": options.checkpoint.name, "neighbours": options.neighbours}
    return Answer(
        {"settings": asked, "rows": [row], "version": __version__}, [_measured_line(row, "texts")]
    )


def victim(
    path: Path, lexicon: Lexicon, premise: str | None
) -> tuple[NetworkClassifier, tuple[str, ...]]:
    """The network of a checkpoint with its premise, and the names of its classes."""
    model, checkpoint = network_of(path, lexicon)
    if (checkpoint.architecture == "entailment") != (premise is not None):
        raise ParameterError(
            "an entailment network needs --premise, and no other network reads one; this one is "
            f"{checkpoint.architecture!r}"
        )
    if premise is not None:
        model = model.given(bags_of([premise], lexicon))
        if model.premises is None or not np.any(model.premises.words >= 0):
            raise ParameterError("the premise has no word of the lexicon")
    return model, tuple(checkpoint.settings.get("classes", ()))
