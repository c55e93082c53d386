"""Provenance of the numbers of a view: computed or recorded, with commands and Python cells."""

from __future__ import annotations

import streamlit as st

from dpcore.learn.pixeldp.digits import digits, picture_text
from dpcore.study.recorded import Recorded
from pages.robustness.attack_work import NETWORKS, Hunt
from pages.robustness.pictures_work import Noise, ScoreBound
from pages.robustness.words_work import CERTIFIED, STRENGTH, Rules
from pages.shared.language import say
from pages.shared.taking import command_line, mechanism_words, python_beginning


def computed_now() -> None:
    """Draw the mark of a live view."""
    st.badge(say("computed now"), icon=":material/bolt:", color="gray")


def recorded_mark(date: str) -> None:
    """Draw the mark of a recorded view.

    Args:
        date: date of the record.
    """
    st.badge(say("recorded {date}", date=date), icon=":material/inventory_2:", color="gray")


def seeds(record: Recorded) -> str:
    """Return the number of seeds of a mean, in words."""
    count = len(record.entry.plan["seeds"])
    return say("one seed") if count == 1 else say("mean over {count} seeds", count=count)


def digits_command(noise: Noise, how: ScoreBound) -> str:
    """Return the command of the view of pictures."""
    words = ["--noise", noise.accounting, "--scale", f"{noise.scale:g}", "--place", noise.place]
    words += ["--draws", str(noise.draws), "--error", f"{how.error:g}", "--seed", str(noise.seed)]
    return command_line("robust", "digits", *words)


def certify_command(rules: Rules, lexicon: str) -> str:
    """Return the command of the view of words.

    Args:
        rules: allowed changes, and the training.
        lexicon: its name in the catalogue.
    """
    words = ["--labels", rules.labels, "--neighbours", str(rules.neighbours)]
    words += ["--share", f"{rules.share:g}", "--robust", f"{rules.robust:g}", "--lexicon", lexicon]
    return command_line("robust", "certify", *words)


def attack_command(hunt: Hunt, text: str, lexicon: str) -> str:
    """Return the command of an attack on one text by the words of a mechanism.

    Args:
        hunt: the attack; it has a mechanism; certified training of a linear model has no command.
        text: the attacked text.
        lexicon: its name in the catalogue.
    """
    mechanism, settings = hunt.mechanism, hunt.settings
    if mechanism is None:
        # A mistake of the caller and not of a visitor, so no `DpcoreError`.
        raise ValueError("an attack without a mechanism has no command")
    words = ["robust", "attack", "--text", text]
    if hunt.victim in NETWORKS:
        words += ["--checkpoint", NETWORKS[hunt.victim]]
    words += ["--labels", hunt.rules.labels, "--share", f"{settings.share:g}"]
    words += ["--population", str(settings.population), "--generations", str(settings.generations)]
    words += mechanism_words(mechanism, hunt.epsilon)
    return command_line(*words, "--lexicon", lexicon, "--seed", str(hunt.seed))


# Self-contained Python cells that print the numbers of the live views.


def picture_cell(noise: Noise, how: ScoreBound, picture: int, painted: str) -> str:
    """Return a Python cell that prints the prediction for one picture, and its certified sizes.

    Args:
        noise: the layer.
        how: bound on its votes.
        picture: number of the test picture.
        painted: text of the painted picture, whose votes are printed too if it is another one.
    """
    after = (
        "from dpcore.learn.pixeldp.digits import picture_of",
        "",
        f"painted = picture_of({painted!r})",
        f"print(model.layer.size(painted - digits().test[{picture}]))",
        f"rng = generator({noise.seed}, 'painted')",
        f"votes = draw_scores(model.scores, model.layer, painted[None], {noise.draws}, rng).votes",
        "print(dict(zip(model.classes.tolist(), votes[0].tolist())))",
    )
    return "\n".join(
        (
            "from dpcore.learn.pixeldp.certified import (",
            "    Bound, certify, draw_scores, score_bounds,",
            ")",
            "from dpcore.learn.pixeldp.digits import Place, digits, train_digits",
            "from dpcore.learn.pixeldp.noise_layer import Accounting",
            "from dpcore.noise.streams import generator",
            "",
            # The same name of the stream as on the page: only so the numbers are the same.
            f"rng = generator({noise.seed}, 'digits')",
            f"noise, place = Accounting({str(noise.accounting)!r}), Place({str(noise.place)!r})",
            f"model = train_digits(noise, {noise.scale!r}, noise.norm, rng, place=place)",
            f"scores = draw_scores(model.scores, model.layer, digits().test, {noise.draws}, rng)",
            f"bounds = score_bounds(scores.part([{picture}]), {how.error!r}, "
            f"Bound({str(how.bound)!r}))",
            "certified = certify(model.layer, bounds)",
            "read_as = int(certified.classes[0])",
            "print('abstained' if read_as < 0 else model.classes[read_as])",
            "print(certified.sizes[0], certified.tight[0])",
            *(() if painted == picture_text(digits().test[picture]) else after),
        )
    )


