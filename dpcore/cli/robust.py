"""The command `robust`: certificates and attacks.

What needs no network runs on the teaching corpus or on scikit-learn's digits, in seconds; networks
are in `robust_network_cli`. Every action prints
a table, or with `--json` what was asked and the rows of the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.cli.mechanisms import common_options, mechanism_options, print_json, seed_option
from dpcore.cli.robust_network import (
    certify_checkpoint,
    data_options,
    register_train,
    victim,
)
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands
    from dpcore.learn.bags import Bags
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.law import IntArray

    Part = tuple[Bags, IntArray]

_LABELS = ("sentiment", "topic")
_SIZES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


def register(commands: Commands) -> None:
    """Add the command; the handlers take the parsed arguments and return an exit code."""
    room = commands.add_parser("robust", help="what changed words cannot do to a classifier")
    actions = room.add_subparsers(required=True, metavar="action")

    command = actions.add_parser("certify", help="exact certificates of a linear classifier")
    _corpus_options(command)
    command.add_argument("--share", type=float, default=1.0, help="of words that may change")
    command.add_argument("--robust", type=float, default=1.0, help="weight of the worst case")
    _checkpoint_option(command)
    data_options(command)
    common_options(command)
    seed_option(command, "of the parts of --data (default 0)")
    command.set_defaults(handler=_certify)

    command = actions.add_parser("attack", help="change words of a text until it is misread")
    command.add_argument("--text", required=True)
    _corpus_options(command)
    command.add_argument("--share", type=float, default=0.2, help="of words that may change")
    command.add_argument("--population", type=int, default=40, metavar="N")
    command.add_argument("--generations", type=int, default=20, metavar="N")
    _checkpoint_option(command)
    command.add_argument("--premise", help="of an entailment network; its words stay")
    mechanism_options(command, epsilon=True)
    seed_option(command, "of the attack (default 0)")
    command.set_defaults(handler=_attack)

    command = actions.add_parser("digits", help="certified predictions of pictures under noise")
    command.add_argument(
        "--noise", default="gaussian-analytic", help="or gaussian-classical, laplace"
    )
    command.add_argument("--scale", type=float, default=0.25, help="of the noise (default 0.25)")
    command.add_argument("--place", default="picture", help="or first-layer, auto-encoder")
    command.add_argument("--draws", type=int, default=200, metavar="N", help="of each picture")
    command.add_argument("--error", type=float, default=0.001, help="of the bounds of a picture")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    seed_option(command, "of the noise (default 0)")
    command.set_defaults(handler=_digits)
    register_train(actions)


def _checkpoint_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE.safetensors",
        help="a network of `robust train`, or normal, ibp: those that come along (default: a "
        "linear classifier, trained now)",
    )


def _corpus_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--labels", default="sentiment", help="or topic")
    command.add_argument(
        "--texts", type=int, metavar="N", help="train on N of the texts (default all)"
    )


def _parts(options: argparse.Namespace, lexicon: Lexicon) -> tuple[Part, Part, tuple[str, ...]]:
    """Training and test documents of the teaching corpus with their labels."""
    from dpcore.learn.bags import bags_of
    from dpcore.learn.corpus import teaching_corpus
    from dpcore.learn.labelled import LabelledTexts

    if options.labels not in _LABELS:
        raise ParameterError(
            f"--labels must be one of {', '.join(_LABELS)}, got {options.labels!r}"
        )
    if options.texts is not None and not options.texts >= 1:
        raise ParameterError(f"--texts must be a whole number > 0, got {options.texts}")
    found: list[Part] = []
    classes: tuple[str, ...] = ()
    for split in ("train", "test"):
        part = teaching_corpus().part(split)
        most = options.texts if split == "train" else None
        # Texts of one kind follow each other: every so many are taken, not the first ones.
        step = max(1, len(part) // most) if most else 1
        texts = LabelledTexts.of(
            part.texts[::step][:most], part.labels(options.labels)[::step][:most]
        )
        found.append((bags_of(texts.texts, lexicon), texts.labels))
        classes = texts.classes
    return found[0], found[1], classes


def _certify(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.learn.linear.certificate import certify_linear
    from dpcore.learn.linear.training import LinearTraining, train_linear
    from dpcore.learn.substitutions import nearest_words
    from dpcore.lexicon.catalogue import load

    if options.checkpoint is not None:
        return certify_checkpoint(options)
    settings = [LinearTraining(0.05, robust, options.share) for robust in (0.0, options.robust)]
    lexicon = load(options.lexicon)
    (bags, labels), (test, truth), classes = _parts(options, lexicon)
    always = ""
    rows = []
    with progress_bars() as progress:
        words = np.concatenate((bags.words, test.words))
        table = nearest_words(lexicon, words, options.neighbours, progress=progress)
        for one in settings:
            trained = train_linear(one, bags, labels, lexicon.vectors, table, progress)
            worst = certify_linear(trained.model, test, truth, table, options.share)
            if trained.model.constant:
                always = classes[int(trained.model.predict(test)[0])]
            rows.append(
                {
                    "worst_case_weight": one.robust,
                    "clean_accuracy": trained.model.accuracy(test, truth),
                    "certified_accuracy": worst.accuracy,
                    "texts": len(test),
                    "constant": trained.model.constant,
                }
            )
    if not _printed(options, rows, "labels", "texts", "neighbours", "share"):
        print(f"each word may become one of its {options.neighbours} nearest words")
        print(f"{'weight of the worst case':<26}{'accuracy':>10}{'certified':>11}")
        for row in rows:
            print(
                f"{row['worst_case_weight']:<26g}{row['clean_accuracy']:>10.1%}"
                f"{row['certified_accuracy']:>11.1%}{' *' if row['constant'] else ''}"
            )
        print(f"{len(test)} texts; certified: right whatever is substituted, and no more than that")
        if always:
            print(
                "* against so many changes the best classifier that was found reads no word and "
                f"always says {always}: lower --robust, --share or --neighbours"
            )
    return 0


def _attack(options: argparse.Namespace) -> int:
    from dpcore.attack.genetic.candidates import from_mechanism
    from dpcore.attack.genetic.genetic import Genetic, attack
    from dpcore.attack.genetic.trial import steps
    from dpcore.cli.mechanisms import build
    from dpcore.learn.bags import bags_of
    from dpcore.noise.streams import generator

    settings = Genetic(options.population, options.generations, options.share)
    mechanism = build(options)
    lexicon = mechanism.lexicon
    epsilon = mechanism.check_epsilon(options.epsilon)
    document = bags_of([options.text], lexicon)
    if not (document.words >= 0).any():
        raise ParameterError("the text has no word of the lexicon, so there is nothing to attack")
    rng = generator(options.seed or 0, "robust", mechanism.key)
    model, classes = _victim(options, lexicon)
    label = int(model.predict(document)[0])
    candidates = from_mechanism(document, mechanism, epsilon, rng)
    found = attack(model, candidates, label, settings, rng)
    rows = [
        {
            "old": lexicon.words[step.old],
            "new": lexicon.words[step.new],
            "probability": step.probability,
        }
        for step in steps(model, document, found)
    ]
    before = found.generations[0].probability
    rows.insert(0, {"old": None, "new": None, "probability": before})
    if not _printed(options, rows, "labels", "texts", "share", "population", "generations"):
        print(f"read as {classes[label]} with probability {before:.3f}; {candidates.method}")
        for row in rows[1:]:
            print(f"  {row['old']} -> {row['new']}: {row['probability']:.3f}")
        end = "it is read otherwise now" if found.success else "it is still read so"
        print(f"{end}, after {found.queries:,} texts that were tried")
    return 0


def _victim(options: argparse.Namespace, lexicon: Lexicon) -> tuple[Any, tuple[str, ...]]:
    """What is attacked, and the names of its classes."""
    from dpcore.cli.terminal import progress_bars
    from dpcore.learn.linear.training import LinearTraining, train_linear
    from dpcore.learn.substitutions import listed

    if options.checkpoint is not None:
        return victim(options.checkpoint, lexicon, options.premise)
    if options.premise is not None:
        raise ParameterError("--premise is read by an entailment network: give its --checkpoint")
    (bags, labels), _, classes = _parts(options, lexicon)
    plain = LinearTraining(0.05, robust=0.0)
    with progress_bars() as progress:
        found = train_linear(plain, bags, labels, lexicon.vectors, listed(lexicon, {}), progress)
    return found.model, classes


def _digits(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
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
    from dpcore.noise.streams import generator

    for name, kinds in (("noise", Accounting), ("place", Place)):
        known = [str(kind) for kind in kinds]
        if getattr(options, name) not in known:
            given = getattr(options, name)[:40]
            raise ParameterError(f"--{name} must be one of {', '.join(known)}, got {given!r}")
    noise = Accounting(options.noise)
    rng = generator(options.seed or 0, "digits")
    data = digits()
    with progress_bars() as progress:
        model = train_digits(noise, options.scale, noise.norm, rng, place=Place(options.place))
        scores = draw_scores(model.scores, model.layer, data.test, options.draws, rng, progress)
    labels = model.places(data.test_labels)
    rows = []
    for bound in Bound:
        found = certify(model.layer, score_bounds(scores, options.error, bound))
        curves = (
            certified_accuracy(found, labels, _SIZES, sizes)
            for sizes in (found.sizes, found.tight, found.slides)
        )
        abstained = float((found.classes == ABSTAINED).mean())
        for size, right, tight, slides in zip(_SIZES, *curves, strict=True):
            rows.append(
                {
                    "bound": str(bound),
                    "size": size,
                    "certified": float(right),
                    "certified_tight": float(tight),
                    "slides_unproved": float(slides),
                    "abstained": abstained,
                }
            )
    if not _printed(options, rows, "noise", "scale", "place", "draws", "error"):
        print(f"{len(labels)} pictures; attacks are measured in norm {noise.norm:g}")
        print(f"{'bound':<18}{'size':>6}{'PixelDP':>10}{'tight':>10}{'slides (unproved)':>19}")
        for row in rows:
            print(
                f"{row['bound']:<18}{row['size']:>6g}{row['certified']:>10.1%}"
                f"{row['certified_tight']:>10.1%}{row['slides_unproved']:>19.1%}"
            )
    return 0


def _printed(options: argparse.Namespace, rows: list[dict[str, Any]], *names: str) -> bool:
    """Print JSON if it was asked for."""
    if options.json:
        settings = {name: getattr(options, name) for name in names}
        print_json({"settings": settings, "rows": rows, "version": __version__})
    return bool(options.json)
