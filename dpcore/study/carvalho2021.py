"""Carvalho et al. 2021, Figures 1a and 1b: TEM against Madlib on IMDb, utility and membership.

Appendix C: the target is trained on TR1 (half of the train split) after privatisation and tested
on the original TE1 (half of the test split). The shadow model is trained on TE2; the attack
network learns from the shadow's outputs on TE2 (in) and TE1 (out), and is evaluated on the
target's outputs on TR1 (in) and TR2 (out). The paper does not say that TE2 is privatised, and
gives the attacker the outputs alone; here is also the stronger attacker, whose shadow model
learns from text that the (public) mechanism rewrote, and who knows the labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.study.membership_trial import QUARTERS, membership_trial
from dpcore.study.reading_corpora import labelled_rows
from dpcore.study.rows import Prepared, Row, kept, prepare
from dpcore.study.utility import private

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.study.plan import Cell
    from dpcore.study.sources import Sources


def measure(cell: Cell, sources: Sources) -> list[Row]:
    """One trial of one mechanism at all its ε, or of the baseline without a mechanism.

    Options: `quarter` (texts of each quarter), `most` (words of a text), `learners`.
    """
    lexicon = sources.lexicon(cell.lexicon)
    quarters = draw_quarters(sources.file(cell.data), cell, lexicon)
    learners = tuple(cell.option("learners"))
    if not cell.mechanism:
        clean = quarters["TR1"].bags, quarters["TE2"].bags
        return [
            one
            for name in learners
            for one in membership_trial(quarters, *clean, name, cell.seed, lexicon, None)
        ]
    mechanism = sources.mechanism(cell)
    parts = quarters["TR1"].bags, quarters["TE2"].bags
    target, shadow = private(mechanism, parts, cell.epsilons, cell.seed)
    rows: list[Row] = []
    for e, epsilon in enumerate(cell.epsilons):
        rows.append(kept((parts[0], target[e]), (parts[1], shadow[e]), epsilon=epsilon))
        for name in learners:
            rows += membership_trial(
                quarters, target[e], shadow[e], name, cell.seed, lexicon, epsilon
            )
    return rows


def draw_quarters(path: Path, cell: Cell, lexicon: Lexicon) -> dict[str, Prepared]:
    """TR1, TR2 of the train split and TE1, TE2 of the test split, the same for every mechanism."""
    size, most = int(cell.option("quarter")), cell.option("most")
    found = {}
    for split, names in (("train", QUARTERS[:2]), ("test", QUARTERS[2:])):
        rng = cell.shared_generator("quarters", split)
        corpus = labelled_rows(path, split, 2 * size, rng)
        places = np.arange(2 * size)
        for name, part in zip(names, (places[:size], places[size:]), strict=True):
            found[name] = prepare(corpus.part(part), lexicon, most)
    return found
