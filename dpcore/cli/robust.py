"""The command `robust`: certificates and attacks.

What needs no network runs on the teaching corpus or on scikit-learn's digits, in seconds; networks
are in `robust_network`. Every action prints a table, or with `--json` what was asked and the rows
of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from click import option

from dpcore import __version__
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.robust_network import (
    certify_checkpoint,
    check_known,
    checkpoint_option,
    data_options,
    labels_option,
    train_command,
    victim,
)
from dpcore.cli.shell import Options, command, group
from dpcore.cli.terminal import progress_bars
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from dpcore.learn.robust_data import Bagged
    from dpcore.lexicon.lexicon import Lexicon

_LABELS = ("sentiment", "topic")
_SIZES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
_CERTIFIED = "{worst_case_weight:<26g}{clean_accuracy:>10.1%}{certified_accuracy:>11.1%}{star}"
_CERTIFIED_TITLES = {
    "worst_case_weight": "weight of the worst case", "clean_accuracy": "accuracy",
    "certified_accuracy": "certified", "star": "",
}  # fmt: skip
_DIGITS = "{bound:<18}{size:>6g}{certified:>10.1%}{certified_tight:>10.1%}{slides_unproved:>19.1%}"
_DIGITS_TITLES = {
    "certified": "PixelDP", "certified_tight": "tight", "slides_unproved": "slides (unproved)"
}  # fmt: skip

_texts_option = shared.number("--texts", None, "train on N of the texts  [default: all]")

robust_command = group("robust", "What changed words cannot do to a classifier.")
robust_command.add_command(train_command)


def _result(options: Options, rows: list[dict[str, Any]], *names: str) -> dict[str, Any]:
    settings = {name: getattr(options, name) for name in names}
    return {"settings": settings, "rows": rows, "version": __version__}


def _parts(options: Options, lexicon: Lexicon) -> Bagged:
    """Training and test documents of the teaching corpus with their labels."""
    from dpcore.learn.robust_data import teaching_bags

    check_known(options, "labels", _LABELS)
    if options.texts is not None and not options.texts >= 1:
        raise ParameterError(f"--texts must be a whole number > 0, got {options.texts}")
    return teaching_bags(options.labels, lexicon, options.texts)


@command("certify", robust_command)
@shared.several(labels_option, _texts_option)
@option("--share", default=1.0, help="of words that may change")
@option("--robust", default=1.0, help="weight of the worst case")
@shared.several(checkpoint_option, data_options, shared.lexicon_option)
@shared.seed_option("of the parts of --data  [default: 0]")
def _certify(options: Options) -> Answer:
    """Exact certificates of a linear classifier."""
    import numpy as np

    from dpcore.learn.linear.certificate import certify_linear
    from dpcore.learn.linear.training import LinearTraining, train_linear
    from dpcore.learn.substitutions import nearest_words
    from dpcore.lexicon.catalogue import load

    if options.checkpoint is not None:
        return certify_checkpoint(options)
    settings = [LinearTraining(0.05, robust, options.share) for robust in (0.0, options.robust)]
    lexicon = load(options.lexicon)
    texts = _parts(options, lexicon)
    bags, test = texts.train, texts.test
    always = ""
    rows = []
    with progress_bars() as progress:
        words = np.concatenate((bags.words, test.words))
        near = nearest_words(lexicon, words, options.neighbours, progress=progress)
        for setting in settings:
            trained = train_linear(
                setting, bags, texts.train_labels, lexicon.vectors, near, progress
            )
            model = trained.model
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
        *table(_CERTIFIED, printed, **_CERTIFIED_TITLES),
        f"{len(test)} texts; certified: right whatever is substituted, and no more than that",
    ]
    if always:
        lines.append(
            "* against so many changes the best classifier that was found reads no word and "
            f"always says {always}: lower --robust, --share or --neighbours"
        )
    return Answer(_result(options, rows, "labels", "texts", "neighbours", "share"), lines)


@command("attack", robust_command)
@option("--text", required=True)
@shared.several(labels_option, _texts_option)
@option("--share", default=0.2, help="of words that may change")
@shared.number("--population", 40)
@shared.number("--generations", 20)
@checkpoint_option
@option("--premise", help="of an entailment network; its words stay")
@shared.several(shared.mechanism_options, shared.epsilon_option)
@shared.seed_option("of the attack  [default: 0]")
def _attack(options: Options) -> Answer:
    """Change words of a text until it is misread."""
    from dpcore.attack.genetic.candidates import from_mechanism
    from dpcore.attack.genetic.genetic import Genetic, attack
    from dpcore.attack.genetic.trial import steps
    from dpcore.learn.bags import bags_of
    from dpcore.noise.streams import generator

    settings = Genetic(options.population, options.generations, options.share)
    mechanism = shared.build(options)
    lexicon = mechanism.lexicon
    epsilon = mechanism.check_epsilon(options.epsilon)
    document = bags_of([options.text], lexicon)
    if not (document.words >= 0).any():
        raise ParameterError("the text has no word of the lexicon, so there is nothing to attack")
    rng = generator(options.seed or 0, "robust", mechanism.key)
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
        _result(options, rows, "labels", "texts", "share", "population", "generations"),
        [
            f"read as {classes[label]} with probability {before:.3f}; {candidates.method}",
            *("  {old} -> {new}: {probability:.3f}".format_map(row) for row in changes),
            f"{end}, after {attacked.queries:,} texts that were tried",
        ],
    )


def _victim(options: Options, lexicon: Lexicon) -> tuple[Any, tuple[str, ...]]:
    """What is attacked, and the names of its classes."""
    from dpcore.learn.linear.training import LinearTraining, train_linear
    from dpcore.learn.substitutions import listed

    if options.checkpoint is not None:
        return victim(options.checkpoint, lexicon, options.premise)
    if options.premise is not None:
        raise ParameterError("--premise is read by an entailment network: give its --checkpoint")
    texts = _parts(options, lexicon)
    plain, unchanged = LinearTraining(0.05, robust=0.0), listed(lexicon, {})
    with progress_bars() as progress:
        trained = train_linear(
            plain, texts.train, texts.train_labels, lexicon.vectors, unchanged, progress
        )
    return trained.model, texts.classes


@command("digits", robust_command)
@option("--noise", default="gaussian-analytic", help="or gaussian-classical, laplace")
@option("--scale", default=0.25, help="of the noise")
@option("--place", default="picture", help="or first-layer, auto-encoder")
@shared.number("--draws", 200, "of each picture")
@option("--error", default=0.001, help="of the bounds of a picture")
@shared.seed_option("of the noise  [default: 0]")
def _digits(options: Options) -> Answer:
    """Certified predictions of pictures under noise."""
    from dpcore.learn.pixeldp.certified_prediction import draw_scores
    from dpcore.learn.pixeldp.digits import Place, digits, train_digits
    from dpcore.learn.pixeldp.noise_layer import Accounting
    from dpcore.noise.streams import generator

    check_known(options, "noise", [str(kind) for kind in Accounting])
    check_known(options, "place", [str(kind) for kind in Place])
    noise = Accounting(options.noise)
    rng = generator(options.seed or 0, "digits")
    data = digits()
    with progress_bars() as progress:
        model = train_digits(noise, options.scale, noise.norm, rng, place=Place(options.place))
        scores = draw_scores(model.scores, model.layer, data.test, options.draws, rng, progress)
    labels = model.places(data.test_labels)
    rows = list(_certified(model.layer, scores, labels, options.error))
    return Answer(
        _result(options, rows, "noise", "scale", "place", "draws", "error"),
        [
            f"{len(labels)} pictures; attacks are measured in norm {noise.norm:g}",
            *table(_DIGITS, rows, **_DIGITS_TITLES),
        ],
    )


def _certified(layer: Any, scores: Any, labels: Any, error: float) -> Iterator[dict[str, Any]]:
    """Shares of pictures that are certified, by kind of bound and size of the attack."""
    from dpcore.learn.pixeldp.certified_prediction import (
        ABSTAINED,
        Bound,
        certified_accuracy,
        certify,
        score_bounds,
    )

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
