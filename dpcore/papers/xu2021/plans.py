"""Xu et al. 2021: the plans of Figures 1 and 2 (Nw and Sw) and of Tables 2 and 3 (training).

The axes of Figure 1 are not legible as text; its caption and Section 6.5 say that it has ε for
Laplace and ln ε for Gumbel. The sizes of the training are limited to an hour or two on one core.
"""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.attack.genetic import Candidates, Genetic, attack, from_mechanism, from_substitutions
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import StudyError
from dpcore.learn.corpus import Bags, bags_of
from dpcore.learn.substitutions import Substitutions, from_lists
from dpcore.learn.text_network.classifier import NetworkClassifier
from dpcore.learn.text_network.network import Kind, Shape
from dpcore.learn.text_network.training import Examples, WorstCaseSchedule, perturbed, train_network
from dpcore.learn.training import Training, TrainingRecord
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.papers.xu2021.comparison import EPSILONS, FIRST, LOGARITHMS, TRAINED_AND_TESTED
from dpcore.study.plan import (
    CLEAN,
    PRIVATE,
    Arm,
    Cell,
    Choice,
    Panel,
    Plan,
    Row,
    Study,
    canonical,
    grid,
    powers,
    row,
    series,
    words_plan,
)
from dpcore.study.runner import Sources
from dpcore.study.vocabularies import pair_rows, text_rows
from dpcore.written import Filled

PROBES = ("movie", "woman", "guitar", "doctor", "friday")
"""Ordinary words whose own figures are recorded beside the means, at a few ε."""
_LAPLACE, _GUMBEL = "madlib", "truncated-gumbel"
_FINE = tuple(float(x) for x in np.round(np.concatenate(
    (np.arange(2.75, 6.0, 0.125), np.arange(6.0, 24.0, 1.0), np.arange(24.0, 88.1, 2.0))
), 4))  # fmt: skip
"""ln ε of the curve of Gumbel: fine at the end of the domain."""


def _series(key: str, counted: int) -> tuple[Arm, ...]:
    """Return both curves, each by the best method, by the protocol, and for the probes."""
    table = powers(FIRST[key], *LOGARITHMS)
    curves = (
        (_LAPLACE, grid(1, 200, 40, *EPSILONS), EPSILONS, counted),
        (_GUMBEL, tuple(sorted({*powers(*_FINE), *table})), table, 100),
    )
    return tuple(
        arm
        for name, fine, few, words in curves
        for arm in (
            series(name, fine),
            series(name, few, (), f"{name}, protocol", method="protocol", words=words, curve=name),
            series(name, few, (), f"{name}, words", named=PROBES, curve=name),
        )
    )


def _figures(key: str, name: str, trade: str, words: int, counted: int) -> Study:
    over_epsilon = tuple(
        Panel(f"Figure 1 ({name}): {what}, {in_paper} ({curve})", quantity, (curve,))
        for curve, in_paper in ((_LAPLACE, "Laplace"), (_GUMBEL, "Gumbel"))
        for quantity, what in (("nw", "Nw"), ("sw", "Sw"))
    )
    against = Panel(f"Figure {trade} ({name}): log Sw against Nw", "trade", (_LAPLACE, _GUMBEL))
    return Study(
        f"Nw and Sw on the vocabulary of {name}",
        f"Xu et al. 2021, Figures 1 and 2 ({name})",
        words_plan(f"xu2021-figure-1-{key}", key, _series(key, counted)),
        choice=Choice(words),
        panels=(*over_epsilon, against),
    )


FIGURES = (_figures("imdb", "IMDb", "2a", 600, 24), _figures("snli", "SNLI", "2b", 1_000, 50))
"""Studies of words."""

_LISTS = "d5380df5c4bb34dbeb581a0dcb3f299d660b882635090428409be2828995535d"
_EDGE = {"imdb": 3.3, "snli": 2.92}
"""ln ε just above the lower end of the domain of truncated Gumbel over our lexicons, the intended
place of the paper's first column."""
_COMMON = {
    "hidden": 100,
    "copies": 4,
    "lists": _LISTS,
    "population": 20,
    "tries": 6,
    "draws": 40,
    "held_out": 500,
    "batch": 32,
}


def seeds_of(count: int) -> str:
    """Return the number of seeds in words."""
    return Filled("one seed") if count == 1 else Filled("each of {count} seeds", count=count)


