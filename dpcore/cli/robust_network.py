"""`robust train`, and `robust certify` and `robust attack` of what it wrote."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.cli.mechanisms import given_settings, print_json, seed_option
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands
    from dpcore.learn.checkpoint import Checkpoint
    from dpcore.learn.robust_data import Parts
    from dpcore.learn.substitutions import Substitutions
    from dpcore.learn.text_network.classifier import NetworkClassifier
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress

_NETWORKS = ("cnn", "entailment")
_TRAININGS = ("normal", "augmented", "ibp")
_COPIES = 4


def register_train(actions: Commands) -> None:
    """Add the action `train`."""
    command = actions.add_parser("train", help="train a network that changed words fool less")
    command.add_argument("--network", default="cnn", help=f"of {', '.join(_NETWORKS)}")
    command.add_argument("--training", default="ibp", help=f"of {', '.join(_TRAININGS)}")
    command.add_argument("--labels", default="sentiment", help="of the teaching corpus: or topic")
    data_options(command)
    command.add_argument("--mechanism", help="that perturbs copies, for augmented training")
    command.add_argument("--epsilon", help="of the mechanism")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    command.add_argument("--hidden", type=int, default=100, metavar="N", help="(default 100)")
    command.add_argument("--epochs", type=int, default=15, metavar="N", help="(default 15)")
    command.add_argument("--batch", type=int, default=32, metavar="N", help="(default 32)")
    command.add_argument("--rate", type=float, default=0.001, help="(default 0.001)")
    command.add_argument("--patience", type=int, metavar="N", help="epochs without gain")
    command.add_argument("--threads", type=int, metavar="N", help="of torch")
    command.add_argument("--out", type=Path, required=True, metavar="FILE.safetensors")
    command.add_argument("--resume", action="store_true", help="go on where training stopped")
    command.add_argument("--lexicon", help="a name from `lexicon list`, or a path (default: ours)")
    command.add_argument("--device", default="cpu", help="or cuda, auto (default cpu)")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    seed_option(command, "of everything that is drawn (default 0)")
    command.set_defaults(handler=_train)


def data_options(command: argparse.ArgumentParser) -> None:
    """Options of what is learned from and of what words may become."""
    command.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help="CSV or parquet: text and label, or premise, hypothesis and label (default: ours)",
    )
    command.add_argument("--words", type=int, metavar="N", help="of a text, its first ones")
    command.add_argument("--rows", type=int, metavar="N", help="of --data, drawn (default all)")
    command.add_argument(
        "--substitutions",
        type=Path,
        metavar="FILE",
        help="JSON: for each word a list (default: the nearest words)",
    )
    command.add_argument("--neighbours", type=int, default=1, metavar="K", help="(default 1)")


def parts_of(options: argparse.Namespace, network: str, lexicon: Lexicon) -> Parts:
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


def _train(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.learn.checkpoint import unfinished
    from dpcore.learn.packages import safetensors, torch
    from dpcore.learn.text_network.classifier import keep
    from dpcore.learn.text_network.network import Kind, Shape
    from dpcore.learn.text_network.training import Certified, train_network
    from dpcore.learn.training_settings import Training
    from dpcore.lexicon.catalogue import load

    torch(), safetensors("numpy")  # said before a corpus is read
    for name, known in (("network", _NETWORKS), ("training", _TRAININGS)):
        if getattr(options, name) not in known:
            given = getattr(options, name)[:40]
            raise ParameterError(f"--{name} must be one of {', '.join(known)}, got {given!r}")
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
    parts = parts_of(options, options.network, lexicon)
    shape = Shape.usual(
        Kind(options.network), lexicon.dimension, len(parts.classes), options.hidden
    )
    ibp = options.training == "ibp"
    with progress_bars() as progress:
        table = _substitutions(options, lexicon, parts, progress)
        train, held, noise = _examples(options, lexicon, parts, progress)
        model, told = train_network(
            shape,
            training,
            train,
            held,
            lexicon.vectors,
            certified=Certified() if ibp else None,
            substitutions=table if ibp else None,
            device=options.device,
            state=state,
            vocabulary=f"{lexicon.fingerprint} {options.training} {noise}",
            progress=progress,
        )
    result = _measured(model, parts, table)
    rows = [asdict(one) for one in told.epochs]
    settings = {
        "training": options.training,
        "noise": noise,
        "classes": list(parts.classes),
        "labels": None if options.data else options.labels,
        "seed": training.seed,
    }
    facts = {**result, "best": told.best, "epochs": rows, "seconds": told.seconds}
    keep(options.out, model, lexicon, settings, facts)
    state.unlink(missing_ok=True)
    if options.json:
        settings |= {"network": options.network, "file": options.out.name}
        print_json({"settings": settings, "rows": rows, **result, "version": __version__})
        return 0
    print(f"{'epoch':>5}{'loss':>9}{'held out':>10}{'seconds':>9}")
    for one in told.epochs:
        print(f"{one.number + 1:>5}{one.loss:>9.4f}{one.held_out:>10.4f}{one.seconds:>9.1f}")
    print(
        f"{result['texts']} test texts: {result['clean_accuracy']:.1%} right, "
        f"{result['certified_accuracy']:.1%} whatever is substituted (interval bounds)"
    )
    print(f"{options.out}: epoch {told.best + 1} of {len(rows)} kept")
    return 0


def _examples(
    options: argparse.Namespace, lexicon: Lexicon, parts: Parts, progress: Progress
) -> tuple[Any, Any, str]:
    """What is learned from and held out, with perturbed copies if asked for, and their noise."""
    from dpcore.learn.text_network.training import perturbed
    from dpcore.mechanisms.registry import create
    from dpcore.noise.streams import generator

    given = options.mechanism is not None and options.epsilon is not None
    if (options.training == "augmented") != given or (options.mechanism is None) != (
        options.epsilon is None
    ):
        raise ParameterError(
            "--mechanism and --epsilon say how copies are perturbed: give both for --training "
            "augmented, and neither otherwise"
        )
    if not given:
        return parts.train, parts.held_out, ""
    mechanism = create(options.mechanism, lexicon, given_settings(options))
    epsilon = mechanism.check_epsilon(options.epsilon)
    rng = generator(options.seed or 0, "robust copies", mechanism.key)
    found = [
        part.with_copies(perturbed(mechanism, part.bags, [epsilon], copies, rng, progress)[0])
        for part, copies in ((parts.train, _COPIES), (parts.held_out, 1))
    ]
    return found[0], found[1], f"{mechanism.key} at epsilon {epsilon!r}"


def _substitutions(
    options: argparse.Namespace, lexicon: Lexicon, parts: Parts, progress: Progress
) -> Substitutions:
    from dpcore.learn.robust_data import substitutions_of

    return substitutions_of(lexicon, options.substitutions, options.neighbours, parts, progress)


def _measured(model: NetworkClassifier, parts: Parts, table: Substitutions) -> dict[str, Any]:
    test = parts.test
    own = model.given(test.premises)
    return {
        "clean_accuracy": own.accuracy(test.bags, test.labels),
        "certified_accuracy": own.certify(test.bags, test.labels, table).accuracy,
        "texts": len(test),
    }


def certify_checkpoint(options: argparse.Namespace) -> int:
    """`robust certify --checkpoint`: clean and certified accuracy of a trained network."""
    from dpcore.cli.terminal import progress_bars
    from dpcore.lexicon.catalogue import load

    lexicon = load(options.lexicon)
    model, held = recalled(options.checkpoint, lexicon)
    if options.data is None and held.settings.get("labels"):
        options.labels = held.settings["labels"]
    parts = parts_of(options, held.architecture, lexicon)
    if list(parts.classes) != held.settings.get("classes"):
        raise ParameterError(
            f"the network tells {', '.join(held.settings.get('classes', []))} apart, and the data "
            f"have the labels {', '.join(parts.classes)[:120]}; give data of its kind"
        )
    with progress_bars() as progress:
        table = _substitutions(options, lexicon, parts, progress)
    row = {"training": held.settings.get("training"), **_measured(model, parts, table)}
    if options.json:
        settings = {"checkpoint": options.checkpoint.name, "neighbours": options.neighbours}
        print_json({"settings": settings, "rows": [row], "version": __version__})
        return 0
    print(
        f"{row['texts']} texts: {row['clean_accuracy']:.1%} right, "
        f"{row['certified_accuracy']:.1%} whatever is substituted (interval bounds)"
    )
    return 0


def recalled(path: Path, lexicon: Lexicon) -> tuple[NetworkClassifier, Checkpoint]:
    """The network of a checkpoint, or of those that come along by its name."""
    from dpcore.learn.bundled_networks import NETWORKS, bundled_network
    from dpcore.learn.text_network.classifier import recall

    if str(path) in NETWORKS and not path.exists():
        return bundled_network(str(path), lexicon)
    return recall(path, lexicon)


def victim(
    path: Path, lexicon: Lexicon, premise: str | None
) -> tuple[NetworkClassifier, tuple[str, ...]]:
    """The network of a checkpoint with its premise, and the names of its classes."""
    from dpcore.learn.bags import bags_of

    model, held = recalled(path, lexicon)
    if (held.architecture == "entailment") != (premise is not None):
        raise ParameterError(
            "an entailment network needs --premise, and no other network reads one; this one is "
            f"{held.architecture!r}"
        )
    if premise is not None:
        model = model.given(bags_of([premise], lexicon))
        known = model.premises is not None and bool(np.any(model.premises.words >= 0))
        if not known:
            raise ParameterError("the premise has no word of the lexicon")
    return model, tuple(held.settings.get("classes", ()))
