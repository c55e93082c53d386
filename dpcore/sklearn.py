"""Private texts in a pipeline of scikit-learn: `PrivateText`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.rewrite.columns import release_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sklearn.utils import Tags


class PrivateText(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts in, private texts out; every `transform` draws its noise anew.

    `fit` reads no text: the vocabulary is public and nothing is learned, so fitting spends no
    budget. `transform` spends ε for each word of each text that it is given, each time it is
    called; there is no `random_state`, since who knows the noise knows the words. Hence:

    * Training and test texts of different persons are two releases of different data: each person
      spends ε a word once.
    * A search over folds (`cross_val_score`, `GridSearchCV`) with this transformer inside the
      pipeline transforms each text once a fold and candidate, and what it says was computed from
      all of them: their ε add up. Transform once before the search, and search over the result.
    * `Pipeline(memory=…)` keeps a release and gives it again, which spends nothing; its folder
      holds a hash of the private texts, so treat it as private.

    Args:
        epsilon: the privacy parameter of each word, in the mechanism's own meaning.
        mechanism: a name of the registry ("tem", "madlib", …), or a mechanism.
        lexicon: with a name: a lexicon, its name or its path; None for the bundled one. A mechanism
            has its own.

    Attributes:
        mechanism_: the mechanism, after `fit`.
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

    def fit(self, X: Iterable[str], y: object = None) -> Self:  # noqa: N803
        """Make the mechanism and check ε; the texts are not read.

        Args:
            X: n texts.
            y: not needed.

        Raises:
            EpsilonError: ε was not given, or is not admissible.
            UnknownMechanismError: there is no mechanism of this name.
            LexiconError: the lexicon cannot be found or read.
            ParameterError: a lexicon was given beside a mechanism that has another.
        """
        if not isinstance(self.mechanism, Mechanism):
            lexicon = self.lexicon if isinstance(self.lexicon, Lexicon) else load(self.lexicon)
            built = create(self.mechanism, lexicon)
        elif self.lexicon is None:
            built = self.mechanism
        else:
            raise ParameterError("a mechanism has its own lexicon: leave out `lexicon`")
        built.check_epsilon(self._given())
        self.mechanism_ = built
        return self

    def transform(self, X: Iterable[str]) -> list[str]:  # noqa: N803
        """The texts with every word replaced, with fresh noise: a second call gives other texts.

        Args:
            X: n texts: a list, an array or a Series of strings.

        Returns:
            n texts.

        Raises:
            NotFittedError: `fit` was not called.
            TextError: an entry is not a text, or X is one text.
        """
        check_is_fitted(self)
        return release_texts(X, self.mechanism_, self._given())

    def _given(self) -> float:
        """ε, which has no default: whoever spends it says how much."""
        if self.epsilon is None:
            raise EpsilonError("epsilon must be given, as in PrivateText(epsilon=20), got None")
        return self.epsilon

    def __sklearn_tags__(self) -> Tags:
        """One-dimensional input of texts; two calls differ."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.non_deterministic = True
        return tags