def _training(
    key: str, name: str, lexicon: str, file: str, seeds: tuple[int, ...], **sizes: object
) -> Study:
    gumbel = powers(_EDGE[key], FIRST[key], *LOGARITHMS)
    given = dict(sorted((_COMMON | sizes).items()))
    plan = Plan(
        f"xu2021-tables-2-3-{key}",
        "dpcore.papers.xu2021.plans:measure_robustness",
        (
            Arm(""),
            Arm(_LAPLACE, EPSILONS, options=(("grid", EPSILONS),)),
            Arm(_GUMBEL, gumbel, options=(("grid", gumbel),)),
        ),
        (lexicon,),
        (file,),
        seeds,
        tuple(given.items()),
    )
    use: dict[str, Any] = given
    cut = f" of at most {use['most']} words" if use["most"] else ""
    return Study(
        f"{name}: normal, augmented and certified training against a mechanism",
        f"Xu et al. 2021, Tables 2 and 3 ({name})",
        plan,
        f"{use['train']:,} training {'pairs' if use['pairs'] else 'texts'}{cut}, "
        f"{use['held_out']:,} held out, {use['test']:,} tested on and {use['attacked']:,} attacked "
        f"(the paper: {TRAINED_AND_TESTED[key]}), {seeds_of(len(seeds))}; augmented training of "
        f"{use['epochs']['augmented']} epochs; an attack of {use['population']} texts and "
        f"{use['generations']} generations, {use['draws']} draws of a mechanism a word, and the "
        f"stronger one the best of {use['tries']} words in each place.",
        rewrites=False,
    )


TRAININGS = (
    # Sentiment of movie reviews, by the convolutional network.
    _training(
        "imdb",
        "IMDb",
        "imdb10k",
        "imdb.parquet",
        (0,),
        train=5_000,
        test=1_000,
        attacked=100,
        splits=("train", "test"),
        pairs=False,
        most=100,
        epochs={"normal": 6, "augmented": 2, "ibp": 12},
        generations=15,
    ),
    # Entailment, by the network of sums of words; only words of the hypothesis are replaced.
    _training(
        "snli",
        "SNLI",
        "snli",
        "snli_dev_test.parquet",
        (0, 1),
        train=9_000,
        test=3_000,
        attacked=200,
        splits=("dev", "test"),
        pairs=True,
        most=None,
        epochs={"normal": 5, "augmented": 2, "ibp": 12},
        generations=10,
    ),
)


# Material shared by all cells of one trial of Xu et al. 2021, Tables 2 and 3.
#
# Texts, allowed substitutions, the two networks trained independently of the mechanism, and the
# text at every ε of a curve are the same for all cells of a seed: each process makes them once.


LISTS = "counterfitted_neighbors.json.gz"
"""Allowed substitutions (Jia et al. 2019), beside the corpus; the plan records its SHA-256."""


@dataclass(frozen=True, eq=False)
class RobustMaterial:
    """Material of one trial.

    Attributes:
        train: training examples.
        held_out: examples for early stopping.
        test: examples for accuracies.
        attacked: the first test examples, which are attacked.
        substitutions: allowed substitutions, for certified training.
        shape: shape of the networks.
        normal: network trained as usual.
        robust: network trained with interval bounds.
        told: training records of the two networks.
    """

    train: Examples
    held_out: Examples
    test: Examples
    attacked: Examples
    substitutions: Substitutions
    shape: Shape
    normal: NetworkClassifier
    robust: NetworkClassifier
    told: tuple[TrainingRecord, TrainingRecord]


@dataclass(frozen=True)
class Trial:
    """Key of the material of a cell."""

    sources: Sources
    lexicon: str
    data: str
    seed: int
    options: str

    @classmethod
    def of(cls, cell: Cell, sources: Sources) -> Trial:
        """Return the trial that a cell belongs to."""
        options = {name: value for name, value in cell.options if name != "grid"}
        return cls(sources, cell.lexicon, cell.data, cell.seed, canonical(options))

    def option(self, name: str) -> Any:
        """Return one of the options."""
        return json.loads(self.options)[name]

    def training(self, kind: str) -> Training:
        """Return the settings of one training loop: those of the networks' authors."""
        epochs = int(self.option("epochs")[kind])
        batch = int(self.option("batch"))
        patience = None if kind == "ibp" else 2
        return Training(
            epochs, batch, decay=1e-4, clip=0.25, patience=patience, seed=self.seed, threads=1
        )


@functools.lru_cache(maxsize=1)
def material(trial: Trial) -> RobustMaterial:
    """Read the texts, and train the two networks that do not depend on the mechanism."""
    lexicon, path = trial.sources.lexicon(trial.lexicon), trial.sources.file(trial.data)
    substitutions = _substitutions(path, lexicon, str(trial.option("lists")))
    splits = trial.option("splits")
    sizes = [int(trial.option(name)) for name in ("train", "held_out", "test", "attacked")]
    learned, classes = _read(path, splits[0], sizes[0] + sizes[1], trial, lexicon)
    test, others = _read(path, splits[1], sizes[2], trial, lexicon)
    if others != classes:
        raise StudyError(f"the splits {splits} of {path.name} have other classes")
    train, held_out = _parts(learned, sizes[0])
    kind = Kind.ENTAILMENT if train.premises is not None else Kind.CNN
    shape = Shape.usual(kind, lexicon.dimension, len(classes), int(trial.option("hidden")))
    usual = (shape, trial.training("normal"), train, held_out, lexicon.vectors)
    normal, told = train_network(*usual)
    robust, told_robust = train_network(
        shape,
        trial.training("ibp"),
        *usual[2:],
        certified=WorstCaseSchedule(),
        substitutions=substitutions,
    )
    attacked = _parts(test, sizes[3])[0]
    return RobustMaterial(
        train, held_out, test, attacked, substitutions, shape, normal, robust, (told, told_robust)
    )


