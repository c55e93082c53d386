"""Comparison of Carvalho et al. 2021, Figures 1a and 1b, with measurements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dpcore.attack.membership import DocumentBound
from dpcore.papers.row import FULL, Row, comparison_row, epsilon_text, listing, signed
from dpcore.study.labelled_trial import AS_WRITTEN, STRONGER
from dpcore.study.recorded import Figures, read_recorded
from dpcore.written import Filled

row = partial(comparison_row, "carvalho2021")
"""Row about this paper."""
PRINTED_AT_TWO = {"tem": 0.75, "madlib": 0.52}
"""Section 5: average test accuracy at ε = 2, where both have AUC 0.50."""
_LEARNERS = {"averaged": "averaged vectors", "tf-idf": "TF-IDF", "network": "network"}
_ATTACKED = "tf-idf"
"""Classifier whose attacker is compared."""
_LOWER = Filled(" Fewer texts to learn from give a lower ceiling than 12,500 do.")


def carvalho_rows(figures: Figures) -> tuple[Row, ...]:
    """Return all rows of an experiment on IMDb."""
    full = figures.name.endswith(FULL)
    return (
        _baseline(figures),
        *(_at_two(figures, curve) for curve in PRINTED_AT_TWO),
        _size(figures) if full else _same_level(figures),
        _order(figures),
        # Nothing is interpolated between three ε of Madlib.
        *(() if full else (_equal_attack(figures),)),
        *(_attack(figures, curve) for curve in PRINTED_AT_TWO),
        _few_false(figures),
        _formal(figures),
        _true_epsilon(figures),
    )


def _for_all(figures: Figures, text: Callable[[Figures], object]) -> str:
    """Join a text for each classifier, tested on clean text."""
    return "; ".join(
        f"{title} {text(figures.only(learner=learner, tested_on='clean'))}"
        for learner, title in _LEARNERS.items()
    )


def _for_both(text: Callable[[str], object]) -> str:
    """Join a text for both mechanisms."""
    return ", ".join(f"{curve} {text(curve)}" for curve in PRINTED_AT_TWO)


def _baseline(figures: Figures) -> Row:
    shares = _for_all(figures, lambda chosen: chosen.without("accuracy"))
    return row(
        "baseline",
        figures,
        shares=shares,
        majority=figures.without("majority").mean,
        lower=_lower(figures),
    )


def _lower(figures: Figures) -> str:
    return "" if figures.name.endswith(FULL) else _LOWER


def _at_two(figures: Figures, curve: str) -> Row:
    printed = PRINTED_AT_TWO[curve]
    # The paper tests on original texts (Appendix C); our private test texts have no counterpart.
    chosen = figures.only(tested_on="clean")
    means = (chosen.mean("accuracy", curve, 2.0, learner=learner) for learner in _LEARNERS)
    return row(
        "at-two",
        figures,
        curve=curve,
        printed=printed,
        ours=_for_all(figures, lambda chosen: chosen.at("accuracy", curve, 2.0)),
        difference=", ".join(signed(mean - printed) for mean in means),
        kept=100 * figures.mean("nw", curve, 2.0),
        lower=_lower(figures),
        facts=figures.lexicon("imdb"),
    )


def _same_level(figures: Figures) -> Row:
    level = PRINTED_AT_TWO["tem"]
    chosen = figures.only(tested_on="clean")
    # 0.02 below the ceiling of the weakest classifier: a level that each of them passes for sure.
    aim = min(level, *(chosen.without("accuracy", learner=name).mean - 0.02 for name in _LEARNERS))

    def reached(chosen: Figures) -> str:
        return _for_both(lambda curve: epsilon_text(chosen.reaching("accuracy", curve, aim)))

    ceiling = "" if aim == level else Filled("; here near the ceiling")
    ours = _for_all(figures, reached)
    return row("same-level", figures, aim=aim, level=level, ceiling=ceiling, ours=ours)


def _size(figures: Figures) -> Row:
    """Compare the record of all reviews with that of an eighth."""
    fewer = Figures(read_recorded(figures.name.removesuffix(FULL)))
    both = [f.only(learner=_ATTACKED) for f in (fewer, figures)]
    points = (("tem", 2.0), ("madlib", 2.0), ("tem", 4.0), ("madlib", 4.0), ("madlib", 20.0))
    changes = [
        (
            "without privacy",
            [f.without("accuracy", tested_on="clean").mean for f in both],
            [f.without("auc", variant=STRONGER).mean for f in both],
        )
    ]
    changes += [
        (
            f"{curve} at ε = {e:g}",
            [f.mean("accuracy", curve, e, tested_on="clean") for f in both],
            [f.mean("auc", curve, e, variant=STRONGER) for f in both],
        )
        for curve, e in points
    ]
    return row(
        "size",
        figures,
        ours="; ".join(
            f"{name} {listing(shares, '.3f')}, AUC {listing(areas, '.3f')}"
            for name, shares, areas in changes
        ),
        few=fewer.option("quarter"),
        many=figures.option("quarter"),
        learner=_LEARNERS[_ATTACKED],
    )


def _order(figures: Figures) -> Row:
    epsilon = 4.0

    def accuracy(chosen: Figures) -> str:
        return _for_both(lambda curve: chosen.at("accuracy", curve, epsilon))

    kept = _for_both(lambda curve: f"{figures.mean('nw', curve, epsilon):.3g}")
    return row("order", figures, epsilon=epsilon, ours=_for_all(figures, accuracy), kept=kept)


def _equal_attack(figures: Figures) -> Row:
    chosen = figures.only(learner=_ATTACKED)
    # Halfway between a coin and the attack without privacy: below the ceiling of every mechanism.
    level = 0.5 + 0.5 * (chosen.without("auc", variant=STRONGER).mean - 0.5)
    texts, shares = [], []
    for curve in PRINTED_AT_TWO:
        epsilon = chosen.reaching("auc", curve, level, variant=STRONGER)
        accuracy = chosen.interpolated("accuracy", curve, epsilon, tested_on="clean")
        text = f"{curve} ε = {epsilon_text(epsilon)}"
        if accuracy is not None:
            shares.append(accuracy)
            text += f", accuracy {accuracy:.3f}"
        texts.append(text)
    both = len(shares) == len(PRINTED_AT_TWO)
    difference = ""
    if both:
        difference = Filled(
            "TEM minus Madlib here: {difference}", difference=signed(shares[0] - shares[1])
        )
    ours = f"{'; '.join(texts)} ({_LEARNERS[_ATTACKED]})"
    return row("equal-attack", figures, level=level, ours=ours, difference=difference)


def _attack(figures: Figures, curve: str) -> Row:
    chosen = figures.only(learner=_ATTACKED)
    written, stronger = (
        chosen.at("auc", curve, 2.0, variant=variant) for variant in (AS_WRITTEN, STRONGER)
    )
    # Without privacy, or nobody could tell whether the attack is weak or the noise strong.
    clean = (chosen.without("auc", variant=variant).mean for variant in (AS_WRITTEN, STRONGER))
    return row(
        "attack",
        figures,
        curve=curve,
        written=str(written),
        stronger=str(stronger),
        learner=_LEARNERS[_ATTACKED],
        difference=signed(written.mean - 0.50),
        clean=listing(clean, ".3f"),
        more=""
        if figures.name.endswith(FULL)
        else Filled(
            ": a model of {texts:,} texts remembers more of each than one of 12,500",
            texts=figures.option("quarter"),
        ),
    )


def _few_false(figures: Figures) -> Row:
    rate = 0.01
    chosen = figures.only(learner=_ATTACKED, variant=STRONGER, at=rate)
    points = (("tem", 2.0), ("tem", 4.0), ("madlib", 4.0), ("madlib", 20.0))
    shares = (f"{curve} at ε = {e:g}: {chosen.at('tpr', curve, e)}" for curve, e in points)
    ours = "; ".join((f"without privacy {chosen.without('tpr')}", *shares))
    return row("few-false", figures, percent=100 * rate, ours=ours)


def _formal(figures: Figures) -> Row:
    bounds = figures.rows("document_auc")
    tokens = int(bounds["count"].iloc[0])
    least = float(figures.rows("claimed_loss")["value"].min())
    allowed = float(DocumentBound(tokens, least * tokens, 0.0, True, "").true_positives(0.01))
    return row(
        "formal",
        figures,
        bounded=int((bounds["value"] < 0.999).sum()),
        points=len(bounds),
        least=least,
        tokens=tokens,
        allowed=100 * allowed,
        total=least * tokens,
    )


def _true_epsilon(figures: Figures) -> Row:
    rows = figures.rows("true_epsilon").sort_values("epsilon")
    # One ε an octave: the row is read, not plotted.
    rows = rows[rows["epsilon"].isin((1.0, 2.0, 4.0, 8.0))]
    pairs = zip(rows["value"], rows["epsilon"], strict=True)
    ours = ", ".join(f"{value:.3g} at {epsilon:g}" for value, epsilon in pairs)
    return row("true-epsilon", figures, ours=ours)
