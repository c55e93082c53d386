"""Huang et al. 2024: every plan, from Nw word by word to the private auto-encoder.

The paper measures text written by an auto-encoder, or a network fine-tuned with the noise inside.
It does not specify the decoder, C, whether the noise is added in training, in testing or in both,
or the treatment of the vectors in training. Its Figures 1 and 6 show words projected back (its
Algorithm 1), its tables a loss, which only a network has. Here the vectors stay public and fixed,
so that Theorems 1 to 3 apply; the decoder sees only the states of the encoder; noise is added at
rewriting, where it gives the guarantee, and in a separate plan in training too.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.learn.corpus import LabelledTexts
from dpcore.measure.similarity import load_encoder
from dpcore.mechanisms.clipped.trlaplace import Truncation, published_truncation, worst_delta
from dpcore.noise.streams import generator
from dpcore.papers import read_toml
from dpcore.papers.row import FULL
from dpcore.study.labelled_trial import rewriting
from dpcore.study.plan import (
    Arm,
    Cell,
    Choice,
    Panel,
    Plan,
    Row,
    Settings,
    Study,
    grid,
    prepare,
    series,
    words_plan,
)
from dpcore.study.runner import Sources
from dpcore.study.utility import baseline, trial
from dpcore.study.vocabularies import labelled_rows, plain_rows

# Values printed in Huang et al. 2024: parameters, and Tables 2 and 3 (GloVe vectors).


EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0)
"""Section 6.1."""
DIMENSION = 300
TOTALS = ((300, 5.0), (500, 10.0), (1700, 20.0))
"""Section 6.1: d′, and the largest ε at which the paper takes it."""
DELTA = 0.25**DIMENSION
"""Section 6.1: δ = 4^−d."""
NORM = 1.0
"""C is not given in the paper. 1 is below the norm of every GloVe vector, so that all are clipped
and, on the clipped vocabulary, the result does not depend on C."""
WORDS = 10_000
"""Size of the vocabulary (Section 6.1)."""
SIZES = {"sst2": "54,576 and 13,645 phrases", "agnews": "16,000 and 4,000"}
"""Section 6.1: number of training and test texts."""
RANDOM_BASELINE = {"sst2": 0.5607, "agnews": 0.2462}
"""Section 6.3: accuracy without privacy, with random embeddings."""
MECHANISMS = {
    "gaussian-classical": "Gaussian (Theorem 2)",
    "laplace": "Laplace (Theorem 1)",
    "trlaplace": "TrLaplace (Theorem 3)",
}
"""Mechanisms of the paper, with the names of their rows."""

_PRINTED = read_toml("huang2024/printed.toml")
TABLES: dict[str, dict[str, dict[str, list[float]]]] = _PRINTED["tables"]
"""Tables 2 and 3: corpus, quantity and mechanism to the values at `EPSILONS`."""
NOISELESS: dict[str, dict[str, float]] = _PRINTED["noiseless"]
"""The same tables, ε = ∞: without noise."""
_PERCENT = "rouge1_recall"


def printed(corpus: str, quantity: str, curve: str) -> dict[float, float]:
    """Return the printed values of a curve, by ε; ROUGE-1 as a share. Empty if there are none.

    Args:
        corpus: "yelp" or "yahoo".
        quantity: a key of `TABLES[corpus]`.
        curve: name of the mechanism.
    """
    values = TABLES[corpus][quantity].get(curve, [])
    unit = 100.0 if quantity == _PERCENT else 1.0
    return {e: value / unit for e, value in zip(EPSILONS, values, strict=False)}


def noiseless(corpus: str, quantity: str) -> float:
    """Return the same at ε = ∞."""
    return NOISELESS[corpus][quantity] / (100.0 if quantity == _PERCENT else 1.0)


def figure_nw(study: str, curve: str) -> dict[float, float]:
    """Return N_w drawn in Figure 2 or 5 for a curve of a study, by ε; empty for other studies."""
    name, _, corpus = study.rpartition("-")
    drawn = name.startswith("huang2024-figure-") and corpus in TABLES
    return printed(corpus, "nw", curve) if drawn else {}


NETWORK_TASK = "dpcore.study.autoencoder_trial:measure_autoencoder"
LARGE = (50.0, 200.0, 1_000.0)
"""Beyond the paper: ε at which words begin to survive private noise, and a classifier begins to
learn from word-by-word text."""
EQUAL = (0.05, 5.0, 20.0)
"""ε at which Gaussian noise is drawn with the true δ of TrLaplace's noise."""
CLIP: Settings = (("clip_norm", NORM),)
WITH_DELTA: Settings = (*CLIP, ("delta", DELTA))