@functools.lru_cache(maxsize=1)
def private_text(
    trial: Trial, mechanism: str, grid: tuple[float, ...], settings: str
) -> tuple[list[list[Bags]], list[list[Bags]], list[list[Bags]]]:
    """Return copies of training, held-out and test texts at every ε of a curve, from one draw."""
    noise = create(mechanism, trial.sources.lexicon(trial.lexicon), dict(json.loads(settings)))
    trained, copies = material(trial), int(trial.option("copies"))
    rng = generator(trial.seed, "private text", noise.key, settings)
    first = perturbed(noise, trained.train.bags, grid, copies, rng)
    second = perturbed(noise, trained.held_out.bags, grid, 1, rng)
    return first, second, perturbed(noise, trained.test.bags, grid, 1, rng)


def _substitutions(path: Path, lexicon: Lexicon, digest: str) -> Substitutions:
    lists = path.parent / LISTS
    if not lists.is_file() or sha256_of_file(lists) != digest:
        raise StudyError(
            f"{lists} is missing or another file than the plan names; put the file with SHA-256 "
            f"{digest[:12]}… there"
        )
    with gzip.open(lists) as file:
        return from_lists(lexicon, json.load(file))


def _read(
    path: Path, split: str, most: int, trial: Trial, lexicon: Lexicon
) -> tuple[Examples, tuple[str, ...]]:
    rng = generator(trial.seed, "texts", trial.data, split)
    cut = trial.option("most")
    premises = None
    if trial.option("pairs"):
        first, texts, names = pair_rows(path, split, most, rng)
        premises = bags_of(first, lexicon, cut)
    else:
        texts, names = text_rows(path, split, most, rng)
    classes, labels = np.unique(names, return_inverse=True)
    examples = Examples(bags_of(texts, lexicon, cut), labels.astype(np.int64), premises)
    return examples, tuple(classes.tolist())


def _parts(examples: Examples, first: int) -> tuple[Examples, Examples]:
    rows = np.arange(len(examples))
    return examples.part(rows[:first]), examples.part(rows[first:])


def augmented(
    trained: RobustMaterial, trial: Trial, copies: list[Bags], stopping: list[Bags]
) -> tuple[NetworkClassifier, TrainingRecord]:
    """Train the network on perturbed copies too; stopped by held-out texts and their copies."""
    lexicon = trial.sources.lexicon(trial.lexicon)
    return train_network(
        trained.shape,
        replace(trial.training("augmented"), seed=trial.seed),
        trained.train.with_copies(copies),
        trained.held_out.with_copies(stopping),
        lexicon.vectors,
    )


# Xu et al. 2021, Tables 2 and 3: normal, augmented and certified training against a mechanism.
#
# One cell is one mechanism at one ε, or the baseline without one. Three networks are attacked by
# genetic word substitution whose candidates are draws of the mechanism in the position of a word
# (Section 6.3), as many for every mechanism; a draw that returns the word itself is no candidate.
# The paper does not specify the length of its attack, so a stronger one is recorded beside it, and
# the plain meaning of "perturbed samples": every word rewritten once.


NORMAL, AUGMENTED, ROBUST = "normal", "augmented", "ibp"
PAPER, STRONGER = "paper's attack", "stronger attack"


def measure_robustness(cell: Cell, sources: Sources) -> list[Row]:
    """Measure accuracies of the networks at one ε, or of the two independent of the mechanism.

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


def _baseline(prepared: RobustMaterial, trial: Trial) -> list[Row]:
    """Measure clean and certified accuracy, and survival of attacks with allowed substitutions."""
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
        # Texts that survive both: the longer attack has its own draws, and may miss a success.
        left &= _survivors(network, some, candidates, trial, int(trial.option("tries")), trial.seed)
        rows.append(_share("within the lists", left, name, STRONGER))
        certified = network.given(some.premises).certify(
            some.bags, some.labels, prepared.substitutions
        )
        # A certified text that an attack breaks would refute the bounds.
        broken = float((certified.certified & ~left).sum())
        rows.append(row("certified and broken", broken, learner=name, count=len(some)))
    return rows


def _trained(
    name: str, network: NetworkClassifier, prepared: RobustMaterial, told: TrainingRecord
) -> list[Row]:
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


def _kept(prepared: RobustMaterial, copies: Sequence[Bags]) -> list[Row]:
    """Measure how often a word stays, and how often the lists allow its substitute."""
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
    """Return the share of changes that the lists allow; 0 if there are none."""
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
    """Measure accuracy after the paper's attack, and after a stronger one on the rest."""
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
    """Return True for texts predicted correctly before and after the attack, shape (k,)."""
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
