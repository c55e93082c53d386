"""The experiments with classifiers that are recorded, by name."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.errors import StudyError
from dpcore.papers.habernal2021.plans import PLAN as ADEPT
from dpcore.papers.habernal2021.plans import SIZES as ADEPT_SIZES
from dpcore.papers.habernal2021.plans import SOURCE as ADEPT_SOURCE
from dpcore.papers.habernal2021.plans import TITLE as ADEPT_TITLE
from dpcore.papers.huang2024.autoencoder_plans import NOISE, YAHOO, YELP, sizes_of
from dpcore.papers.huang2024.autoencoder_plans import TASK as NETWORK_TASK
from dpcore.papers.huang2024.deniability import (
    HUANG_DELTA,
    HUANG_DIMENSION,
    HUANG_NORM,
    HUANG_TOTALS,
    dummies,
)
from dpcore.papers.lecuyer2019.plans import DIGITS as PIXELDP_DIGITS
from dpcore.papers.lecuyer2019.plans import DIGITS_SIZES as PIXELDP_DIGITS_SIZES
from dpcore.papers.lecuyer2019.plans import TEXTS as PIXELDP_TEXTS
from dpcore.papers.lecuyer2019.plans import TEXTS_SIZES as PIXELDP_TEXTS_SIZES
from dpcore.papers.ours.teaching import PLAN as TEACHING
from dpcore.papers.reported import HUANG_EPSILONS
from dpcore.papers.studies import STUDIES
from dpcore.papers.xu2021.training_plans import IMDB, SNLI
from dpcore.papers.xu2021.training_plans import TASK as TRAINING_TASK
from dpcore.papers.xu2021.training_plans import sizes_of as training_sizes
from dpcore.study.parts import Settings
from dpcore.study.plan import Arm, Plan

_TEM = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 20.0)
_MADLIB = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0, 30.0)


_TRUNCATED = (0.05, 5.0, 10.0, 20.0)
"""Of the paper's eight values those of TrLaplace on classification: its noise moves with ε, so each
value is a draw of its own; from 0.05 to 5 it keeps no word, and Yelp has all eight."""
_LARGE = (50.0, 200.0, 1_000.0)
"""Beyond the paper: where word-by-word text begins to teach anything."""
LEARNED = ("averaged", "tf-idf", "network")
"""The classifiers of the experiments with a paper."""
_CLIP: Settings = (("clip_norm", HUANG_NORM),)
_DELTA: Settings = (*_CLIP, ("delta", HUANG_DELTA))
_SEEDS = (0, 1, 2, 3, 4)


@dataclass(frozen=True)
class Experiment:
    """An experiment to be recorded.

    Attributes:
        title: for people.
        source: paper and figures to be compared with; empty if none.
        plan: what is done; its lexicons are keys of `dpcore.study.embeddings`, its data names of
            files of the data folder.
        sizes: how much of each corpus is used, in a sentence.
    """

    title: str
    source: str
    plan: Plan
    sizes: str

    @property
    def reads_data(self) -> bool:
        """Whether it needs the folder of corpora and vectors."""
        return any(self.plan.data)

    @property
    def rewrites(self) -> bool:
        """Whether mechanisms that write words are compared, and not networks that read noise."""
        return self.plan.task not in {NETWORK_TASK, ADEPT.task, TRAINING_TASK} and any(
            arm.mechanism for arm in self.plan.arms
        )

    @property
    def name(self) -> str:
        """What the command line takes."""
        return self.plan.name


def _carvalho() -> Experiment:
    quarter, median, trials = 1_500, 178, tuple(range(5))
    options: Settings = (
        ("quarter", quarter),
        ("most", None),
        ("document_words", median),
        ("learners", LEARNED),
    )
    return Experiment(
        "IMDb: utility and membership inference of TEM and Madlib",
        "Carvalho et al. 2021, Figures 1a and 1b",
        Plan(
            "carvalho2021-figure-1",
            "dpcore.papers.carvalho2021.plans:measure",
            (Arm(""), Arm("tem", _TEM), Arm("madlib", _MADLIB)),
            ("imdb",),
            ("imdb.parquet",),
            trials,
            options,
            together=True,
        ),
        f"In each of {len(trials)} trials (the paper: 5) {quarter:,} reviews in each of the "
        "quarters TR1, TR2, TE1, TE2 (the paper: 12,500), drawn anew and whole (half of them have "
        f"{median} words or more).",
    )


def _huang_arms(epsilons: tuple[float, ...], truncated: tuple[float, ...]) -> tuple[Arm, ...]:
    """The mechanisms of Huang et al. 2024, with δ = 4^−300 and C = 1 as in `huang2024`."""
    lows = (0.0, *(top for _, top in HUANG_TOTALS))
    published = tuple(
        Arm(
            "trlaplace",
            tuple(epsilon for epsilon in truncated if low < epsilon <= top),
            (*_CLIP, *dummies(total)),
            "trlaplace" if total == HUANG_DIMENSION else f"trlaplace, d′ = {total}",
        )
        for low, (total, top) in zip(lows, HUANG_TOTALS, strict=False)
    )
    return (
        Arm(""),
        Arm("gaussian-classical", epsilons, _DELTA),
        Arm("gaussian", epsilons, _DELTA),
        Arm("laplace", epsilons, _CLIP),
        *published,
        Arm("trlaplace-corrected", (1.0, 20.0, 1_000.0), _DELTA),
        Arm("madlib", epsilons),
        Arm("mahalanobis", epsilons),
        Arm("random-projection", epsilons),
    )


def _huang(key: str, title: str, sizes: tuple[int, int]) -> Experiment:
    training, testing = sizes
    options: Settings = (
        ("train", training),
        ("test", testing),
        ("test_split", "test"),
        ("most", None),
        ("rewritten", 100),
        ("learners", LEARNED),
    )
    return Experiment(
        f"{title}: accuracy and rewriting quality",
        f"Huang et al. 2024, Figure 4 ({title})",
        Plan(
            f"huang2024-figure-4-{key}",
            "dpcore.papers.huang2024.plans:measure",
            _huang_arms((*HUANG_EPSILONS, *_LARGE), _TRUNCATED),
            (key, f"{key}-bundled", f"{key}-random"),
            (f"{key}.parquet",),
            _SEEDS,
            options,
            together=True,
        ),
        f"For each of {len(_SEEDS)} seeds {training:,} training and {testing:,} test texts (the "
        f"paper: {PAPER_SIZES[key]}), drawn anew and whole; 100 of "
        "the test texts rewritten and compared.",
    )


def _rewriting() -> Experiment:
    sentences = 200
    return Experiment(
        "Yelp: rewriting quality",
        "Huang et al. 2024, Tables 1 to 3 (Yelp)",
        Plan(
            "huang2024-tables-yelp",
            "dpcore.papers.huang2024.plans:measure_rewriting",
            _huang_arms((*HUANG_EPSILONS, *_LARGE), HUANG_EPSILONS),
            ("yelp", "yelp-bundled", "yelp-random"),
            ("yelp_sentences.parquet",),
            _SEEDS,
            (("split", "test"), ("rewritten", sentences), ("encoder", ("yelp",))),
            together=True,
        ),
        f"For each of {len(_SEEDS)} seeds {sentences} sentences of the test split (the paper: "
        "2,174), drawn anew; the similarities of meaning with GloVe and on the first seed only.",
    )


def _autoencoder(title: str, source: str, plan: Plan) -> Experiment:
    return Experiment(title, f"Huang et al. 2024, {source}", plan, sizes_of(plan))


def _training(title: str, plan: Plan) -> Experiment:
    source = f"Xu et al. 2021, Tables 2 and 3 ({title})"
    name = f"{title}: normal, augmented and certified training against a mechanism"
    return Experiment(name, source, plan, training_sizes(plan))


def _teaching() -> Experiment:
    return Experiment(
        "Teaching corpus: mechanisms side by side",
        "",
        TEACHING,
        f"In each of {len(TEACHING.seeds)} trials 1,008 training and 432 test texts of the "
        "teaching corpus, drawn anew and whole, under both labellings; 40 of the test texts "
        "rewritten and compared; of the first trial examples of wrong answers.",
    )


PAPER_SIZES = {"sst2": "54,576 and 13,645 phrases", "agnews": "16,000 and 4,000"}
"""Huang et al. 2024, Section 6.1."""

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        _teaching(),
        _carvalho(),
        _huang("sst2", "SST-2", (2_000, 600)),
        _huang("agnews", "AG News", (700, 300)),
        _rewriting(),
        _autoencoder("Yelp: a private auto-encoder", "Tables 1 to 3 (Yelp)", YELP),
        _autoencoder(
            "Yelp: a private auto-encoder that learns with the noise",
            "Tables 2, 3 and 5 (Yelp)",
            NOISE,
        ),
        _autoencoder("Yahoo answers: a private auto-encoder", "Tables 1 to 3 (Yahoo)", YAHOO),
        Experiment(
            "PixelDP: certified accuracy of digits, and the cost of a noise layer",
            "",
            PIXELDP_DIGITS,
            PIXELDP_DIGITS_SIZES,
        ),
        Experiment(
            "PixelDP: certified accuracy of texts with noise on every word vector",
            "",
            PIXELDP_TEXTS,
            PIXELDP_TEXTS_SIZES,
        ),
        Experiment(ADEPT_TITLE, ADEPT_SOURCE, ADEPT, ADEPT_SIZES),
        _training("IMDb", IMDB),
        _training("SNLI", SNLI),
    )
}
"""By name, in the order in which they are shown."""


def experiment_of(name: str) -> Experiment:
    """The experiment of a name.

    Raises:
        StudyError: there is none; the message names those that there are.
    """
    if name not in EXPERIMENTS:
        known = ", ".join((*STUDIES, *EXPERIMENTS))
        raise StudyError(f"no study {name[:60]!r}; there are: {known}")
    return EXPERIMENTS[name]
