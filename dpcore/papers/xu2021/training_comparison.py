"""Xu et al. 2021, Tables 2 and 3 (adversarial training), against measurement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.papers.readings import lexicon_facts, option, without
from dpcore.papers.reported import PUBLISHED_BOUND
from dpcore.papers.row import Row, rounded, signed
from dpcore.papers.xu2021.deniability import XU_FIRST
from dpcore.papers.xu2021.reported import CLEAN_IBP, CLEAN_NORMAL, SIZES
from dpcore.papers.xu2021.training import AUGMENTED, NORMAL, PAPER, ROBUST, STRONGER
from dpcore.papers.xu2021.training_plans import seeds_of
from dpcore.papers.xu2021.training_record import (
    column_name,
    column_names,
    corpus_of,
    number_at,
    paper_columns,
    percent,
    reached,
    recorded_epsilons,
    title_of,
)

if TYPE_CHECKING:
    from dpcore.study.experiment_results import RecordedExperiment

_PAPER = "Xu et al. 2021"
_TABLES = {"madlib": "Table 3", "truncated-gumbel": "Table 2"}
_ADVERSARIAL = "adversarial accuracy"
_NOTHING = 0.02
"""A network whose clean accuracy is no more than this above guessing has learned nothing."""
_VOCABULARY = {"imdb": (48_210, 0.2208), "snli": (11_673, 0.2263)}
"""Words and Δ₀ of the paper, Appendix A."""
_NAMES = {"madlib": "multivariate Laplace", "truncated-gumbel": "truncated Gumbel"}


def training_rows(recorded: RecordedExperiment) -> tuple[Row, ...]:
    """Rows of one corpus, both mechanisms."""
    columns = [(curve, one) for curve in _TABLES for one in paper_columns(recorded, curve).items()]
    return (
        *_clean(recorded),
        _certified(recorded),
        _within(recorded),
        *(_adversarial(recorded, curve, *one) for curve, one in columns),
        *(_half(recorded, curve) for curve in _TABLES),
        *(_augmented(recorded, curve) for curve in _TABLES),
        *(_lists(recorded, curve) for curve in _TABLES),
        _edge(recorded),
    )


def _smaller(recorded: RecordedExperiment) -> str:
    """What is smaller here than in the paper."""
    training, words = option(recorded, "train"), option(recorded, "most")
    seeds = seeds_of(len(recorded.entry.plan["seeds"]))
    cut = f" of at most {words} words" if words else ""
    return (
        f"Here {training:,} training texts{cut} ({SIZES[corpus_of(recorded)]} in the paper), "
        f"{option(recorded, 'attacked')} attacked ones, {seeds}."
    )


def _attacker(recorded: RecordedExperiment) -> str:
    """What the attacker may do here, and what is not known of the paper's."""
    return (
        f"The attacker has what {option(recorded, 'draws')} draws of each word gave, of either "
        "mechanism: a word that none of them moves stays. High accuracy at a large ε shows a "
        "mechanism that does nothing, and not a robust network. How long the paper's attack goes "
        "on is not said."
    )


def _clean(recorded: RecordedExperiment) -> list[Row]:
    key, found = corpus_of(recorded), []
    for name, said in ((NORMAL, CLEAN_NORMAL[key]), (ROBUST, CLEAN_IBP[key])):
        share = without(recorded, "accuracy", learner=name, tested_on="clean").mean
        majority = without(recorded, "majority").mean
        found.append(
            Row(
                _PAPER,
                f"Tables 2 and 3 ({title_of(recorded)})",
                f"clean accuracy of {name} training",
                f"{said:.2f} %",
                percent(share),
                signed(100 * share - said),
                f"{_smaller(recorded)} Guessing gives {majority:.1%}.",
            )
        )
    return found


def _certified(recorded: RecordedExperiment) -> Row:
    normal, robust = (
        without(recorded, "certified", learner=name).mean for name in (NORMAL, ROBUST)
    )
    return Row(
        _PAPER,
        "Section 6.2",
        "certified accuracy within the allowed substitutions: normal and certified training",
        "not given",
        f"{percent(normal)} and {percent(robust)}",
        "",
        "Interval bounds prove next to nothing of a network that was not trained for them. The "
        "lists are those of the networks' authors, without their language model, which forbids "
        "more substitutions and so certifies more.",
    )


