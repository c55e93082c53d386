"""`robust train`, and `robust certify` and `robust attack` of what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import option

from dpcore import __version__
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command
from dpcore.cli.terminal import progress_bars
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from dpcore.learn.robust_data import Parts
    from dpcore.learn.substitutions import Substitutions
    from dpcore.learn.text_network.classifier import NetworkClassifier
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress

_NETWORKS = ("cnn", "entailment")
_TRAININGS = ("normal", "augmented", "ibp")
_COPIES = 4
_EPOCHS = "{epoch:>5}{loss:>9.4f}{held_out:>10.4f}{seconds:>9.1f}"

labels_option = option("--labels", default="sentiment", help="of the teaching corpus; or topic")
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
    shared.number("--words", None, "of a text, its first ones"),
    shared.number("--rows", None, "of --data, drawn  [default: all]"),
    shared.file("--substitutions", "JSON: for each word a list  [default: the nearest words]"),
    shared.number("--neighbours", 1),
)
"""What is learned from, and what words may become."""


def check_known(options: Options, name: str, known: Sequence[str]) -> None:
    """Refuse the value of an option that is not among those that are known."""
    value = getattr(options, name)
    if value not in known:
        raise ParameterError(f"--{name} must be one of {', '.join(known)}, got {value[:40]!r}")


def _parts_of(options: Options, network: str, lexicon: Lexicon) -> Parts:
    """The examples that the options name, in three parts."""
    from dpcore.learn.robust_data import file_parts, teaching_parts
    from dpcore.noise.streams import generator

    for name in ("words", "rows"):
        value = getattr(options, name)
        if value is not None and not value >= 1:
            raise ParameterError(f"--{name} must be a whole number > 0, got {value}")
    rng = generator(options.seed or 0, "robust data")
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
@option("--network", default="cnn", help=f"of {', '.join(_NETWORKS)}")
@option("--training", default="ibp", help=f"of {', '.join(_TRAININGS)}")
@labels_option
@data_options
@option("--mechanism", help="that perturbs copies, for augmented training")
@option("--epsilon", help="of the mechanism")
@shared.settings_option
@shared.number("--hidden", 100)
@shared.number("--epochs", 15)
@shared.number("--batch", 32)
@option("--rate", default=0.001)
@shared.number("--patience", None, "epochs without gain")
@shared.number("--threads", None, "of torch")
@shared.file("--out", metavar="FILE.safetensors", required=True)
@shared.several(shared.resume_option, shared.lexicon_option, shared.device_option)
@shared.seed_option("of everything that is drawn  [default: 0]")
def train_command(options: Options) -> Answer:
    """Train a network that changed words fool less."""
    from dpcore.learn.checkpoint import unfinished
    from dpcore.learn.packages import safetensors, torch
    from dpcore.learn.text_network.classifier import keep
    from dpcore.learn.text_network.network import Kind, Shape
    from dpcore.learn.text_network.training import Certified, train_network
    from dpcore.learn.training_settings import Training
    from dpcore.lexicon.catalogue import load

    torch(), safetensors("numpy")  # said before a corpus is read
    check_known(options, "network", _NETWORKS)
    check_known(options, "training", _TRAININGS)
    training = Training(
        options.epochs,
        options.batch,
        options.rate,
        decay=1e-4,
        clip=0.25,
        patience=options.patience,
        seed=options.seed or 0,
        threads=options.threads,
    )
    state = unfinished(options.out, resume=options.resume)
    lexicon = load(options.lexicon)
    parts = _parts_of(options, options.network, lexicon)
    shape = Shape.usual(
        Kind(options.network), lexicon.dimension, len(parts.classes), options.hidden
    )
    # Only certified training (interval bounds) learns against substitutions; all are measured.
    ibp = options.training == "ibp"
    with progress_bars() as progress:
        near = _substitutions(options, lexicon, parts, progress)
        train, held_out, noise = _examples(options, lexicon, parts, progress)
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
            progress=progress,
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
            *table(_EPOCHS, epochs, held_out="held out"),
            _measured_line(measured, "test texts"),
            f"{options.out}: epoch {fitted.best + 1} of {len(rows)} kept",
        ],
    )


def _examples(
    options: Options, lexicon: Lexicon, parts: Parts, progress: Progress
) -> tuple[Any, Any, str]:
    """What is learned from and held out, with perturbed copies if asked for, and their noise."""
    from dpcore.learn.text_network.training import perturbed
    from dpcore.mechanisms.registry import create
    from dpcore.noise.streams import generator

    given = [value is not None for value in (options.mechanism, options.epsilon)]
    if given != [options.training == "augmented"] * 2:
        raise ParameterError(
            "--mechanism and --epsilon say how copies are perturbed: give both for --training "
            "augmented, and neither otherwise"
        )
    if options.training != "augmented":
        return parts.train, parts.held_out, ""
    mechanism = create(options.mechanism, lexicon, shared.given_settings(options))
    epsilon = mechanism.check_epsilon(options.epsilon)
    rng = generator(options.seed or 0, "robust copies", mechanism.key)
    train, held_out = (
        part.with_copies(perturbed(mechanism, part.bags, [epsilon], copies, rng, progress)[0])
        for part, copies in ((parts.train, _COPIES), (parts.held_out, 1))
    )
    return train, held_out, f"{mechanism.key} at epsilon {epsilon!r}"


def _substitutions(
    options: Options, lexicon: Lexicon, parts: Parts, progress: Progress
) -> Substitutions:
    from dpcore.learn.robust_data import substitutions_of

    return substitutions_of(lexicon, options.substitutions, options.neighbours, parts, progress)


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
    from dpcore.learn.bundled_networks import network_of
    from dpcore.lexicon.catalogue import load

    lexicon = load(options.lexicon)
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
    with progress_bars() as progress:
        near = _substitutions(options, lexicon, parts, progress)
    row = {"training": settings.get("training"), **_measured(model, parts, near)}
    asked = {"checkpoint": options.checkpoint.name, "neighbours": options.neighbours}
    return Answer(
        {"settings": asked, "rows": [row], "version": __version__}, [_measured_line(row, "texts")]
    )


def victim(
    path: Path, lexicon: Lexicon, premise: str | None
) -> tuple[NetworkClassifier, tuple[str, ...]]:
    """The network of a checkpoint with its premise, and the names of its classes."""
    import numpy as np

    from dpcore.learn.bags import bags_of
    from dpcore.learn.bundled_networks import network_of

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
