"""Columns and checks of recorded tables, their construction from rows, and examples of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import StudyError
from dpcore.learn.classifiers import Classifier, learner_of, train
from dpcore.learn.corpus import Bags
from dpcore.noise.streams import generator
from dpcore.optional import need_pandas
from dpcore.study.plan import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.study.labelled_trial import Material


# Examples of classification errors after rewriting, on texts classified correctly when clean.


EXAMPLE = "example"
"""Quantity of a row that is an example; its numeric columns are missing."""
TEXTS = ("original", "private", "true", "guessed")
"""Extra columns of an example: the original and the rewritten text, its class, and the class that a
classifier of private texts assigns to the rewritten text."""


class WrongAnswers:
    """Watcher that collects examples from the classifiers of a `labelled_trial` for one labelling.

    Attributes:
        examples: the examples so far, each a row of `dpcore.study.plan.COLUMNS` and `TEXTS`.
    """

    def __init__(
        self, material: Material, labelling: str, learner: str, seed: int, most: int
    ) -> None:
        """Train the classifier on the clean texts.

        Args:
            material: the texts.
            labelling: one of its labellings.
            learner: name of the classifier.
            seed: seed of the trial.
            most: largest number of examples per ε.
        """
        self.examples: list[dict[str, Any]] = []
        self._material, self._labelling, self._learner = material, labelling, learner
        self._most = most
        labels, true = material.labels[labelling]
        rng = generator(seed, "learner", learner)
        vectors = material.training.lexicon.vectors
        # A text that the clean classifier gets wrong too is not an error of the rewriting.
        clean = train(learner_of(learner), material.bags[0], labels, vectors, rng)
        self._right = clean.predict(material.bags[1]) == true

    def __call__(
        self, labelling: str, learner: str, epsilon: float | None, model: Classifier, tests: Bags
    ) -> None:
        """Collect examples (see `dpcore.study.labelled_trial.Watch`); ignore other classifiers."""
        if (labelling, learner) != (self._labelling, self._learner) or epsilon is None:
            return
        # `tests` has the same documents in the same positions, with other words.
        material = self._material
        true, classes = material.labels[labelling][1], material.classes[labelling]
        guessed = model.predict(tests)
        places = (self._right & (guessed != true)).nonzero()[0][: self._most]
        private = material.testing.texts(tests.words) if places.size else []
        for i in places.tolist():
            self.examples.append(
                {
                    "quantity": EXAMPLE,
                    "data": labelling,
                    "learner": learner,
                    "epsilon": epsilon,
                    "original": material.originals[i],
                    "private": private[i],
                    "true": classes[true[i]],
                    "guessed": classes[guessed[i]],
                }
            )


WORD_TEXTS = ("curve", "series", "mechanism", "word", "quantity", "status", "method")
WORD_FIGURES = (
    "mean", "standard_deviation", "standard_error", "mean_low", "mean_high", "median", "worst",
    "q05", "q25", "q75", "q95",
)  # fmt: skip
WORD_NUMBERS = ("epsilon", *WORD_FIGURES, "true_delta")
WORD_COUNTS = ("words", "runs")
WORD_COLUMNS = (*WORD_TEXTS, *WORD_NUMBERS, *WORD_COUNTS)
"""A table of words has one row per series, ε and quantity (nw, sw, effective), over the words of
the series: mean, standard deviation over words, standard error of the mean from the noise of the
measurement (0 if exact) and the ends of the 95 % interval from this noise (NaN for the effective
number of several words), quantiles, and the value of the worst (least deniable) word. `word` is
empty, or names the one word of the row. `status` is "measured", or "undefined" if the mechanism
does not admit the ε and all figures are NaN. `true_delta` is the exact δ at the worst difference of
two vectors for truncated Laplace noise; else NaN. `curve` is common to series that are drawn as
one."""
MEASURED, UNDEFINED = "measured", "undefined"

_NUMBERS = ("epsilon", "at", "value", "low", "high")
_WHOLE = ("seed", "count")
_SHARES = {"accuracy", "majority", "nw", "auc", "tpr", "roc", "rouge1", "document_auc"}


def chosen(table: pd.DataFrame, quantity: str, **where: Any) -> pd.DataFrame:
    """Return the rows of one quantity with these values in other columns."""
    kept = (table["quantity"] == quantity).to_numpy()
    for column, value in where.items():
        kept = kept & (table[column] == value).to_numpy()
    return table[kept]


def words_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Build a table with the columns `WORD_COLUMNS` from the rows of a study of words."""
    frame = need_pandas("results need").DataFrame(rows).reindex(columns=list(WORD_COLUMNS))
    table: pd.DataFrame = frame.astype(dict.fromkeys(WORD_NUMBERS, "float64"))
    return table