def total_of(epsilon: float) -> int:
    """Return d′, the dimension with dummies that the paper takes at this ε."""
    return next(total for total, top in TOTALS if epsilon <= top)


def _dummies(total: int) -> Settings:
    """Set δ = 4^−d′ with d′ coordinates: the setting is δ^{1/d}, the d-th root for the real d."""
    root = 0.25 ** (total / DIMENSION)
    return (("delta_root", root), ("dummy_dimensions", total - DIMENSION))


def published_noise(epsilon: float) -> Truncation:
    """Return TrLaplace's noise at an ε, with the paper's dummy dimensions."""
    settings = dict(_dummies(total_of(epsilon)))
    root, dummies = settings["delta_root"], settings["dummy_dimensions"]
    return published_truncation(epsilon, root, NORM, DIMENSION, dummies)


def true_delta(epsilon: float) -> float:
    """Return the true δ of the published noise, rounded down to three decimals."""
    delta = worst_delta(published_noise(epsilon), NORM, DIMENSION)
    # Down: Gaussian noise with less δ is at least as private, so the comparison favours TrLaplace.
    return math.floor(1e3 * delta) / 1e3


def equal_label(epsilon: float) -> str:
    """Return the name of the Gaussian curve with TrLaplace's true δ at an ε."""
    return f"gaussian, δ = {true_delta(epsilon):g}"


def _truncated(epsilons: tuple[float, ...]) -> list[tuple[str, tuple[float, ...], Settings]]:
    """Return TrLaplace as published: label, ε and settings for each number of dummy dimensions."""
    groups = {total: tuple(e for e in epsilons if total_of(e) == total) for total, _ in TOTALS}
    return [
        (
            "trlaplace" if total == DIMENSION else f"trlaplace, d′ = {total}",
            group,
            (*CLIP, *_dummies(total)),
        )
        for total, group in groups.items()
        if group
    ]


def _truncated_arms(epsilons: tuple[float, ...], options: Settings = ()) -> list[Arm]:
    return [
        Arm("trlaplace", group, settings, label, options)
        for label, group, settings in _truncated(epsilons)
    ]


# Figures 2 and 5: Nw over ε, word by word.


def _series() -> tuple[Arm, ...]:
    fine = grid(0.05, 2_000, 40, *EPSILONS)
    gaussian, laplace, unclipped = "gaussian-classical", "laplace", ("compare_with", "unclipped")
    return (
        series(gaussian, fine, WITH_DELTA),
        series(laplace, fine, CLIP),
        series("l2-laplace", fine, CLIP),
        *(
            series("trlaplace", epsilons, settings, label, words=48, curve="trlaplace")
            for label, epsilons, settings in _truncated(EPSILONS)
        ),
        series(
            "trlaplace-corrected",
            (0.05, 0.5, 5.0, 20.0, 80.0, 160.0, 320.0, 640.0),
            WITH_DELTA,
            words=24,
        ),
        *(
            series(
                name, EPSILONS, settings, f"{name}, protocol",
                method="protocol", words=24, curve=name,
            )
            for name, settings in ((gaussian, WITH_DELTA), (laplace, CLIP))
        ),
        # Equation (2) as printed: the noisy clipped vector against the unclipped vocabulary.
        series(laplace, fine, (*CLIP, unclipped), f"{laplace}, unclipped"),
        series(gaussian, fine, (*CLIP, unclipped, ("delta", DELTA)), f"{gaussian}, unclipped"),
    )  # fmt: skip