def _within(recorded: RecordedExperiment) -> Row:
    parts = []
    broken = 0.0
    for name in (NORMAL, ROBUST):
        left = without(recorded, "within the lists", learner=name).mean
        broken += without(recorded, "certified and broken", learner=name).mean
        parts.append(f"{name} {percent(left)}")
    return Row(
        _PAPER,
        "Section 6.3",
        "accuracy after an attack that keeps to the allowed substitutions",
        "not given",
        f"{', '.join(parts)}; certified texts that it broke: {broken:.3g}",
        "",
        "A certified text that is broken would refute the bounds. Against the substitutions that "
        "it was trained for, certified training does what it is for.",
    )


def _adversarial(
    recorded: RecordedExperiment, curve: str, epsilon: float, said: tuple[float, float, float]
) -> Row:
    found = {
        (name, how): number_at(recorded, _ADVERSARIAL, curve, epsilon, learner=name, variant=how)
        for name in (ROBUST, AUGMENTED, NORMAL)
        for how in (PAPER, STRONGER)
    }
    kept = number_at(recorded, "nw", curve, epsilon)
    plain = " and ".join(
        percent(number_at(recorded, "accuracy", curve, epsilon, learner=one, tested_on="private"))
        for one in (ROBUST, AUGMENTED)
    )
    first = {name: found[name, PAPER] for name in (ROBUST, AUGMENTED)}
    return Row(
        _PAPER,
        f"{_TABLES[curve]} ({title_of(recorded)})",
        f"adversarial accuracy of certified and augmented training, {column_name(curve, epsilon)}",
        f"{said[0]:.2f} % and {said[1]:.2f} %",
        f"{percent(first[ROBUST])} and {percent(first[AUGMENTED])} (normal: "
        f"{percent(found[NORMAL, PAPER])}); after the stronger attack "
        f"{percent(found[ROBUST, STRONGER])} and {percent(found[AUGMENTED, STRONGER])}",
        f"{signed(100 * first[ROBUST] - said[0])} and {signed(100 * first[AUGMENTED] - said[1])}",
        f"{_ahead(recorded, curve, epsilon, said)} A word stays with probability {kept:.2f}; with "
        f"every word rewritten once the two read {plain} right. {_attacker(recorded)}",
    )


def _ahead(
    recorded: RecordedExperiment, curve: str, epsilon: float, said: tuple[float, float, float]
) -> str:
    """Which training keeps more, if the two intervals say so."""
    ends = {
        name: [
            number_at(
                recorded, _ADVERSARIAL, curve, epsilon, column=end, learner=name, variant=PAPER
            )
            for end in ("low", "high")
        ]
        for name in (ROBUST, AUGMENTED)
    }
    clean = number_at(recorded, "accuracy", curve, epsilon, learner=AUGMENTED, tested_on="clean")
    guessing = without(recorded, "majority").mean
    if clean <= guessing + _NOTHING:
        return (
            f"The augmented network learned nothing: on clean text {percent(clean)} are right, by "
            f"guessing {percent(guessing)}. Who always says the same is not fooled."
        )
    first, second = ends[ROBUST], ends[AUGMENTED]
    if first[0] <= second[1] and second[0] <= first[1]:
        return f"{option(recorded, 'attacked')} attacked texts do not tell the two apart."
    same = (said[0] > said[1]) == (first[0] > second[1])
    name = "certified" if first[0] > second[1] else "augmented"
    return f"The {name} network keeps more, {'as' if same else 'other than'} in the paper."


def _half(recorded: RecordedExperiment, curve: str) -> Row:
    """Where the mechanism's attack stops to hurt: a scale that can be compared."""
    key = corpus_of(recorded)
    said = paper_columns(recorded, curve)
    clean = without(recorded, "accuracy", learner=ROBUST, tested_on="clean").mean
    found = {
        e: number_at(recorded, _ADVERSARIAL, curve, e, learner=ROBUST, variant=PAPER) for e in said
    }
    theirs = reached(
        {e: column[0] for e, column in said.items()},
        CLEAN_IBP[key] / 2,
        logarithms=curve != "madlib",
    )
    ours = reached(found, clean / 2, logarithms=curve != "madlib")
    gap = _VOCABULARY[key][1]
    own = lexicon_facts(recorded, str(recorded.entry.plan["lexicons"][0]))
    unit = "ε" if curve == "madlib" else "ln ε"
    return Row(
        _PAPER,
        f"{_TABLES[curve]} ({title_of(recorded)})",
        f"{unit} at which certified training keeps half of its clean accuracy",
        theirs,
        f"{ours} (clean {percent(clean)})",
        "",
        f"{_attacker(recorded)} Also, ε is per unit of distance: the closest words are {gap:g} "
        f"apart in the paper and {own['separation']:.3g} here, {own['separation'] / gap:.2g} times "
        "as far, so equal ε is less noise here. How much of the difference is of which kind is "
        f"not known. {_few(recorded, curve)}",
    )


