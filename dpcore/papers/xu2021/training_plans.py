"""The plans of Xu et al. 2021, Tables 2 and 3: sizes that one core holds in an hour or two."""

from __future__ import annotations

from dpcore.papers.xu2021.deniability import XU_EPSILONS, XU_FIRST, XU_LOGARITHMS
from dpcore.study.parts import Settings, powers
from dpcore.study.plan import Arm, Plan

TASK = "dpcore.papers.xu2021.training:measure"
"""What a cell of these plans does."""
_LISTS = "d5380df5c4bb34dbeb581a0dcb3f299d660b882635090428409be2828995535d"
_EDGE = {"imdb": 3.3, "snli": 2.92}
"""ln ε just above the lower end of the domain of truncated Gumbel over our lexicons, where the
paper's first column was meant to be."""


def _arms(key: str) -> tuple[Arm, ...]:
    gumbel = powers(_EDGE[key], XU_FIRST[key], *XU_LOGARITHMS)
    return (
        Arm(""),
        Arm("madlib", XU_EPSILONS, options=(("grid", XU_EPSILONS),)),
        Arm("truncated-gumbel", gumbel, options=(("grid", gumbel),)),
    )


def _options(**own: object) -> Settings:
    common: dict[str, object] = {
        "hidden": 100,
        "copies": 4,
        "lists": _LISTS,
        "population": 20,
        "tries": 6,
        "draws": 40,
    }
    return tuple(sorted((common | own).items()))


IMDB = Plan(
    "xu2021-tables-2-3-imdb",
    TASK,
    _arms("imdb"),
    ("imdb10k",),
    ("imdb.parquet",),
    (0,),
    _options(
        train=5_000,
        held_out=500,
        test=1_000,
        attacked=100,
        splits=("train", "test"),
        pairs=False,
        most=100,
        batch=32,
        epochs={"normal": 6, "augmented": 2, "ibp": 12},
        generations=15,
    ),
)
"""Sentiment of movie reviews, by the convolutional network."""

SNLI = Plan(
    "xu2021-tables-2-3-snli",
    TASK,
    _arms("snli"),
    ("snli",),
    ("snli_dev_test.parquet",),
    (0, 1),
    _options(
        train=9_000,
        held_out=500,
        test=3_000,
        attacked=200,
        splits=("dev", "test"),
        pairs=True,
        most=None,
        batch=32,
        epochs={"normal": 5, "augmented": 2, "ibp": 12},
        generations=10,
    ),
)
"""Entailment, by the network of sums of words; only words of the hypothesis are replaced."""

_PAPER_SIZES = {
    "imdb": "20,000 texts of 263 words on average, and 1,000 tested on",
    "snli": "550,152 pairs, and 10,000 tested on",
}
"""Xu et al. 2021, Table 1."""


def seeds_of(count: int) -> str:
    """How many seeds, in words."""
    return "one seed" if count == 1 else f"each of {count} seeds"


def sizes_of(plan: Plan) -> str:
    """How much of the corpus a plan uses, in a sentence."""
    given = dict(plan.options)
    key = plan.name.rsplit("-", 1)[1]
    seeds = seeds_of(len(plan.seeds))
    cut = f" of at most {given['most']} words" if given["most"] else ""
    kind = "pairs" if given["pairs"] else "texts"
    return (
        f"{given['train']:,} training {kind}{cut}, {given['held_out']:,} held out, "
        f"{given['test']:,} tested on and {given['attacked']:,} attacked (the paper: "
        f"{_PAPER_SIZES[key]}), {seeds}; augmented training of {given['epochs']['augmented']} "
        f"epochs; an attack of {given['population']} texts and {given['generations']} generations, "
        f"{given['draws']} draws of a mechanism a word, and the stronger one the best of "
        f"{given['tries']} words in each place."
    )