def _figure(number: int, key: str, name: str, title: str) -> Study:
    unclipped = ("gaussian-classical, unclipped", "laplace, unclipped")
    clipped = ("gaussian-classical", "laplace", "l2-laplace", "trlaplace", "trlaplace-corrected")
    return Study(
        f"Nw over ε on the words of {title}",
        f"Huang et al. 2024, Figure {number} and Tables 2 and 3 ({name})",
        words_plan(f"huang2024-figure-{number}-{key}", key, _series()),
        choice=Choice(400, by_tokens=True),
        panels=(
            Panel(f"Figure {number} ({name}): Nw, projected onto the clipped words", "nw", clipped),
            Panel(f"Nw by equation (2) as printed ({name}): unclipped words", "nw", unclipped),
        ),
    )


# Figure 4 and the texts of Tables 2 and 3: each word rewritten separately, by Algorithm 1.

_TRUNCATED = (0.05, 5.0, 10.0, 20.0)
"""Of the paper's eight values those of TrLaplace on classification: its noise changes with ε, so
each value is a separate draw; from 0.05 to 5 it keeps no word, and Yelp has all eight."""
_SEEDS = (0, 1, 2, 3, 4)


def _arms(truncated: tuple[float, ...]) -> tuple[Arm, ...]:
    """Return the mechanisms of the paper, and others beside them."""
    wide = (*EPSILONS, *LARGE)
    return (
        Arm(""),
        Arm("gaussian-classical", wide, WITH_DELTA),
        Arm("gaussian", wide, WITH_DELTA),
        Arm("laplace", wide, CLIP),
        *_truncated_arms(truncated),
        Arm("trlaplace-corrected", (1.0, 20.0, 1_000.0), WITH_DELTA),
        *(Arm(name, wide) for name in ("madlib", "mahalanobis", "random-projection")),
    )


def _of_texts(
    name: str,
    task: str,
    truncated: tuple[float, ...],
    key: str,
    file: str,
    options: Settings,
    seeds: tuple[int, ...] = _SEEDS,
) -> Plan:
    return Plan(
        name,
        f"dpcore.papers.huang2024.plans:{task}",
        _arms(truncated),
        (key, f"{key}-bundled", f"{key}-random"),
        (file,),
        seeds,
        options,
        together=True,
    )


def _accuracy(
    key: str, title: str, training: int, testing: int, full: Settings | None = None
) -> Study:
    """Return a study of accuracy: in one trial of the paper's size if `full` is given.

    Args:
        key: the corpus, and its vocabulary.
        title: its name.
        training: number of training texts.
        testing: number of test texts.
        full: more options for the task.
    """
    seeds = _SEEDS if full is None else _SEEDS[:1]
    options: Settings = (
        ("train", training),
        ("test", testing),
        ("test_split", "test"),
        ("most", None),
        # Only similarity is of these few; accuracy uses all test texts.
        ("rewritten", 100),
        ("learners", ("averaged", "tf-idf", "network")),
        *(full or ()),
    )
    name = f"huang2024-figure-4-{key}{'' if full is None else FULL}"
    task = "measure_classifiers"
    size = "" if full is None else ", the paper's size"
    pooled = " Phrases of one sentence lie in both parts." if full else ""
    trials = f"For each of {len(seeds)} seeds" if len(seeds) > 1 else "In one trial"
    return Study(
        f"{title}{size}: accuracy and rewriting quality",
        f"Huang et al. 2024, Figure 4 ({title})",
        _of_texts(name, task, _TRUNCATED, key, f"{key}.parquet", options, seeds),
        f"{trials} {training:,} training and {testing:,} test texts (the "
        f"paper: {SIZES[key]}), newly drawn and whole; 100 of "
        f"the test texts rewritten and compared.{pooled}",
    )