def _few(recorded: RecordedExperiment, curve: str) -> str:
    """That the attacked texts are not all test texts, seen where no word moves any more."""
    largest = recorded_epsilons(recorded, curve)[-1]
    left = number_at(recorded, _ADVERSARIAL, curve, largest, learner=NORMAL, variant=PAPER)
    clean = without(recorded, "accuracy", learner=NORMAL, tested_on="clean").mean
    return (
        f"At {column_name(curve, largest)} normal training reads {percent(left)} of the attacked "
        f"texts right, and {percent(clean)} of all test texts before any attack: "
        f"{option(recorded, 'attacked')} texts are few."
    )


def _augmented(recorded: RecordedExperiment, curve: str) -> Row:
    said = paper_columns(recorded, curve)
    found = [
        number_at(recorded, "accuracy", curve, e, learner=AUGMENTED, tested_on="clean")
        for e in said
    ]
    normal = without(recorded, "accuracy", learner=NORMAL, tested_on="clean").mean
    copies, epochs = option(recorded, "copies"), option(recorded, "epochs")
    return Row(
        _PAPER,
        f"{_TABLES[curve]} ({title_of(recorded)})",
        f"clean accuracy of augmented training, {column_names(curve, list(said))}",
        ", ".join(f"{one[2]:.2f}" for one in said.values()) + " %",
        ", ".join(percent(share) for share in found),
        "",
        f"Normal training reaches {percent(normal)} here. At a small ε {copies} of {copies + 1} "
        "training texts are nearly random words under a true label, and the network learns from "
        f"the one that is left; it sees that {epochs['augmented']} times here, and normal training "
        f"up to {epochs['normal']} times, so less is learned than in the paper. "
        f"{_smaller(recorded)}",
    )


def _lists(recorded: RecordedExperiment, curve: str) -> Row:
    epsilons = recorded_epsilons(recorded, curve)
    shares = [number_at(recorded, "substitutes in the lists", curve, e) for e in epsilons]
    return Row(
        _PAPER,
        f"Section 6.6 ({_NAMES[curve]}, {title_of(recorded)})",
        "changed words whose substitute certified training allows, "
        f"{column_names(curve, epsilons)}",
        "“the semantic meaning is not always preserved”: a possible reason, not measured",
        ", ".join(percent(share) for share in shares),
        "",
        f"Measured: at most {max(shares):.0%} of the changes are among the substitutions that "
        "certified training was certified for; about the others the certificate says nothing.",
    )


def _edge(recorded: RecordedExperiment) -> Row:
    key = corpus_of(recorded)
    first = XU_FIRST[key]
    bound = PUBLISHED_BOUND[f"xu2021-figure-1-{key}"]
    words, gap = _VOCABULARY[key]
    own = lexicon_facts(recorded, str(recorded.entry.plan["lexicons"][0]))
    ours = (5 + 2 * math.log(own["words"])) / own["separation"]
    theirs = (5 + 2 * math.log(words)) / gap
    lowest = recorded_epsilons(recorded, "truncated-gumbel")[0]
    stays = number_at(recorded, "nw", "truncated-gumbel", lowest)
    left = number_at(
        recorded,
        _ADVERSARIAL,
        "truncated-gumbel",
        lowest,
        learner=ROBUST,
        variant=PAPER,
    )
    return Row(
        _PAPER,
        f"Table 2 and Appendix A ({title_of(recorded)})",
        f"first column, ln ε = {first:g}",
        f"ε = {math.exp(first):.2f}, “slightly larger” than the lower bound {bound:g}"
        + rounded(math.exp(first), bound),
        f"with the paper's vocabulary ({words:,} words, Δ₀ = {gap:g}) the noise exists from ε = "
        f"{theirs:.2f} on; with ours ({own['words']:,} words, Δ₀ = {own['separation']:.4g}) from "
        f"{ours:.2f} on. At ln ε = {math.log(lowest):.3g}, our edge, a word stays with probability "
        f"{stays:.2f} and certified training keeps {percent(left)}",
        "",
        "The paper's bound makes α positive; b needs ln(αΔ₀) > 0 too, that is ε > (5 + 2 ln n)/Δ₀. "
        f"Below {theirs:.2f} Algorithm 2 has no positive b, so the noise of the first column is "
        "not defined. With our vocabulary the same ε is inside.",
    )
