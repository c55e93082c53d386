"""How the numbers of a view come about: computed now or recorded, and the command lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.robustness.victims import NETWORKS
from pages.shared.language import say
from pages.shared.reproducing import command_line, mechanism_words

if TYPE_CHECKING:
    from dpcore.study.recorded import Recorded
    from pages.robustness.attack_work import Hunt
    from pages.robustness.pictures_work import Bounded, Noise
    from pages.robustness.words_work import Rules


def computed_now() -> None:
    """The mark of a live view."""
    st.badge(say("computed now"), icon=":material/bolt:", color="gray")


def recorded_mark(date: str) -> None:
    """The mark of a recorded view.

    Args:
        date: of the record.
    """
    st.badge(say("recorded {date}", date=date), icon=":material/inventory_2:", color="gray")


def seeds(record: Recorded) -> str:
    """Over how many seeds a mean is, in words."""
    count = len(record.entry.plan["seeds"])
    return say("one seed") if count == 1 else say("mean over {count} seeds", count=count)


def digits_command(noise: Noise, how: Bounded) -> str:
    """The command of the view of pictures."""
    words = ["--noise", noise.accounting, "--scale", f"{noise.scale:g}", "--place", noise.place]
    words += ["--draws", str(noise.draws), "--error", f"{how.error:g}", "--seed", str(noise.seed)]
    return command_line("robust", "digits", *words)


def certify_command(rules: Rules, lexicon: str) -> str:
    """The command of the view of words.

    Args:
        rules: what may change, and the training.
        lexicon: its name in the catalogue.
    """
    words = ["--labels", rules.labels, "--neighbours", str(rules.neighbours)]
    words += ["--share", f"{rules.share:g}", "--robust", f"{rules.robust:g}", "--lexicon", lexicon]
    return command_line("robust", "certify", *words)


def attack_command(hunt: Hunt, text: str, lexicon: str) -> str:
    """The command of an attack on one text by the words of a mechanism.

    Args:
        hunt: the attack; it has a mechanism; certified training of a linear model has no command.
        text: the attacked text.
        lexicon: its name in the catalogue.
    """
    mechanism, settings = hunt.mechanism, hunt.settings
    if mechanism is None:
        raise ValueError("an attack without a mechanism has no command")
    words = ["robust", "attack", "--text", text]
    if hunt.victim in NETWORKS:
        words += ["--checkpoint", NETWORKS[hunt.victim]]
    words += ["--labels", hunt.rules.labels, "--share", f"{settings.share:g}"]
    words += ["--population", str(settings.population), "--generations", str(settings.generations)]
    words += mechanism_words(mechanism, hunt.epsilon)
    return command_line(*words, "--lexicon", lexicon, "--seed", str(hunt.seed))