def _rewriting() -> Study:
    sentences = 200
    options: Settings = (("split", "test"), ("rewritten", sentences), ("encoder", ("yelp",)))
    name, task, file = "huang2024-tables-yelp", "measure_rewriting", "yelp_sentences.parquet"
    return Study(
        "Yelp: rewriting quality",
        "Huang et al. 2024, Tables 1 to 3 (Yelp)",
        _of_texts(name, task, EPSILONS, "yelp", file, options),
        f"For each of {len(_SEEDS)} seeds {sentences} sentences of the test split (the paper: "
        "2,174), newly drawn; the similarities of meaning with GloVe and on the first seed only.",
    )


# Tables 1 to 3 and 5: the private auto-encoder.

_OPTIONS: Settings = (
    ("vocabulary", 3_000),
    ("words", (3, 15)),
    ("train", 4_000),
    ("test", 200),
    ("attacked", 60),
    ("hidden", 128),
    ("norm", NORM),
    ("epochs", 4),
    ("batch", 64),
    ("rate", 0.01),
)


def _network(
    title: str,
    source: str,
    name: str,
    arms: tuple[Arm, ...],
    lexicons: tuple[str, ...],
    file: str,
    seeds: tuple[int, ...],
    **options: object,
) -> Study:
    """Return an experiment with an auto-encoder, with its sizes in a sentence."""
    given = (*_OPTIONS, *options.items())
    plan = Plan(name, NETWORK_TASK, arms, lexicons, (file,), seeds, given, together=True)
    use = dict(given)
    least, most = use["words"]
    return Study(
        title,
        f"Huang et al. 2024, {source}",
        plan,
        f"For each of {len(seeds)} seeds a network of {use['hidden']} states in each "
        f"direction over the {use['vocabulary']:,} most frequent words (the paper: 10,000), "
        f"trained on {use['train']:,} sentences of {least} to {most} words in "
        f"{use['epochs']} epochs at most (the paper: 100 epochs); {use['test']} sentences "
        "of the other split rewritten, newly drawn.",
        rewrites=False,
    )


NETWORK_ARMS = (
    Arm(""),
    Arm("gaussian-classical", (*EPSILONS, *LARGE), WITH_DELTA),
    Arm("gaussian", (*EQUAL, 200.0, 1_000.0), WITH_DELTA),
    Arm("laplace", (*EPSILONS, *LARGE), CLIP),
    *_truncated_arms(EPSILONS),
    *(
        Arm("gaussian", (e,), (*CLIP, ("delta", true_delta(e))), equal_label(e))
        for e in EQUAL
    ),
    Arm("trlaplace-corrected", (20.0, 1_000.0), WITH_DELTA),
)  # fmt: skip
"""Mechanisms of a network that was trained without noise."""


def _noise_in_training() -> tuple[Arm, ...]:
    options: Settings = (("noise_in_training", True),)
    epsilons = (0.05, 20.0, 200.0)
    return (
        Arm(""),
        Arm("gaussian-classical", epsilons, WITH_DELTA, options=options),
        Arm("laplace", epsilons, CLIP, options=options),
        *_truncated_arms((0.05, 20.0), options),
    )


