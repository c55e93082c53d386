"""Rows of an experiment or a run, the choice of their part, and views of examples and attacks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from dpcore.errors import StudyError
from dpcore.learn.classifiers import TITLES as LEARNERS
from dpcore.learn.classifiers import learner_of
from dpcore.outwards import at_most
from dpcore.plots.style import Caption
from dpcore.plots.utility.curves import TITLES, Line
from dpcore.plots.utility.roc import roc_caption, roc_figure
from dpcore.study.labelled_trial import AS_WRITTEN, STRONGER
from dpcore.study.plan import CLEAN, PRIVATE
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import baseline, roc_curves
from dpcore.written import listed
from pages.shared.figure import show_figure
from pages.shared.language import later, numeral, say
from pages.shared.link import choose_one, pick
from pages.shared.messages import note
from pages.shared.once import memo

if TYPE_CHECKING:
    import pandas as pd


T = TypeVar("T")

TESTED = {PRIVATE: later("private text"), CLEAN: later("clean text")}
ATTACKERS = {"public": later("everything public"), "paper": later("as Carvalho et al. 2021 write")}
_VARIANTS = {"public": STRONGER, "paper": AS_WRITTEN}
_OF_CLASSIFIER = {"accuracy", "auc", "tpr", "roc"}
_OF_ATTACKER = {"auc", "tpr", "roc"}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of an experiment or a run with results computed from them, so that a click is cheap.

    Attributes:
        table: rows with the columns of `dpcore.study.plan`.
    """

    table: pd.DataFrame
    _known: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, computed at the first call with this key."""
        result: T = memo(self._known, key, compute)
        return result


@dataclass(frozen=True, eq=False)
class Evidence:
    """Shown part of an experiment.

    Attributes:
        name: name of the experiment; part of the names of files and elements.
        rows: all of its rows.
        labels: labels or data of the accuracies; empty if there is one kind.
        lexicon: words and vectors.
        learner: classifier; empty if there is none.
        tested_on: texts on which the accuracies are measured.
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
        """Return the result of `compute` for this part, computed once for each key."""
        part = (self.labels, self.lexicon, self.learner, self.tested_on, self.attacker)
        return self.rows.once((part, key), compute)

    def where(self, quantity: str, *, tested_on: str | None = None) -> dict[str, Any]:
        """Return the values of other columns that choose the rows of a quantity."""
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
        """Return a quantity and the filter of its rows, as the engine takes them."""
        return quantity, self.where(quantity)

    @property
    def quantities(self) -> list[str]:
        """Quantities that can be drawn against ε, accuracy first."""

        def compute() -> list[str]:
            rows = self.table[self.table["epsilon"].notna()]
            return [name for name in TITLES if len(chosen(rows, name, **self.where(name)))]

        return self.once("quantities", compute)

    @property
    def has_losses(self) -> bool:
        """True if a worst-case loss is known for any mechanism."""
        return self.rows.once(
            "losses", lambda: bool((self.table["quantity"] == "claimed_loss").any())
        )

    @property
    def trials(self) -> int:
        """Number of seeds."""
        return self.rows.once("trials", lambda: int(self.table["seed"].nunique()))

    def lines(self, quantity: str) -> list[Line]:
        """Return the baselines of a quantity: text without privacy, and guesses without text."""
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
            pass  # the baseline of a run is not done yet
        if quantity == "auc":
            lines.append(Line(later("guessing"), 0.5, "dot"))
        return lines


@dataclass(frozen=True)
class _Options:
    """Available options of the choices."""

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
        # Those whose training texts were inferred come first, since they have all curves.
        list(dict.fromkeys([*attacks["learner"], *learners])),
        learners,
        [name for name in TESTED if name in there],
        [name for name in ATTACKERS if _VARIANTS[name] in variants],
        len(labels) > 1,
    )


def choose_part(name: str, rows: Rows) -> Evidence:
    """Draw the choice of labels, vectors, classifier, test texts and attacker, where there is one.

    Args:
        name: name of the experiment.
        rows: its rows.
    """
    there = rows.once("options", lambda: _options(rows.table))
    with st.container(horizontal=True):
        labels = _choice(say("Labels"), there.labels, "labels", say("The classifier's task."))
        lexicon = _choice(
            say("Words and vectors"),
            there.lexicons,
            "vectors",
            say(
                "The vectors that mechanism and classifier use: the papers' (GloVe), ours "
                "(bundled), or random ones, which carry no meaning."
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
                "Private text: incoming texts are rewritten, as in training. Clean text: a "
                "model trained on private text is used on ordinary text."
            ),
            TESTED,
        )
        attacker = _choice(
            say("Attacker"),
            there.attackers,
            "attacker",
            say(
                "The attacker who asks whether a text was used in training. Everything public: "
                "knows the label and trains the shadow model on text rewritten by the same "
                "mechanism. As the paper writes: sees only the model's outputs, with a shadow "
                "model of clean text."
            ),
            ATTACKERS,
        )
    variant = _VARIANTS.get(attacker, "")
    labels = labels if there.several else ""
    return Evidence(name, rows, labels, lexicon, learner, tested, variant)


def _choice(
    label: str, options: list[str], key: str, explained: str, titles: dict[str, str] | None = None
) -> str:
    """Return the chosen option; draw nothing if there is one option, or none."""
    if len(options) < 2:
        return options[0] if options else ""
    shown = {name: (titles or {}).get(name, name) for name in options}
    return choose_one(st.selectbox, label, shown, f"use_{key}", help=explained, width=230)


# Texts that a classifier of the private texts gets wrong: the original beside its input.