def _lexicon(name: str) -> list[str]:
    words = "dp.lexicon()" if name == "default" else f"dp.lexicon({name!r})"
    return ["import dpcore as dp", "", f"lexicon = {words}"]


def _texts(labels: str) -> list[str]:
    """Return lines that read the teaching corpus: `texts`, and all its `words`."""
    return [
        f"texts = teaching_bags({labels!r}, lexicon)",
        # Training and test: neighbours are needed of both.
        "words = np.concatenate((texts.train.words, texts.test.words))",
    ]


_IMPORTS = (
    "import numpy as np",
    "from dpcore.learn.linear.training import LinearTraining, train_linear",
    "from dpcore.learn.robust_data import teaching_bags",
    "from dpcore.learn.substitutions import nearest_words",
)


def certify_cell(rules: Rules, lexicon: str) -> str:
    """Return a Python cell that prints accuracy and certified accuracy of both classifiers.

    Args:
        rules: allowed changes, and the training.
        lexicon: its name in the catalogue.
    """
    return "\n".join(
        (
            *_IMPORTS,
            "from dpcore.learn.linear.certificate import certify_linear",
            *_lexicon(lexicon),
            *_texts(rules.labels),
            f"near = nearest_words(lexicon, words, {rules.neighbours})",
            f"for robust in (0.0, {rules.robust!r}):",
            f"    training = LinearTraining({STRENGTH}, robust, {rules.share!r})",
            "    model = train_linear(",
            "        training, texts.train, texts.train_labels, lexicon.vectors, near",
            "    ).model",
            "    worst = certify_linear("
            f"model, texts.test, texts.test_labels, near, {rules.share!r})",
            "    print(robust, model.accuracy(texts.test, texts.test_labels), worst.accuracy)",
        )
    )


def attack_cell(hunt: Hunt, text: str, lexicon: str) -> str:
    """Return a Python cell that runs the same attack on one text and prints its changes.

    Args:
        hunt: the attack.
        text: the attacked text.
        lexicon: its name in the catalogue.
    """
    settings, mechanism = hunt.settings, hunt.mechanism
    if mechanism is None:
        beginning = _lexicon(lexicon)
        tried = [
            f"rng = generator({hunt.seed}, 'robust', 'nearest')",
            f"near = nearest_words(lexicon, text.words, {hunt.neighbours})",
            "candidates = from_substitutions(text, near)",
        ]
    else:
        beginning = python_beginning(mechanism, lexicon)
        tried = [
            f"rng = generator({hunt.seed}, 'robust', mechanism.key)",
            f"candidates = from_mechanism(text, mechanism, {hunt.epsilon!r}, rng)",
        ]
    return "\n".join(
        (
            *_IMPORTS,
            "from dpcore.attack.genetic import from_mechanism, from_substitutions",
            "from dpcore.attack.genetic import Genetic, attack",
            "from dpcore.attack.genetic import steps",
            "from dpcore.learn.corpus import bags_of",
            "from dpcore.learn.classifiers import bundled_network",
            "from dpcore.noise.streams import generator",
            *beginning,
            *_victim(hunt),
            f"text = bags_of([{text!r}], lexicon)",
            *tried,
            f"settings = Genetic({settings.population}, {settings.generations}, "
            f"{settings.share!r}, {settings.tries})",
            "label = int(model.predict(text)[0])",
            "attacked = attack(model, candidates, label, settings, rng)",
            "print(attacked.success, attacked.generations[0].probability)",
            "for step in steps(model, text, attacked):",
            "    print(lexicon.words[step.old], lexicon.words[step.new], step.probability)",
        )
    )


def _victim(hunt: Hunt) -> list[str]:
    """Return lines that make the attacked classifier, `model`."""
    if hunt.victim in NETWORKS:
        return [f"model, _ = bundled_network({NETWORKS[hunt.victim]!r}, lexicon)"]
    rules = hunt.rules
    # Weight 0 of the worst case is normal training.
    robust = rules.robust if hunt.victim == CERTIFIED else 0.0
    return [
        *_texts(rules.labels),
        f"allowed = nearest_words(lexicon, words, {rules.neighbours})",
        f"training = LinearTraining({STRENGTH}, {robust!r}, {rules.share!r})",
        "model = train_linear(",
        "    training, texts.train, texts.train_labels, lexicon.vectors, allowed",
        ").model",
    ]
