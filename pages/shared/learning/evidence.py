"""What is shown: the rows of an experiment or of a run, and which part of them is chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import streamlit as st

from dpcore.errors import StudyError
from dpcore.learn.classifiers import TITLES as LEARNERS
from dpcore.learn.classifiers import learner_of
from dpcore.plots.utility.curves import TITLES, Line
from dpcore.study.membership_trial import AS_WRITTEN, STRONGER
from dpcore.study.rows import CLEAN, PRIVATE
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import baseline
from pages.shared.language import later, say
from pages.shared.linking import choose_one

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    import pandas as pd

T = TypeVar("T")

TESTED = {PRIVATE: later("private text"), CLEAN: later("clean text")}
ATTACKERS = {"public": later("all that is public"), "paper": later("as Carvalho et al. 2021 write")}
_VARIANTS = {"public": STRONGER, "paper": AS_WRITTEN}
_OF_CLASSIFIER = {"accuracy", "auc", "tpr", "roc"}
_OF_ATTACKER = {"auc", "tpr", "roc"}


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of an experiment or a run, and what was computed of them: a click computes little.

    Attributes:
        table: rows with the columns of `dpcore.study.rows`.
    """

    table: pd.DataFrame
    _known: dict[Hashable, object] = field(default_factory=dict)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives, computed at the first call with this key."""
        if key not in self._known:
            self._known[key] = compute()
        return cast("T", self._known[key])


@dataclass(frozen=True, eq=False)
class Evidence:
    """The part of an experiment that is shown.

    Attributes:
        name: of the experiment; part of the names of files and elements.
        rows: all of it.
        labels: which labels or data the accuracies are of; empty if there is one kind.
        lexicon: which words and vectors.
        learner: which classifier; empty if there is none.
        tested_on: what the accuracies are measured on.
        attacker: variant of the attacker.
    """

    name: str
    rows: Rows
    labels: str
    lexicon: str
    learner: str
    tested_on: str
    attacker: str

    @property
    def table(self) -> pd.DataFrame:
        """All rows."""
        return self.rows.table

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives of this part, computed at the first call with this key."""
        part = (self.labels, self.lexicon, self.learner, self.tested_on, self.attacker)
        return self.rows.once((part, key), compute)

    def where(self, quantity: str, *, tested_on: str | None = None) -> dict[str, Any]:
        """The values of other columns that choose the rows of a quantity."""
        where: dict[str, Any] = {"lexicon": self.lexicon}
        if quantity in _OF_CLASSIFIER:
            where["learner"] = self.learner
        if quantity in _OF_CLASSIFIER | {"majority"} and self.labels:
            where["data"] = self.labels
        if quantity == "accuracy":
            where["tested_on"] = tested_on or self.tested_on
        if quantity in _OF_ATTACKER:
            where["variant"] = self.attacker
        return where

    def of(self, quantity: str) -> tuple[str, dict[str, Any]]:
        """A quantity and where it stands, as the engine takes them."""
        return quantity, self.where(quantity)

    @property
    def quantities(self) -> list[str]:
        """What can be drawn against ε, accuracy first."""

        def compute() -> list[str]:
            rows = self.table[self.table["epsilon"].notna()]
            return [name for name in TITLES if len(chosen(rows, name, **self.where(name)))]

        return self.once("quantities", compute)

    @property
    def has_losses(self) -> bool:
        """Whether a worst-case loss is known of any mechanism."""
        return self.rows.once(
            "losses", lambda: bool((self.table["quantity"] == "claimed_loss").any())
        )

    @property
    def trials(self) -> int:
        """Number of seeds."""
        return self.rows.once("trials", lambda: int(self.table["seed"].nunique()))

    def lines(self, quantity: str) -> list[Line]:
        """Baselines of a quantity: text without privacy, and what takes no text at all."""
        return self.once(("lines", quantity), lambda: self._lines(quantity))

    def _lines(self, quantity: str) -> list[Line]:
        lines = []
        try:
            without = baseline(self.table, quantity, **self.where(quantity, tested_on=CLEAN))
            lines.append(Line(later("without privacy"), without.mean))
            if quantity == "accuracy":
                largest = baseline(self.table, "majority", **self.where("majority"))
                lines.append(Line(later("largest class always"), largest.mean, "dot"))
        except StudyError:
            pass  # of a run whose baseline is not done yet
        if quantity == "auc":
            lines.append(Line(later("guessing"), 0.5, "dot"))
        return lines


@dataclass(frozen=True)
class _Options:
    """What there is to choose from."""

    labels: list[str]
    lexicons: list[str]
    learners: list[str]
    trained: list[str]
    tested: list[str]
    attackers: list[str]
    several: bool


def _options(table: pd.DataFrame) -> _Options:
    accuracies = table[table["quantity"] == "accuracy"]
    attacks = table[table["quantity"] == "auc"]
    there, variants = set(accuracies["tested_on"]), set(attacks["variant"])
    learners = list(dict.fromkeys(accuracies["learner"]))
    labels = sorted(set(accuracies["data"]))
    return _Options(
        labels,
        list(dict.fromkeys(table["lexicon"])),
        # Those whose training texts were inferred first: they have all curves.
        list(dict.fromkeys([*attacks["learner"], *learners])),
        learners,
        [name for name in TESTED if name in there],
        [name for name in ATTACKERS if _VARIANTS[name] in variants],
        len(labels) > 1,
    )


def choose_part(name: str, rows: Rows) -> Evidence:
    """Draw the choice of labels, vectors, classifier, test texts and attacker, where there is one.

    Args:
        name: of the experiment.
        rows: of it.
    """
    there = rows.once("options", lambda: _options(rows.table))
    with st.container(horizontal=True):
        labels = _choice(say("Labels"), there.labels, "labels", say("What the classifier learns."))
        lexicon = _choice(
            say("Words and vectors"),
            there.lexicons,
            "vectors",
            say(
                "Whose vectors the mechanism and the classifier use: those of the papers "
                "(GloVe), ours (bundled), or random ones, which know nothing of what a word "
                "means."
            ),
        )
        kinds = [f"{name}: {say(LEARNERS[learner_of(name).kind])}" for name in there.trained]
        explained = "; ".join(kinds) + "."
        learner = _choice(say("Classifier"), there.learners, "classifier", explained)
        tested = _choice(
            say("Accuracy on"),
            there.tested,
            "tested",
            say(
                "Private text: what people send arrives rewritten, as in training. Clean text: "
                "a model that was trained on private text is used on ordinary text."
            ),
            TESTED,
        )
        attacker = _choice(
            say("Attacker"),
            there.attackers,
            "attacker",
            say(
                "Who asks whether a text was used in training. All that is public: knows the "
                "label and trains the shadow model on text that the same mechanism rewrote. As "
                "the paper writes: sees the model's outputs alone, with a shadow model of clean "
                "text."
            ),
            ATTACKERS,
        )
    variant = _VARIANTS.get(attacker, "")
    labels = labels if there.several else ""
    return Evidence(name, rows, labels, lexicon, learner, tested, variant)


def _choice(
    label: str, options: list[str], key: str, explained: str, titles: dict[str, str] | None = None
) -> str:
    """The chosen option; nothing is drawn where there is one, or none."""
    if len(options) < 2:
        return options[0] if options else ""
    shown = {name: (titles or {}).get(name, name) for name in options}
    return choose_one(st.selectbox, label, shown, f"use_{key}", help=explained, width=230)
