"""All mechanisms at equal leakage: what private text still teaches where as many words are guessed.

Equal ε is no equal privacy: it means something else in every mechanism. Here ε is chosen so that
the best attacker who knows the mechanism, and takes all words of the lexicon for equally likely,
guesses the same share of them, and the texts that come out are learned from.

`optimal` has weights for a grid of ε and takes those of the smaller neighbour, so its rates are
steps; the levels are some of them. All others are brought to these levels: the responses in closed
form, the rest by interpolation in the recorded trade-off
(`TradeCurve.epsilon_at`). What the share is in truth
is measured again, with other noise than that of the trade-off. Where a column of the law is no
closed form, the attacker repeats what came out, or has learned from some outputs of every word:
his share is a lower bound of what is guessed.

What does not reach a level is not there. `truncated-gumbel` gives two words of five away at the
least ε that it has, and its repair nearly all. Response over k neighbours gives away 1 of k at
most: for k = 10 the level .103 stands at .0998. `tem-calibrated` is certified at few ε, and only
one is near a level; its law is that of TEM at a larger ε.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcore.papers.ours.teaching import divided
from dpcore.papers.ours.tradeoff import amount_row
from dpcore.study.definition import Study
from dpcore.study.plan import Arm, Plan, Settings

if TYPE_CHECKING:
    from dpcore.learn.labelled import LabelledTexts
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.plan import Cell
    from dpcore.study.rows import Row
    from dpcore.study.sources import Sources

LEVELS = (0.0248, 0.0513, 0.103, 0.2616, 0.5211)
"""Shares of the words that are guessed: those of `optimal` at ε = .85, .95, 1.05, 1.2, 1.35."""
_LEARNED = {"vickrey": 20}
# Outputs of each word that he has seen who learns (`stronger.learned`). Only of an arm that often
# answers with a neighbour, so that who repeats the output knows less: for the others he learns
# nothing that repeating does not say.
MEASURED = ("word", "near", "kind", "guess", "kept", "meaning")
"""Of a trade-off, what is recorded beside the texts."""

_CLOSED: Settings = (("outputs", 400),)
# Columns of these are closed forms: a few hundred outputs say the share to a percent of itself.
_NEIGHBOURS = {3: (6.507, 7.324, 8.223, 10.32), 10: (6.714, 7.876, 14.0), 30: (7.791,)}
ARMS = (
    Arm(""),
    Arm("optimal", (0.85, 0.95, 1.05, 1.2, 1.35), options=_CLOSED),
    Arm("tem", (1.7, 1.9, 2.1, 2.4, 2.7), options=_CLOSED),
    Arm("tem-calibrated", (1.4,), options=_CLOSED),
    Arm("truncated-gumbel", (106.0,)),
    Arm("madlib", (6.55, 7.69, 9.0, 11.2, 13.6)),
    Arm("mahalanobis", (6.93, 8.07, 9.42, 11.7, 14.2)),
    # From ε = 15 to 30 the share of one who repeats stands still, for it is the second word that
    # comes out, and one who has learned which guesses more and more: at 17 both guess as many.
    Arm("vickrey", (7.51, 8.83, 10.7, 17.0, 193.0)),
    Arm("random-projection", (4.55, 5.34, 6.25, 7.88, 9.81)),
    Arm("k-ary", (6.455, 7.209, 7.962, 9.089, 10.21), options=_CLOSED),
    *(
        Arm("neighbour-response", values, (("k", k),), f"neighbour-response, k = {k}", _CLOSED)
        for k, values in _NEIGHBOURS.items()
    ),
    Arm("laplace", (100.0, 118.0, 137.0, 171.0, 208.0)),
    Arm("l2-laplace", (72.3, 84.1, 97.8, 121.0, 148.0)),
    Arm("gaussian", (25.7, 31.9, 39.5, 54.4, 72.6)),
    Arm("trlaplace-corrected", (100.0, 118.0, 137.0, 171.0, 209.0)),
    Arm("adept-l1", (82.6, 96.7, 113.0, 141.0, 172.0)),
)
_FIRST = 1
# Seed 0 is that of the recorded trade-off, from which ε was found: here all noise is fresh.
_SHARED: Settings = (
    ("learners", ("tf-idf", "averaged")),
    ("attacked", ("tf-idf",)),
    ("outputs", 10_000),
)
_TASK = "dpcore.papers.ours.equal_leakage:measure"
_TRIALS = 5
TEACHING = Study(
    "Teaching corpus: mechanisms at equal leakage",
    "",
    Plan(
        "equal-leakage",
        _TASK,
        ARMS,
        ("bundled",),
        seeds=tuple(range(_FIRST, _FIRST + _TRIALS)),
        options=(*_SHARED, ("guessed", _FIRST)),
        together=True,
    ),
    f"In each of {_TRIALS} trials 1,008 training and 432 test texts of the teaching corpus, drawn "
    "anew and whole, under both labellings.",
)
_LEFT_OUT = ("tem-calibrated", "truncated-gumbel", "l2-laplace", "trlaplace-corrected", "adept-l1")
# For time: the law or the noise of each is near to that of another arm, or it has one level alone.
_REAL_ARMS = tuple(arm for arm in ARMS if arm.mechanism not in _LEFT_OUT)
_REAL_TRIALS, _WORDS = 5, 60


def _real(key: str, title: str, training: int, testing: int) -> Study:
    file = f"{key}.parquet"
    sizes: Settings = (("train", training), ("test", testing), ("words", _WORDS), ("title", title))
    return Study(
        f"{title}: mechanisms at equal leakage",
        "",
        Plan(
            f"{TEACHING.name}-{key}",
            _TASK,
            _REAL_ARMS,
            ("bundled",),
            (file,),
            tuple(range(_FIRST, _FIRST + _REAL_TRIALS)),
            (*_SHARED, *sizes),
            together=True,
        ),
        f"In each of {_REAL_TRIALS} trials {training:,} training and {testing:,} test texts, drawn "
        f"anew, of each its first {_WORDS} words; over the bundled lexicon.",
    )


STUDIES = (
    TEACHING,
    _real("sst2", "SST-2", 800, 400),
    _real("agnews", "AG News", 300, 200),
    _real("imdb", "IMDb", 250, 150),
)


def measure(cell: Cell, sources: Sources) -> list[Row]:
    """One seed of one mechanism at all its ε, or of the baseline, and once what is guessed.

    Options: `learners` and `attacked`, as `dpcore.study.labelled_trial.Wanted`; `guessed`, the seed
    whose cells measure what is guessed, from `outputs`, as `dpcore.attack.trade.tradeoff.tradeoff`
    (it is of mechanism, ε and lexicon alone, and measured once for all corpora); of a file `train`
    and `test` (texts), `words` of each that are read, and `title`.
    """
    from dpcore.study.labelled_trial import Wanted, labelled_trial, read_material

    parts = drawn(cell, sources) if cell.data else divided(cell.shared_generator("split"))
    material = read_material(parts, sources.lexicon(cell.lexicon))
    mechanism = sources.mechanism(cell) if cell.mechanism else None
    wanted = Wanted(tuple(cell.option("learners")), tuple(cell.option("attacked")))
    trial = labelled_trial(material, mechanism, cell.epsilons, cell.seed, wanted)
    # Curves of true over false positives would be most of the table.
    rows = [measured for measured in trial if measured["quantity"] != "roc"]
    if mechanism is not None and cell.seed == cell.option("guessed"):
        rows += _guessed(mechanism, cell)
    return rows


def drawn(cell: Cell, sources: Sources) -> dict[str, tuple[LabelledTexts, LabelledTexts]]:
    """Texts of a real corpus, the same for every mechanism, each cut to its first words."""
    from dpcore.study.reading_corpora import labelled_rows

    path, most = sources.file(cell.data), int(cell.option("words"))
    both = [
        labelled_rows(path, split, int(cell.option(split)), cell.shared_generator("texts", split))
        for split in ("train", "test")
    ]
    first, last = (
        replace(part, texts=tuple(" ".join(text.split()[:most]) for text in part.texts))
        for part in both
    )
    return {str(cell.option("title")): (first, last)}


def _guessed(mechanism: Mechanism, cell: Cell) -> list[Row]:
    """The share of the words that are guessed, and how near the text stays."""
    from dpcore.attack.trade.stronger import from_all_laws, from_draws
    from dpcore.attack.trade.tradeoff import tradeoff

    outputs = int(cell.option("outputs"))
    # Pairs of words told apart are not wanted: as few as there can be.
    table = tradeoff(mechanism, cell.epsilons, outputs=outputs, pairs=2, seed=cell.seed)
    amounts = [amount for amount in table.rows if amount.quantity in MEASURED]
    if mechanism.exact_law:
        amounts = from_all_laws(mechanism, amounts)
    elif cell.label in _LEARNED:
        amounts = from_draws(mechanism, amounts, _LEARNED[cell.label], outputs, cell.seed)
    return [
        amount_row(amount, len(mechanism.lexicon) if amount.exact else outputs)
        for amount in amounts
    ]
