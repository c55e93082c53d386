"""Command `robust`: certificates of classifiers against changed words, and attacks on them.

Without a network the actions run on the teaching corpus or on scikit-learn's digits, in seconds.
Every action prints a table, or with `--json` its settings and the rows of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, option

from dpcore import __version__
from dpcore.attack.genetic import Genetic, attack, from_mechanism, steps
from dpcore.cli import fields, flags
from dpcore.cli.construction import build_mechanism, load_lexicon, with_certificate
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, group
from dpcore.errors import ParameterError
from dpcore.learn.checkpoint import state_file
from dpcore.learn.classifiers import network_of
from dpcore.learn.corpus import bags_of
from dpcore.learn.linear.certificate import certify_linear
from dpcore.learn.linear.training import LinearTraining, train_linear
from dpcore.learn.pixeldp.certified import (
    ABSTAINED,
    Bound,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.digits import Place, digits, train_digits
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.robust_data import (
    Parts,
    file_parts,
    substitutions_of,
    teaching_bags,
    teaching_parts,
)
from dpcore.learn.substitutions import Substitutions, from_lists, nearest_words
from dpcore.learn.text_network.classifier import NetworkClassifier, keep
from dpcore.learn.text_network.network import Kind, Shape
from dpcore.learn.text_network.training import WorstCaseSchedule, perturbed, train_network
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.optional import safetensors, torch

# `robust train`, and `robust certify` and `robust attack` of the networks that it wrote.


# As in the recorded study of Xu et al. 2021, Tables 2 and 3.
_COPIES = 4
_EPOCHS = "{epoch:>5}{loss:>9.4f}{held_out:>10.4f|held out}{seconds:>9.1f}"

labels_option = option(
    "--labels",
    default="sentiment",
    type=Choice(["sentiment", "topic"]),
    help="of the teaching corpus",
)
checkpoint_option = flags.file(
    "--checkpoint",
    "a network of `robust train`, or normal, ibp: those that come along  [default: a linear "
    "classifier, trained now]",
    metavar="FILE.safetensors",
)
data_options = flags.several(
    flags.file(
        "--data",
        "CSV or parquet: text and label, or premise, hypothesis and label  [default: ours]",
    ),
    flags.number("--words", None, "of a text, its first ones", least=1),
    flags.number("--rows", None, "of --data, drawn  [default: all]", least=1),
    flags.file("--substitutions", "JSON: for each word a list  [default: the nearest words]"),
    flags.number("--neighbours", 1),
)
"""Training data, and the allowed substitutions of words."""


def _parts_of(options: Options, network: str, lexicon: Lexicon) -> Parts:
    """Return the examples that the options name, in three parts."""
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
@flags.settings
@flags.number("--hidden", 100)
@flags.training(epochs=15, batch=32, rate=0.001, patience=None)
@flags.number("--threads", None, "of torch")
@flags.several(flags.lexicon, flags.device)
@flags.seed("of everything that is drawn")
def train_command(options: Options) -> Answer:
    """Train a network that changed words fool less."""
    torch(), safetensors("numpy")  # an error should come before a corpus is read
    training = flags.training_of(options, decay=1e-4, clip=0.25, threads=options.threads)
    state = state_file(options.out, resume=options.resume)
    lexicon = load_lexicon(options)
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
        certified=WorstCaseSchedule() if ibp else None,
        substitutions=near if ibp else None,
        device=options.device,
        state=state,
        # Everything that a resumed training must have in common with its beginning.
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
    """Return training and held-out examples, with perturbed copies on request, and their noise."""
    given = [value is not None for value in (options.mechanism, options.epsilon)]
    # Both for augmented training, neither otherwise: one rule for both mistakes.
    if given != [options.training == "augmented"] * 2:
        raise ParameterError(
            "--mechanism and --epsilon say how copies are perturbed: give both for --training "
            "augmented, and neither otherwise"
        )
    if options.training != "augmented":
        return parts.train, parts.held_out, ""
    mechanism = with_certificate(options, create(options.mechanism, lexicon, options.set))
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
    """Return the allowed substitutions of each word of the parts."""
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
    """Answer `robust certify --checkpoint`: clean and certified accuracy of a trained network."""
    lexicon = load_lexicon(options)
    model, checkpoint = network_of(options.checkpoint, lexicon)
    settings = checkpoint.settings
    # A network is certified on the labels that it learned, unless other data are given.
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
    """Load the network of a checkpoint with its premise, and the names of its classes."""
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


_STRENGTH = 0.05  # C of the linear classifiers
_SIZES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
_CERTIFIED = (
    "{worst_case_weight:<26g|weight of the worst case}{clean_accuracy:>10.1%|accuracy}"
    "{certified_accuracy:>11.1%|certified}{star|}"
)
_DIGITS = (
    "{bound:<18}{size:>6g}{certified:>10.1%|PixelDP}{certified_tight:>10.1%|tight}"
    "{slides_unproved:>19.1%|slides (unproved)}"
)

_texts_option = flags.number("--texts", None, "train on N of the texts  [default: all]", least=1)

robust_command = group("robust", "What changed words cannot do to a classifier.")
robust_command.add_command(train_command)


def _result(options: Options, rows: list[dict[str, Any]], settings: str) -> dict[str, Any]:
    return {
        "settings": fields.some(options, settings), "rows": rows, "version": __version__,
    }  # fmt: skip


@command("certify", robust_command)
@flags.several(labels_option, _texts_option)
@option("--share", default=1.0, help="of words that may change")
@option("--robust", default=1.0, help="weight of the worst case")
@flags.several(checkpoint_option, data_options, flags.lexicon)
@flags.seed("of the parts of --data")
def _certify(options: Options) -> Answer:
    """Exact certificates of a linear classifier."""
    if options.checkpoint is not None:
        return certify_checkpoint(options)
    settings = [
        # Weight 0 of the worst case is normal training, for comparison.
        LinearTraining(_STRENGTH, robust, options.share)
        for robust in (0.0, options.robust)
    ]
    lexicon = load_lexicon(options)
    texts = teaching_bags(options.labels, lexicon, options.texts)
    bags, test = texts.train, texts.test
    # Training and test: neighbours are needed of both.
    words = np.concatenate((bags.words, test.words))
    near = nearest_words(lexicon, words, options.neighbours, progress=options.progress)
    always = ""
    rows = []
    for setting in settings:
        model = train_linear(
            setting, bags, texts.train_labels, lexicon.vectors, near, options.progress
        ).model
        worst = certify_linear(model, test, texts.test_labels, near, options.share)
        if model.constant:
            always = texts.classes[int(model.predict(test)[0])]
        rows.append(
            {
                "worst_case_weight": setting.robust,
                "clean_accuracy": model.accuracy(test, texts.test_labels),
                "certified_accuracy": worst.accuracy,
                "texts": len(test),
                "constant": model.constant,
            }
        )
    printed = [row | {"star": " *" if row["constant"] else ""} for row in rows]
    lines = [
        f"each word may become one of its {options.neighbours} nearest words",
        *table(_CERTIFIED, printed),
        f"{len(test)} texts; certified: right whatever is substituted, and no more than that",
    ]
    if always:
        lines.append(
            "* against so many changes the best classifier that was found reads no word and "
            f"always says {always}: lower --robust, --share or --neighbours"
        )
    return Answer(_result(options, rows, "labels texts neighbours share"), lines)


@command("attack", robust_command)
@option("--text", required=True)
@flags.several(labels_option, _texts_option)
@option("--share", default=0.2, help="of words that may change")
@flags.number("--population", 40)
@flags.number("--generations", 20)
@checkpoint_option
@option("--premise", help="of an entailment network; its words stay")
@flags.several(flags.one_mechanism, flags.epsilon)
@flags.seed("of the attack")
def _attack(options: Options) -> Answer:
    """Change words of a text until it is misread."""
    settings = Genetic(options.population, options.generations, options.share)
    mechanism = build_mechanism(options)
    lexicon = mechanism.lexicon
    epsilon = mechanism.check_epsilon(options.epsilon)
    document = bags_of([options.text], lexicon)
    if not (document.words >= 0).any():
        raise ParameterError("the text has no word of the lexicon, so there is nothing to attack")
    rng = generator(options.seed, "robust", mechanism.key)
    model, classes = _victim(options, lexicon)
    label = int(model.predict(document)[0])
    candidates = from_mechanism(document, mechanism, epsilon, rng)
    attacked = attack(model, candidates, label, settings, rng)
    before = attacked.generations[0].probability
    changes: list[dict[str, Any]] = [
        {
            "old": lexicon.words[step.old],
            "new": lexicon.words[step.new],
            "probability": step.probability,
        }
        for step in steps(model, document, attacked)
    ]
    rows = [{"old": None, "new": None, "probability": before}, *changes]
    end = "it is read otherwise now" if attacked.success else "it is still read so"
    return Answer(
        _result(options, rows, "labels texts share population generations"),
        [
            f"read as {classes[label]} with probability {before:.3f}; {candidates.method}",
            *("  {old} -> {new}: {probability:.3f}".format_map(row) for row in changes),
            f"{end}, after {attacked.queries:,} texts that were tried",
        ],
    )


def _victim(options: Options, lexicon: Lexicon) -> tuple[Any, tuple[str, ...]]:
    """Return the model to attack, and the names of its classes."""
    if options.checkpoint is not None:
        return victim(options.checkpoint, lexicon, options.premise)
    if options.premise is not None:
        raise ParameterError("--premise is read by an entailment network: give its --checkpoint")
    texts = teaching_bags(options.labels, lexicon, options.texts)
    # Normal training asks for no substitutes, so none are looked up.
    plain, unchanged = LinearTraining(_STRENGTH, robust=0.0), from_lists(lexicon, {})
    trained = train_linear(
        plain, texts.train, texts.train_labels, lexicon.vectors, unchanged, options.progress
    )
    return trained.model, texts.classes


@command("digits", robust_command)
@option("--noise", default="gaussian-analytic", type=Choice([str(kind) for kind in Accounting]))
@option("--scale", default=0.25, help="of the noise")
@option("--place", default="picture", type=Choice([str(kind) for kind in Place]))
@flags.number("--draws", 200, "of each picture")
@option("--error", default=0.001, help="of the bounds of a picture")
@flags.seed("of the noise")
def _digits(options: Options) -> Answer:
    """Certified predictions of pictures under noise."""
    noise = Accounting(options.noise)
    # One generator for training and draws: the page of pictures draws in the same order.
    rng = generator(options.seed, "digits")
    data = digits()
    model = train_digits(noise, options.scale, noise.norm, rng, place=Place(options.place))
    scores = draw_scores(model.scores, model.layer, data.test, options.draws, rng, options.progress)
    labels = model.places(data.test_labels)
    rows = list(_certified(model.layer, scores, labels, options.error))
    return Answer(
        _result(options, rows, "noise scale place draws error"),
        [
            f"{len(labels)} pictures; attacks are measured in norm {noise.norm:g}",
            *table(_DIGITS, rows),
        ],
    )


def _certified(layer: Any, scores: Any, labels: Any, error: float) -> Iterator[dict[str, Any]]:
    """Yield shares of pictures that are certified, by kind of bound and size of the attack."""
    for bound in Bound:
        certified = certify(layer, score_bounds(scores, error, bound))
        curves = (
            certified_accuracy(certified, labels, _SIZES, sizes)
            for sizes in (certified.sizes, certified.tight, certified.slides)
        )
        abstained = float((certified.classes == ABSTAINED).mean())
        for size, right, tight, slides in zip(_SIZES, *curves, strict=True):
            yield {
                "bound": str(bound),
                "size": size,
                "certified": float(right),
                "certified_tight": float(tight),
                "slides_unproved": float(slides),
                "abstained": abstained,
            }
