"""Texts where people keep them: the transformer of scikit-learn, pandas, batches of `datasets`."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import dpcore
from dpcore.errors import EpsilonError, ParameterError, TextError, UnknownMechanismError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.rewrite.columns import map_batch, privatize_column
from dpcore.sklearn import PrivateText

LEXICON = Lexicon(
    "small", ("the", "film", "was", "good", "bad", "plot", "actor"), np.eye(7, dtype=np.float32) * 9
)
# TEM would not do: at every ε it throws a word out with probability β = .001.
OPTIMAL = dpcore.mechanism("optimal", LEXICON)
TEXTS = ["The film was good.", "The plot was bad!", "", "Unheard-of actor"] * 5
LABELS = [1, 0, 1, 0] * 5
KEEPS = 90.0  # of 7 words at distance 9·√2, each stays but with probability below e^−500
MIXES = 1e-6  # every word is nearly equally likely


def words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


# Those of scikit-learn's checks that need no matrix; `check_estimator` leaves texts out.
@pytest.mark.parametrize(
    "check",
    [
        "do_not_raise_errors_in_init_or_set_params",
        "estimator_cloneable",
        "estimator_repr",
        "estimator_tags_renamed",
        "get_params_invariance",
        "mixin_order",
        "no_attributes_set_in_init",
        "parameters_default_constructible",
        "set_params",
        "valid_tag_types",
    ],
)
def test_it_is_an_estimator_as_scikit_learn_checks_one(check: str) -> None:
    run = getattr(estimator_checks, f"check_{check}")
    run("PrivateText", PrivateText(epsilon=KEEPS, mechanism=OPTIMAL))


def test_fit_learns_nothing_and_transform_keeps_length_and_marks() -> None:
    transformer = PrivateText(KEEPS, mechanism=OPTIMAL).fit(["anything"])
    assert transformer.mechanism_ is OPTIMAL
    released = transformer.transform(TEXTS)
    assert released[:3] == TEXTS[:3]  # all but the words that the lexicon does not hold
    assert released[3].endswith(" actor")
    assert transformer.transform(np.array(TEXTS[:2])) == TEXTS[:2]
    assert transformer.transform(pd.Series(TEXTS[:2])) == TEXTS[:2]


def test_noise_is_never_used_twice() -> None:
    transformer = PrivateText(MIXES, mechanism=OPTIMAL).fit(TEXTS)
    column = ["the film was good bad plot actor " * 8]
    released = [transformer.transform(column)[0] for _ in range(4)]
    released += [clone(transformer).fit_transform(column)[0]]
    assert len(set(released)) == 5  # two of 7^56 agree with a probability below 10⁻⁴⁵
    two = privatize_column(column * 2, OPTIMAL, MIXES)
    assert two[0] != two[1]
    with pytest.raises(TypeError):
        PrivateText(MIXES, mechanism=OPTIMAL, random_state=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="Invalid parameter 'random_state'"):
        transformer.set_params(random_state=1)


def test_parameters_and_clones() -> None:
    transformer = PrivateText(5.0, mechanism=OPTIMAL)
    copied = clone(transformer)
    assert copied is not transformer
    assert copied.get_params() == transformer.get_params()
    assert copied.mechanism is OPTIMAL  # not a second copy of its vectors
    assert copied.set_params(epsilon=7.0).epsilon == 7.0
    assert transformer.epsilon == 5.0
    assert "\n" not in repr(PrivateText(5.0))


def test_a_pipeline_and_a_search() -> None:
    pipeline = make_pipeline(
        PrivateText(KEEPS, mechanism=OPTIMAL), CountVectorizer(), LogisticRegression()
    )
    pipeline.fit(TEXTS[:2] * 5, LABELS[:2] * 5)
    assert pipeline.predict(TEXTS[:2]).tolist() == LABELS[:2]
    search = GridSearchCV(pipeline, {"privatetext__epsilon": [MIXES, KEEPS]}, cv=2)
    search.fit(TEXTS[:2] * 20, LABELS[:2] * 20)
    assert search.best_params_ == {"privatetext__epsilon": KEEPS}


def test_a_mechanism_by_name_over_a_lexicon() -> None:
    transformer = PrivateText(20, mechanism="tem-calibrated", lexicon=LEXICON).fit([])
    assert transformer.mechanism_.key == "tem-calibrated.v1"
    assert transformer.mechanism_.lexicon is LEXICON
    assert len(PrivateText(20).fit([]).mechanism_.lexicon) == 25_000


@pytest.mark.parametrize(
    ("transformer", "error", "message"),
    [
        (PrivateText(), EpsilonError, "epsilon must be given"),
        (PrivateText(0, mechanism=OPTIMAL), EpsilonError, "finite number > 0, got 0"),
        (PrivateText(np.nan, mechanism=OPTIMAL), EpsilonError, "finite number > 0"),
        (PrivateText(1, mechanism="term", lexicon=LEXICON), UnknownMechanismError, "term"),
        (PrivateText(1, mechanism=OPTIMAL, lexicon=LEXICON), ParameterError, "leave out `lexicon`"),
    ],
)
def test_fit_refuses(transformer: PrivateText, error: type[ValueError], message: str) -> None:
    with pytest.raises(error, match=message):
        transformer.fit(TEXTS)


def test_transform_refuses() -> None:
    with pytest.raises(NotFittedError):
        PrivateText(5.0, mechanism=OPTIMAL).transform(TEXTS)
    transformer = PrivateText(5.0, mechanism=OPTIMAL).fit(TEXTS)
    with pytest.raises(TextError, match="got one text"):
        transformer.transform("The film was good.")
    with pytest.raises(TextError, match=r"entry 2 is not a text but of type float"):
        transformer.transform(["The film", float("nan")])  # type: ignore[list-item]
    with pytest.raises(EpsilonError):
        transformer.set_params(epsilon=-1).transform(TEXTS)


def test_a_series_keeps_its_index_and_name() -> None:
    series = pd.Series(TEXTS[:3], index=[7, 3, 7], name="review")
    released = privatize_column(series, OPTIMAL, KEEPS)
    assert isinstance(released, pd.Series)
    assert (released.name, released.index.tolist()) == ("review", [7, 3, 7])
    assert released.tolist() == TEXTS[:3]
    assert privatize_column(TEXTS[:3], OPTIMAL, epsilon=KEEPS) == TEXTS[:3]
    assert privatize_column([], OPTIMAL, epsilon=KEEPS) == []
    assert words(privatize_column(TEXTS, OPTIMAL, MIXES)) == words(TEXTS)


def test_a_batch_gives_its_column() -> None:
    batch: dict[str, list[Any]] = {"text": TEXTS[:3], "label": [1, 0, 1]}
    assert map_batch(batch, "text", OPTIMAL, KEEPS) == {"text": TEXTS[:3]}
    with pytest.raises(TextError, match="no column 'review'; its columns are text, label"):
        map_batch(batch, "review", OPTIMAL, KEEPS)
    with pytest.raises(TextError, match="entry 1 is not a text but of type int"):
        map_batch(batch, "label", OPTIMAL, KEEPS)
