"""What every cell of one trial of Xu et al. 2021, Tables 2 and 3, has in common.

Texts, allowed substitutions, the two networks that know nothing of the mechanism, and the text at
every ε of a curve are the same for all cells of a seed: they are made once in a process and kept.
"""

from __future__ import annotations

import functools
import gzip
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import StudyError
from dpcore.learn.bags import Bags, bags_of
from dpcore.learn.substitutions import listed
from dpcore.learn.text_network.network import Kind, Shape
from dpcore.learn.text_network.training import Certified, Examples, perturbed, train_network
from dpcore.learn.training_settings import Training
from dpcore.lexicon.cache import sha256_of_file
from dpcore.noise.streams import generator
from dpcore.study.plan import canonical
from dpcore.study.reading_corpora import pair_rows, text_rows

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.learn.substitutions import Substitutions
    from dpcore.learn.text_network.classifier import NetworkClassifier
    from dpcore.learn.training_settings import Fitted
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.study.plan import Cell
    from dpcore.study.sources import Sources

LISTS = "counterfitted_neighbors.json.gz"
"""Allowed substitutions (Jia et al. 2019), beside the corpus; its SHA-256 stands in the plan."""


@dataclass(frozen=True, eq=False)
class Material:
    """One trial.

    Attributes:
        train: examples that are learned from.
        held_out: examples to stop by.
        test: examples that accuracies are of.
        attacked: how many of them are attacked, the first ones.
        substitutions: allowed ones, for certified training.
        shape: of the networks.
        normal: trained as usual.
        robust: trained with interval bounds.
        told: how the training of the two went.
    """

    train: Examples
    held_out: Examples
    test: Examples
    attacked: Examples
    substitutions: Substitutions
    shape: Shape
    normal: NetworkClassifier
    robust: NetworkClassifier
    told: tuple[Fitted, Fitted]


@dataclass(frozen=True)
class Trial:
    """What the material of a cell depends on."""

    sources: Sources
    lexicon: str
    data: str
    seed: int
    options: str

    @classmethod
    def of(cls, cell: Cell, sources: Sources) -> Trial:
        """The trial that a cell belongs to."""
        options = {name: value for name, value in cell.options if name != "grid"}
        return cls(sources, cell.lexicon, cell.data, cell.seed, canonical(options))

    def option(self, name: str) -> Any:
        """One of the options."""
        return json.loads(self.options)[name]

    def training(self, kind: str) -> Training:
        """Settings of the loop of one way of training: those of the networks' authors."""
        epochs = int(self.option("epochs")[kind])
        batch = int(self.option("batch"))
        patience = None if kind == "ibp" else 2
        return Training(
            epochs, batch, decay=1e-4, clip=0.25, patience=patience, seed=self.seed, threads=1
        )


@functools.lru_cache(maxsize=1)
def material(trial: Trial) -> Material:
    """Read the texts, and train the two networks that know nothing of the mechanism."""
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
        certified=Certified(),
        substitutions=substitutions,
    )
    attacked = _parts(test, sizes[3])[0]
    return Material(
        train, held_out, test, attacked, substitutions, shape, normal, robust, (told, told_robust)
    )


@functools.lru_cache(maxsize=1)
def private_text(
    trial: Trial, mechanism: str, grid: tuple[float, ...], settings: str
) -> tuple[list[list[Bags]], list[list[Bags]], list[list[Bags]]]:
    """Copies of the training, held-out and test texts at every ε of a curve, from one draw."""
    from dpcore.mechanisms.registry import create

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
        return listed(lexicon, json.load(file))


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
    trained: Material, trial: Trial, copies: list[Bags], stopping: list[Bags]
) -> tuple[NetworkClassifier, Fitted]:
    """The network that also learns from perturbed copies; stopped by held-out texts and theirs."""
    lexicon = trial.sources.lexicon(trial.lexicon)
    return train_network(
        trained.shape,
        replace(trial.training("augmented"), seed=trial.seed),
        trained.train.with_copies(copies),
        trained.held_out.with_copies(stopping),
        lexicon.vectors,
    )
