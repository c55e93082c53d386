"""Private texts in scikit-learn: the transformer `PrivateText`, and `CrowdClassifier`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.arguments import describe
from dpcore.crowd.estimates import Tally
from dpcore.crowd.learning import learn_weights
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.optional import missing
from dpcore.rewrite.documents import check_column, entries, privatize_column
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from dpcore.rewrite.reader import Reader

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
    )
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise missing("dpcore.sklearn needs the package scikit-learn", "app") from error

if TYPE_CHECKING:
    from sklearn.utils import Tags

_TOGETHER = 1_000  # texts that are read at a time
_CONTAINERS = ("default", "pandas")


class PrivateText(  # type: ignore[call-arg]
    OneToOneFeatureMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    auto_wrap_output_keys=None,
):
    """Transformer from texts to private texts; every `transform` draws fresh noise.

    `fit` reads no text: the vocabulary is public and nothing is learned, so fitting spends no
    budget. `transform` spends ε for each word of each text, each time it is called; there is no
    `random_state`, since anyone who knows the noise knows the words. Hence:

    * Training and test texts of different persons are two releases of different data: each person
      spends ε a word once.
    * A search over folds (`cross_val_score`, `GridSearchCV`) with this transformer inside the
      pipeline transforms each text once for each fold and candidate, and its result is computed
      from all of them: their ε add up. Transform once before the search, and search over the
      result.
    * `Pipeline(memory=…)` stores a release and returns it again, which spends nothing; its folder
      holds a hash of the private texts, so treat it as private.

    A table of one column is read like that column, so that a `ColumnTransformer` may name the
    texts by `"text"` or by `["text"]`. The output is a list, as vectorisers take it.

    Args:
        epsilon: privacy parameter of each word, with the mechanism's meaning of ε.
        mechanism: name in the registry ("tem", "madlib", …), or a mechanism.
        lexicon: for a named mechanism: a lexicon, its name or its path; None for the bundled one.
            A mechanism object has its own lexicon.

    Attributes:
        mechanism_: mechanism of the present parameters, after `fit`. Parameters that are set later
            apply from then on, all of them.
        n_features_in_: 1.
        feature_names_in_: name of the column, if `fit` was given a table whose columns have names.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        mechanism: str | Mechanism = "tem",
        lexicon: str | Lexicon | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.lexicon = lexicon

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: N803
        """Make the mechanism and check ε; the texts are not read.

        Args:
            X: n texts.
            y: ignored.

        Raises:
            EpsilonError: ε was not given, or is not admissible.
            UnknownMechanismError: there is no mechanism of this name.
            LexiconError: the lexicon cannot be found or read.
            ParameterError: a lexicon was given beside a mechanism that has another.
            TextError: X is one text, or a table of several columns.
        """
        check_column(X)
        self._make().check_epsilon(self._given())
        self.n_features_in_ = 1
        names = list(getattr(X, "columns", ()))
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)
        return self

    def _make(self) -> Mechanism:
        """Make the mechanism of the present parameters, once."""
        asked = self.mechanism, self.lexicon
        kept: tuple[tuple[object, object], Mechanism] | None = vars(self).get("_made")
        if kept is not None and all(map(_same, kept[0], asked)):
            return kept[1]
        if not isinstance(self.mechanism, Mechanism):
            lexicon = self.lexicon if isinstance(self.lexicon, Lexicon) else load(self.lexicon)
            built = create(self.mechanism, lexicon)
        elif self.lexicon is None:
            built = self.mechanism
        else:
            raise ParameterError("a mechanism has its own lexicon: leave out `lexicon`")
        self._made = asked, built
        return built

    @property
    def mechanism_(self) -> Mechanism:
        """Mechanism of the present parameters; see the class."""
        check_is_fitted(self)
        return self._make()

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Replace every word of the texts, with fresh noise: a second call gives other texts.

        Args:
            X: n texts: a list, an array or a Series of strings, or a table of one column. A
                missing text stays missing.

        Returns:
            A list of n texts; after `set_output(transform="pandas")` a Series, or a DataFrame for
            a table.

        Raises:
            NotFittedError: `fit` was not called.
            TextError: an entry is not a text, or X is one text or a table of several columns.
        """
        private = privatize_column(X, self.mechanism_, self._given())
        if self._container == "default":
            return list(entries(private))
        if hasattr(private, "iloc"):
            return private
        import pandas as pd

        name = self.get_feature_names_out()[0]
        series = pd.Series(list(entries(private)), name=name, dtype=object)
        return series.to_frame() if np.ndim(private) == 2 else series

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of `transform`.

        scikit-learn's `set_output` always makes a DataFrame, of which a vectoriser in the next step
        reads the column names as its texts. So a column stays a column here, and the global
        `transform_output` changes nothing.

        Args:
            transform: "default" (a list), "pandas", or None, which changes nothing.

        Raises:
            ParameterError: there is no such container.
        """
        if transform is not None:
            if transform not in _CONTAINERS:
                shown = repr(transform[:40]) if isinstance(transform, str) else describe(transform)
                raise ParameterError(
                    f"the output must be one of {', '.join(_CONTAINERS)}, got {shown}"
                )
            # The attribute that scikit-learn uses, so that a clone has it too.
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def _container(self) -> str:
        return str(getattr(self, "_sklearn_output_config", {}).get("transform", "default"))

    def _given(self) -> float:
        """Return ε, which has no default: the caller must state what they spend."""
        if self.epsilon is None:
            raise EpsilonError("epsilon must be given, as in PrivateText(epsilon=20), got None")
        return self.epsilon

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after `fit`."""
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: texts in one dimension; two calls differ."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags


class CrowdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of clean texts that learns from private ones, by their undone counts.

    Nothing is spent: it reads private texts as they were released, and undoes the noise of the
    whole crowd (`dpcore.crowd.learning`). A pipeline of `PrivateText` and any classifier learns
    what private texts look like; this one learns the words, and `predict` reads texts that nobody
    has made private.

    Args:
        epsilon: ε with which the texts of `fit` were made.
        mechanism: that made them: its name, or the mechanism; its noise must be undone for all
            words at once, as that of k-ary and tem is.
        lexicon: as for `PrivateText`.

    Attributes:
        classes_: labels, shape (G,).
        weights_: `dpcore.crowd.learning.WordWeights`.
        n_texts_: number of texts of each class, shape (G,).
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        mechanism: str | Mechanism = "k-ary",
        lexicon: str | Lexicon | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.lexicon = lexicon

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from private texts.

        Args:
            X: n private texts.
            y: their labels, of two classes or more, each with two texts at least.

        Raises:
            ParameterError: the noise cannot be undone, there are not as many labels as texts, or a
                class has one text only.
            EpsilonError: ε was not given, or is not admissible.
        """
        private = PrivateText(self.epsilon, mechanism=self.mechanism, lexicon=self.lexicon)
        mechanism, epsilon = private._make(), private._given()
        texts, labels = entries(X), np.asarray(y)
        if labels.shape != (len(texts),):
            raise ParameterError(f"{len(texts):,} texts need as many labels, got {labels.shape}")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        # In the order of the classes, whatever they are called.
        names = [f"{code:06}" for code in codes.tolist()]
        tally = Tally(len(mechanism.lexicon))
        self._reader = Reader(mechanism.lexicon, DEFAULT_TREATMENT)
        for start in range(0, len(texts), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            documents = self._reader.read([text or "" for text in texts[part]], for_text=False)
            tally.add(documents.words, documents.offsets, names[part])
        observed = tally.observed()
        self.n_texts_ = observed.texts
        self.weights_ = learn_weights(mechanism, epsilon, observed)
        return self

    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """Return the scores of clean texts: shape (n,) for two classes, else (n, G)."""
        check_is_fitted(self, "weights_")
        texts = [text or "" for text in entries(X)]
        documents = self._reader.read(texts, for_text=False)
        scores = self.weights_.scores(documents.words, documents.offsets)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the class of each clean text."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]


def _same(kept: object, asked: object) -> bool:
    """Return True if both are one object, or equal names."""
    return kept is asked or (isinstance(kept, str) and isinstance(asked, str) and kept == asked)