FIGURES = (_figure(2, "yelp", "Yelp", "Yelp"), _figure(5, "yahoo", "Yahoo", "Yahoo answers"))
"""Studies of words."""
TEXTS = (
    _accuracy("sst2", "SST-2", 2_000, 600),
    _accuracy("agnews", "AG News", 700, 300),
    # The paper divides all phrases that have a label 4 to 1; 371 of the 68,221 are repeated.
    _accuracy("sst2", "SST-2", 54_280, 13_570, (("pooled", ("train", "dev")),)),
    _accuracy("agnews", "AG News", 16_000, 4_000, ()),
    _rewriting(),
)
NETWORKS = (
    _network(
        "Yelp: a private auto-encoder",
        "Tables 1 to 3 (Yelp)",
        "huang2024-autoencoder-yelp",
        NETWORK_ARMS,
        ("yelp", "yelp-bundled", "yelp-random"),
        "yelp_sentences.parquet",
        (0, 1, 2),
        splits=("dev", "test"),
    ),
    _network(
        "Yelp: a private auto-encoder that learns with the noise",
        "Tables 2, 3 and 5 (Yelp)",
        "huang2024-autoencoder-noise-yelp",
        _noise_in_training(),
        ("yelp",),
        "yelp_sentences.parquet",
        (0, 1),
        splits=("dev", "test"),
        timed=True,
    ),
    _network(
        "Yahoo answers: a private auto-encoder",
        "Tables 1 to 3 (Yahoo)",
        "huang2024-autoencoder-yahoo",
        NETWORK_ARMS,
        ("yahoo",),
        "yahoo_2class.parquet",
        (0, 1, 2),
        splits=("train", "test"),
    ),
)


# Huang et al. 2024 on text: rewriting quality (Tables 1 to 3) and accuracy (Figure 4).
#
# The paper measures text written by an auto-encoder, or a network fine-tuned with the noise inside.
# Here every word is rewritten separately by Algorithm 1, and the rewritten text is compared and
# learned from: the guarantee is about that text.


def measure_classifiers(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one trial of one mechanism at all its ε, or of the baseline.

    Options: `train` and `test` (texts), `test_split`, `most` (words of a text), `learners`,
    `rewritten` (test texts whose rewriting is compared), `pooled` (splits that are put together,
    from which both parts are drawn).
    """
    lexicon = sources.lexicon(cell.lexicon)
    most = cell.option("most")
    training, testing = _parts(cell, sources)
    train_on, test_on = prepare(training, lexicon, most), prepare(testing, lexicon, most)
    learners = tuple(cell.option("learners"))
    texts = testing.texts[: int(cell.option("rewritten"))]
    if not cell.mechanism:
        rows = list(baseline(train_on, test_on, lexicon, learners, cell.seed))
        return rows + list(rewriting(texts, lexicon, None, (), cell.seed))
    mechanism = sources.mechanism(cell)
    rows = list(trial(train_on, test_on, mechanism, cell.epsilons, learners, cell.seed))
    compared = rewriting(texts, lexicon, mechanism, cell.epsilons, cell.seed)
    # Nw is in the rows of the trial already, of all texts and not of these few.
    return rows + [row for row in compared if row["quantity"] != "nw"]


def _parts(cell: Cell, sources: Sources) -> tuple[LabelledTexts, LabelledTexts]:
    path, pooled = sources.file(cell.data), tuple(cell.option("pooled", ()))
    train, test = int(cell.option("train")), int(cell.option("test"))
    if pooled:
        rng = cell.shared_generator("texts", "pooled")
        drawn = labelled_rows(path, pooled, train + test, rng)
        return drawn.part(np.arange(train)), drawn.part(np.arange(train, train + test))
    other = str(cell.option("test_split"))
    return (
        labelled_rows(path, "train", train, cell.shared_generator("texts", "train")),
        labelled_rows(path, other, test, cell.shared_generator("texts", other)),
    )


def measure_rewriting(cell: Cell, sources: Sources) -> list[Row]:
    """Measure the quality of rewritten sentences only.

    Options: `split`, `rewritten` (sentences), `encoder` (lexicons with which similarity of meaning
    is measured too, on the first seed).
    """
    lexicon, path = sources.lexicon(cell.lexicon), sources.file(cell.data)
    rng = generator(cell.seed, "sentences", cell.data)
    texts = plain_rows(path, str(cell.option("split")), int(cell.option("rewritten")), rng)
    encoder = None
    if cell.lexicon in cell.option("encoder") and cell.seed == 0:
        encoder = load_encoder()
    mechanism = sources.mechanism(cell) if cell.mechanism else None
    return list(rewriting(texts, lexicon, mechanism, cell.epsilons, cell.seed, encoder))