def check_words(table: pd.DataFrame, runs: int) -> pd.DataFrame:
    """Return the table unchanged if its columns, types and ranges are those of `WORD_COLUMNS`.

    Raises:
        StudyError: they are not.
    """
    if tuple(table.columns) != WORD_COLUMNS:
        raise StudyError(f"a table of results has the columns {', '.join(WORD_COLUMNS)}")
    kinds = {name: table[name].dtype.kind for name in (*WORD_NUMBERS, *WORD_COUNTS)}
    wrong = [n for n, kind in kinds.items() if kind != ("f" if n in WORD_NUMBERS else "i")]
    if wrong:
        raise StudyError(f"columns of the wrong type in a table of results: {', '.join(wrong)}")
    epsilons = table["epsilon"].to_numpy()
    if not (len(table) and np.all((epsilons > 0) & np.isfinite(epsilons))):
        raise StudyError("a table of results needs rows, and every ε finite and above 0")
    if not set(table["status"]) <= {MEASURED, UNDEFINED}:
        raise StudyError(f"status in a table of results is {MEASURED} or {UNDEFINED}")
    for quantity, low, high in (("nw", 0.0, 1.0), ("sw", 1.0, float(runs))):
        rows = table[(table["quantity"] == quantity) & (table["status"] == MEASURED)]
        # The interval ends are not checked: in a normal approximation they may exceed the range.
        values = rows[["mean", "median", "worst", "q05", "q25", "q75", "q95"]].to_numpy()
        if not np.all((values >= low - 1e-9) & (values <= high + 1e-9)):
            raise StudyError(f"{quantity} outside {low:g} to {high:g} in a table of results")
    return table


def tidy(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Build a table with the columns `COLUMNS` from the rows of an experiment.

    Absent values are missing. If some rows are examples, the columns `TEXTS` follow.
    """
    more = TEXTS if any(row.get("quantity") == EXAMPLE for row in rows) else ()
    columns = [*COLUMNS, *more]
    frame: pd.DataFrame = need_pandas("results need").DataFrame(
        [{name: row.get(name) for name in columns} for row in rows]
    )
    frame = frame.reindex(columns=columns)
    return typed(frame)


def typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of an experiment with its types, which a file does not keep."""
    kinds = dict.fromkeys(_NUMBERS, "float64") | dict.fromkeys(_WHOLE, "Int64")  # some missing
    return table.astype({name: kind for name, kind in kinds.items() if name in table})


def check_trials(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table unchanged if its columns and ranges are those of an experiment.

    Raises:
        StudyError: they are not.
    """
    if tuple(table.columns) not in (COLUMNS, COLUMNS + TEXTS):
        raise StudyError(f"a table of an experiment has the columns {', '.join(COLUMNS)}")
    if not len(table) or any(table[name].dtype.kind != "f" for name in _NUMBERS):
        raise StudyError("a table of an experiment needs rows, and numbers where numbers belong")
    epsilons = table["epsilon"].dropna().to_numpy()
    if not np.all((epsilons > 0) & np.isfinite(epsilons)):
        raise StudyError("every ε of an experiment is finite and above 0")
    shares = table.loc[table["quantity"].isin(_SHARES), "value"].to_numpy()
    if not np.all((shares >= -1e-9) & (shares <= 1 + 1e-9)):
        raise StudyError("a share outside 0 to 1 in a table of an experiment")
    return table
