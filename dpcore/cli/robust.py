"""The command `robust`: what changed words cannot do to a classifier, by certificate and attack.

What needs no network runs on the teaching corpus or on scikit-learn's digits, in seconds; networks
are in `robust_network`. Every action prints a table, or with `--json` what was asked and the rows
of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from click import Choice, option

from dpcore import __version__
from dpcore.attack.genetic.candidates import from_mechanism
from dpcore.attack.genetic.genetic import Genetic, attack
from dpcore.attack.genetic.trial import steps
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.robust_network import (
    certify_checkpoint,
    checkpoint_option,
    data_options,
    labels_option,
    train_command,
    victim,
)
from dpcore.cli.shell import Options, command, group
from dpcore.errors import ParameterError
from dpcore.learn.bags import bags_of
from dpcore.learn.linear.certificate import certify_linear
from dpcore.learn.linear.training import LinearTraining, train_linear
from dpcore.learn.pixeldp.certified_prediction import (
    ABSTAINED,
    Bound,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.digits import Place, digits, train_digits
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.robust_data import teaching_bags
from dpcore.learn.substitutions import listed, nearest_words
from dpcore.lexicon.lexicon import Lexicon
from dpcore.noise.streams import generator

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

_texts_option = shared.number("--texts", None, "train on N of the texts  [default: all]", least=1)

robust_command = group("robust", "What changed words cannot do to a classifier.")
robust_command.add_command(train_command)


def _result(options: Options, rows: list[dict[str, Any]], settings: str) -> dict[str, Any]:
    return {
        "settings": shared.fields(options, settings), "rows": rows, "version": __version__,
    }  # fmt: skip


@command("certify", robust_command)
@shared.several(labels_option, _texts_option)
@option("--share", default=1.0, help="of words that may change")
@option("--robust", default=1.0, help="weight of the worst case")
@shared.several(checkpoint_option, data_options, shared.lexicon_option)
@shared.seed_option("of the parts of --data")
def _certify(options: Options) -> Answer:
    """Exact certificates of a linear classifier."""
    if options.checkpoint is not None:
        return certify_checkpoint(options)
    settings = [
        LinearTraining(_STRENGTH, robust, options.share) for robust in (0.0, options.robust)
    ]
    lexicon = shared.lexicon(options)
    texts = teaching_bags(options.labels, lexicon, options.texts)
    bags, test = texts.train, texts.test
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
@shared.several(labels_option, _texts_option)
@option("--share", default=0.2, help="of words that may change")
@shared.number("--population", 40)
@shared.number("--generations", 20)
@checkpoint_option
@option("--premise", help="of an entailment network; its words stay")
@shared.several(shared.mechanism_options, shared.epsilon_option)
@shared.seed_option("of the attack")
def _attack(options: Options) -> Answer:
    """Change words of a text until it is misread."""
    settings = Genetic(options.population, options.generations, options.share)
    mechanism = shared.build(options)
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
    """What is attacked, and the names of its classes."""
    if options.checkpoint is not None:
        return victim(options.checkpoint, lexicon, options.premise)
    if options.premise is not None:
        raise ParameterError("--premise is read by an entailment network: give its --checkpoint")
    texts = teaching_bags(options.labels, lexicon, options.texts)
    plain, unchanged = LinearTraining(_STRENGTH, robust=0.0), listed(lexicon, {})
    trained = train_linear(
        plain, texts.train, texts.train_labels, lexicon.vectors, unchanged, options.progress
    )
    return trained.model, texts.classes


@command("digits", robust_command)
@option("--noise", default="gaussian-analytic", type=Choice([str(kind) for kind in Accounting]))
@option("--scale", default=0.25, help="of the noise")
@option("--place", default="picture", type=Choice([str(kind) for kind in Place]))
@shared.number("--draws", 200, "of each picture")
@option("--error", default=0.001, help="of the bounds of a picture")
@shared.seed_option("of the noise")
def _digits(options: Options) -> Answer:
    """Certified predictions of pictures under noise."""
    noise = Accounting(options.noise)
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
    """Shares of pictures that are certified, by kind of bound and size of the attack."""
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