def show_examples(examples: Sequence[Mapping[str, Any]]) -> None:
    """Draw the choice of a mechanism and its ε, and the examples."""
    labels = list(dict.fromkeys(example["label"] for example in examples))
    with st.container(horizontal=True):
        label = pick(
            say("Mechanism of the examples"),
            labels,
            "use_example",
            say("The mechanism that rewrote the texts."),
            width=260,
        )
        values = sorted({each["epsilon"] for each in examples if each["label"] == label})
        epsilon = values[0]
        if len(values) > 1:
            epsilon = st.select_slider(
                say("ε of {label} in the examples", label=label),
                values,
                value=values[len(values) // 2],
                format_func=lambda value: numeral(f"{value:.4g}"),
                key=f"use_example_{label}_{len(values)}",
                help=say("Left: stronger privacy. Only values of ε with such a text."),
            )
    note(
        say(
            "The cost of privacy in single texts of the first trial: a classifier trained on "
            "clean text classifies the original correctly; one trained on private text "
            "classifies the private form wrongly. Only such texts are shown, the first few for "
            "each mechanism and ε; texts that only the second classifies correctly are not "
            "shown."
        )
    )
    for example in examples:
        if (example["label"], example["epsilon"]) == (label, epsilon):
            _example(example)


def _example(example: Mapping[str, Any]) -> None:
    """Draw one example in st.text, since neither a text nor a label is Markdown."""
    with st.container(border=True, gap="xsmall"):
        left, right = st.columns(2)
        with left:
            st.markdown(say("**Original**"))
            st.text(example["original"])
            st.text(say("Its label: {label}", label=example["true"]))
        with right:
            st.markdown(say("**Private**"))
            st.text(example["private"])
            st.text(say("Classified as: {label}", label=example["guessed"]))


# Membership inference: can an attacker tell which texts a model was trained on?


_RATES = (0.01, 0.001)
_VACUOUS = 0.999  # an AUC above it is allowed by a bound that bounds nothing
_MOST = 3  # values of ε in one figure


def membership_view(evidence: Evidence) -> None:
    """Draw the choice of a curve and its ε, the ROC, and its interpretation."""
    rows = evidence.once("roc", lambda: chosen(evidence.table, "roc", **evidence.where("roc")))
    curves = [name for name in dict.fromkeys(rows["label"]) if name != "baseline"]
    if not curves:
        note(say("There is no ROC curve of membership inference here, or not yet."))
        return
    with st.container(horizontal=True):
        label = pick(
            say("Mechanism"),
            curves,
            "use_roc",
            say("The mechanism that made the attacked model's training texts private."),
            width=230,
        )
        values = sorted(set(rows.loc[rows["label"] == label, "epsilon"].dropna()))
        picked = st.pills(
            say("ε of {label}", label=label),
            values,
            selection_mode="multi",
            default=sorted({values[0], values[len(values) // 2], values[-1]}),
            format_func=lambda value: numeral(f"{value:.4g}"),
            key=f"use_roc_{label}",
            help=say(
                "Measured values of the privacy parameter; up to {most} at a time.",
                most=_MOST,
            ),
        )
    epsilons = sorted(picked)[:_MOST]
    picks = [("baseline", None), *((label, epsilon) for epsilon in epsilons)]
    table = roc_curves(evidence.table, picks, **evidence.where("roc"))
    outside = int(rows["count"].min())
    rates = dict.fromkeys(max(rate, 1 / outside) for rate in _RATES)
    captions = [roc_caption(table, rate) for rate in rates]
    caption = Caption(captions[0].finding, listed((caption.how for caption in captions), "\n"))
    show_figure(roc_figure(table), caption, table, f"{evidence.name}_roc")
    note(
        say(
            "Both axes are logarithmic because an accusation can afford few false positives. "
            "Dotted line: random guessing. Band: pointwise 95 % interval of the mean over "
            "trials."
        )
    )
    st.text(_resolution(outside, evidence.trials))
    _promises(evidence, label, epsilons)


def _resolution(outside: int, trials: int) -> str:
    """State the false-positive rate below which nothing was observed."""
    each = (
        say("In the one trial") if trials == 1 else say("In each of {trials} trials", trials=trials)
    )
    return say(
        "{each} about {outside:,} texts were used and as many were not, so there is no "
        "information below a false-positive rate of 1/{outside:,} = {rate:.2g}: there the "
        "curves are straight lines to 0.",
        each=each,
        outside=outside,
        rate=1 / outside,
    )


def _promises(evidence: Evidence, label: str, epsilons: list[float]) -> None:
    """Draw the guarantee of differential privacy for a whole text, where it was computed."""
    rows = evidence.table[
        (evidence.table["quantity"] == "document_auc")
        & (evidence.table["lexicon"] == evidence.lexicon)
        & (evidence.table["label"] == label)
        & evidence.table["epsilon"].isin(epsilons)
    ]
    if not len(rows):
        return
    words = int(rows["count"].iloc[0])
    bounds = dict(zip(rows["epsilon"].tolist(), rows["value"].tolist(), strict=True))
    empty = [numeral(f"{epsilon:g}") for epsilon, bound in bounds.items() if bound > _VACUOUS]
    allowed = [
        say(
            "at ε = {epsilon:g} an AUC of at most {bound:.3g}",
            epsilon=epsilon,
            bound=float(at_most(bound, 3)),
        )
        for epsilon, bound in bounds.items()
        if bound <= _VACUOUS
    ]
    if empty:
        allowed.append(
            say(
                ("at ε = {epsilons} an attacker who is nearly always right: it rules nothing out"),
                epsilons=", ".join(empty),
            )
        )
    st.text(
        say(
            "For a whole text of {words} words in place of another of equal length, the "
            "guarantee of {label} for one word allows {allowed}. The smaller leakage here is "
            "measured, not guaranteed.",
            label=label,
            words=words,
            allowed="; ".join(allowed),
        )
    )
