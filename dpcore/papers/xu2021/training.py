"""Xu et al. 2021, Tables 2 and 3: normal, augmented and certified training against a mechanism.

One cell is one mechanism at one ε, or the baseline without one. Three networks are attacked by
genetic word substitution whose candidates are draws of the mechanism in the place of a word
(Section 6.3), as many for every mechanism; a draw that gives the word back is no candidate. The
paper leaves open how long its attack goes on, so a stronger one is recorded beside it, and the
plain meaning of "perturbed samples": every word rewritten once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.attack.genetic.candidates import from_mechanism, from_substitutions
from dpcore.attack.genetic.genetic import Genetic, attack
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.noise.streams import generator
from dpcore.papers.xu2021.material import Material, Trial, augmented, material, private_text
from dpcore.study.plan import canonical
from dpcore.study.rows import CLEAN, PRIVATE, Row, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.attack.genetic.candidates import Candidates
    from dpcore.learn.bags import Bags
    from dpcore.learn.substitutions import Substitutions
    from dpcore.learn.text_network.classifier import NetworkClassifier
    from dpcore.learn.text_network.training import Examples
    from dpcore.learn.training_settings import Fitted
    from dpcore.study.plan import Cell
    from dpcore.study.sources import Sources

NORMAL, AUGMENTED, ROBUST = "normal", "augmented", "ibp"
PAPER, STRONGER = "paper's attack", "stronger attack"


def measure(cell: Cell, sources: Sources) -> list[Row]:
    """Accuracies of the networks at one ε, or of the two that know no mechanism.

    Options: `train`, `held_out`, `test`, `attacked` (texts), `splits`, `pairs` (premise and
    hypothesis), `most` (words of a text), `hidden`, `batch`, `epochs` (of each training), `copies`,
    `lists` (SHA-256 of the allowed substitutions), `population`, `generations`, `tries`, `draws`
    (of each word that is attacked), and for a mechanism `grid`: all ε of the curve, which share
    their noise.
    """
    trial = Trial.of(cell, sources)
    prepared = material(trial)
    if not cell.mechanism:
        return _baseline(prepared, trial)
    mechanism = sources.mechanism(cell)
    epsilon = float(cell.epsilons[0])
    grid = tuple(cell.option("grid"))
    place = grid.index(epsilon)
    settings = canonical(mechanism.settings())
    copies, held_out, tests = (
        part[place] for part in private_text(trial, cell.mechanism, grid, settings)
    )
    model, told = augmented(prepared, trial, copies, held_out)
    rows = _trained(AUGMENTED, model, prepared, told)
    rows += _kept(prepared, copies)
    networks = {NORMAL: prepared.normal, AUGMENTED: model, ROBUST: prepared.robust}
    test = prepared.test
    for name, network in networks.items():
        share = network.given(test.premises).accuracy(tests[0], test.labels)
        rows.append(row("accuracy", share, learner=name, tested_on=PRIVATE, count=len(test)))
    some = prepared.attacked
    candidates = [
        from_mechanism(
            some.bags.part([i]),
            mechanism,
            epsilon,
            generator(cell.seed, "candidates", i),
            draws=int(cell.option("draws")),
        )
        for i in range(len(some))
    ]
    for name, network in networks.items():
        rows += attacked(network, some, candidates, cell, name)
    return [measured | {"epsilon": epsilon} for measured in rows]


def _baseline(prepared: Material, trial: Trial) -> list[Row]:
    """Clean and certified accuracy, and what an attack within the allowed substitutions leaves."""
    rows = []
    some = prepared.attacked
    candidates = [
        from_substitutions(some.bags.part([i]), prepared.substitutions) for i in range(len(some))
    ]
    largest = int(np.bincount(prepared.train.labels).argmax())
    share = (prepared.test.labels == largest).mean()
    rows.append(row("majority", share, tested_on=CLEAN, count=len(prepared.test)))
    pairs = (
        (NORMAL, prepared.normal, prepared.told[0]),
        (ROBUST, prepared.robust, prepared.told[1]),
    )
    for name, network, told in pairs:
        rows += _trained(name, network, prepared, told)
        left = _survivors(network, some, candidates, trial, 1, trial.seed)
        # What survives both: the longer attack draws anew, and may miss what the short one found.
        left &= _survivors(network, some, candidates, trial, int(trial.option("tries")), trial.seed)
        rows.append(_share("within the lists", left, name, STRONGER))
        certified = network.given(some.premises).certify(
            some.bags, some.labels, prepared.substitutions
        )
        # A certified text that an attack breaks would refute the bounds.
        broken = float((certified.certified & ~left).sum())
        rows.append(row("certified and broken", broken, learner=name, count=len(some)))
    return rows


def _trained(name: str, network: NetworkClassifier, prepared: Material, told: Fitted) -> list[Row]:
    test = prepared.test
    reader = network.given(test.premises)
    share = reader.accuracy(test.bags, test.labels)
    certified = reader.certify(test.bags, test.labels, prepared.substitutions)
    size = len(test)
    return [
        row("accuracy", share, learner=name, tested_on=CLEAN, count=size),
        row("certified", certified.accuracy, learner=name, tested_on=CLEAN, count=size),
        row("seconds of an epoch", told.seconds, learner=name, count=len(told.epochs)),
    ]


def _kept(prepared: Material, copies: Sequence[Bags]) -> list[Row]:
    """How often a word stays, and how often its substitute is one that the lists allow."""
    before = np.tile(prepared.train.bags.words, len(copies))
    after = np.concatenate([bags.words for bags in copies])
    known = before >= 0
    before, after = before[known], after[known]
    moved = before != after
    inside = _allowed(prepared.substitutions, before[moved], after[moved])
    return [
        row("nw", 1 - moved.mean(), count=int(known.sum())),
        row("substitutes in the lists", inside, count=int(moved.sum())),
    ]


def _allowed(substitutions: Substitutions, before: np.ndarray, after: np.ndarray) -> float:
    """Share of some changes that the lists allow; 0 if there are none."""
    distinct, place = np.unique(before, return_inverse=True)
    hits = (substitutions.table(distinct)[place] == after[:, None]).any(axis=1)
    return float(hits.mean()) if hits.size else 0.0


def attacked(
    network: NetworkClassifier,
    some: Examples,
    candidates: Sequence[Candidates],
    options: Cell,
    name: str,
) -> list[Row]:
    """Accuracy after the attack of the paper, and after a stronger one on what is left."""
    left = _survivors(network, some, candidates, options, 1, options.seed)
    rows = [_share("adversarial accuracy", left, name, PAPER)]
    tries = int(options.option("tries"))
    left &= _survivors(network, some, candidates, options, tries, options.seed, left)
    return [*rows, _share("adversarial accuracy", left, name, STRONGER)]


def _share(quantity: str, left: np.ndarray, name: str, variant: str) -> Row:
    low, high = clopper_pearson(int(left.sum()), left.size, 0.025)
    return row(
        quantity,
        left.mean(),
        learner=name,
        variant=variant,
        low=low,
        high=high,
        count=left.size,
    )


def _survivors(
    network: NetworkClassifier,
    some: Examples,
    candidates: Sequence[Candidates],
    options: Cell | Trial,
    tries: int,
    seed: int,
    among: np.ndarray | None = None,
) -> np.ndarray:
    """Which texts are right before and after the attack, shape (k,)."""
    settings = Genetic(
        int(options.option("population")), int(options.option("generations")), 1.0, tries
    )
    left = np.zeros(len(some), dtype=bool)
    for i, label in enumerate(some.labels.tolist()):
        if among is None or among[i]:
            victim = network.given(None if some.premises is None else some.premises.part([i]))
            rng = generator(seed, "genetic", tries, i)
            left[i] = not attack(victim, candidates[i], label, settings, rng).success
    return left
