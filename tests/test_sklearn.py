"""Texts where people keep them: the transformer of scikit-learn, pandas, batches of `datasets`."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import dpcore
from dpcore.errors import EpsilonError, ParameterError, TextError, UnknownMechanismError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.rewrite.documents import map_batch, privatize_column
from dpcore.sklearn import CrowdClassifier, PrivateText

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
        "set_output_transform",
        "set_params",
        "transformer_get_feature_names_out_pandas",
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
        transformer.transform(["The film", 2.5])
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


FRAME = pd.DataFrame({"text": TEXTS[:4], "n": [1, 2, 3, 4]}, index=[5, 3, 8, 1])


def test_a_table_of_one_column_is_that_column() -> None:
    released = privatize_column(FRAME[["text"]], OPTIMAL, KEEPS)
    assert released.columns.tolist() == ["text"]
    assert released.index.tolist() == [5, 3, 8, 1]
    assert released["text"].tolist()[:3] == TEXTS[:3]
    for array in (np.array(TEXTS[:3], dtype=object), np.array([TEXTS[:3]], dtype=object).T):
        assert np.array_equal(privatize_column(array, OPTIMAL, KEEPS), array)
    twice = pd.DataFrame([["good", "bad"]], columns=["text", "text"])
    with pytest.raises(TextError, match="got a table of 2 columns"):
        privatize_column(twice[["text"]], OPTIMAL, KEEPS)
    with pytest.raises(TextError, match="got a table of 2 columns"):
        map_batch(twice, "text", OPTIMAL, KEEPS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (FRAME, "a table of 2 columns"),
        (FRAME[[]], "a table of 0 columns"),
        ({"text": TEXTS}, "got columns by their names"),
        (np.array([TEXTS[:2], TEXTS[:2]]), "a table of 2 columns"),
        (np.array("good"), r"an array of shape \(\)"),
        (np.full((1, 1, 1), "good"), r"an array of shape \(1, 1, 1\)"),
        (set(TEXTS), "got a value of type set"),
        (b"good", "got one text"),
        (None, "got None"),
        (7, "got 7"),
        (pd.Series([1, 2]), "entry 1 is not a text but of type int"),
        ([TEXTS], "entry 1 is not a text but of type list"),
        (["good", ("bad",)], "entry 2 is not a text but of type tuple"),
    ],
)
def test_anything_but_a_column_is_refused_without_a_word_of_it(column: Any, message: str) -> None:
    doors: list[Any] = [lambda: privatize_column(column, OPTIMAL, KEEPS)]
    transformer = PrivateText(KEEPS, mechanism=OPTIMAL)
    doors.append(lambda: transformer.fit_transform(column))
    for door in doors:
        with pytest.raises(TextError, match=message) as refusal:
            door()
        assert "film" not in str(refusal.value)


def test_a_missing_text_stays_missing() -> None:
    given = ["good", None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, "", "bad"]
    released = privatize_column(given, OPTIMAL, KEEPS)
    assert released[0::7] == ["good", "bad"]
    assert released[1:7] == given[1:7]  # NaN is the same object
    batch: dict[str, Any] = {"text": ["good", None]}
    assert map_batch(batch, "text", OPTIMAL, KEEPS) == batch
    series = pd.Series(["good", None, np.nan], name="review")
    kept = privatize_column(series, OPTIMAL, KEEPS)
    pd.testing.assert_series_equal(kept, series)
    assert PrivateText(KEEPS, mechanism=OPTIMAL).fit_transform(series)[0] == "good"
    empty = pd.Series([np.nan, np.nan])
    pd.testing.assert_series_equal(privatize_column(empty, OPTIMAL, KEEPS), empty)


@pytest.mark.parametrize(
    "kind", ["object", "str", "string", "string[python]", "string[pyarrow]", "arrow", "large"]
)
def test_a_type_of_strings_is_kept(kind: str) -> None:
    import pyarrow

    arrow = {"arrow": pyarrow.string(), "large": pyarrow.large_string()}
    dtype: Any = pd.ArrowDtype(arrow[kind]) if kind in arrow else kind
    series = pd.Series(["good", None, "bad"], dtype=dtype, name="review", index=[4, 4, 2])
    pd.testing.assert_series_equal(privatize_column(series, OPTIMAL, KEEPS), series)
    assert privatize_column(series.to_frame(), OPTIMAL, KEEPS)["review"].dtype == series.dtype


def test_categories_which_are_private_texts_are_not_kept() -> None:
    series = pd.Series(["good", "bad", None, "good"]).astype("category")
    released = privatize_column(series, OPTIMAL, MIXES)
    assert not isinstance(released.dtype, pd.CategoricalDtype)
    assert released.isna().tolist() == [False, False, True, False]


def test_a_column_transformer_by_a_name_or_a_list_of_it() -> None:
    for chosen in ("text", ["text"]):
        texts = make_pipeline(PrivateText(KEEPS, mechanism=OPTIMAL), CountVectorizer())
        table = make_column_transformer((texts, chosen), remainder="passthrough")
        matrix = table.fit_transform(FRAME)
        assert matrix.shape[0] == 4
        names = table.get_feature_names_out().tolist()
        assert "pipeline__film" in names
        assert names[-1] == "remainder__n"
    alone = make_column_transformer((PrivateText(KEEPS, mechanism=OPTIMAL), ["text"]))
    frame = alone.set_output(transform="pandas").fit_transform(FRAME)
    assert frame.columns.tolist() == ["privatetext__text"]
    assert frame.index.tolist() == [5, 3, 8, 1]
    assert frame.iloc[:3, 0].tolist() == TEXTS[:3]


def test_names_come_out_and_containers_can_be_chosen() -> None:
    transformer = PrivateText(KEEPS, mechanism=OPTIMAL).fit(FRAME[["text"]])
    assert transformer.get_feature_names_out().tolist() == ["text"]
    assert transformer.fit(FRAME["text"]).get_feature_names_out().tolist() == ["x0"]
    pipeline = make_pipeline(transformer, CountVectorizer()).fit(FRAME["text"][:3])
    assert "film" in pipeline.get_feature_names_out().tolist()
    assert transformer.transform(TEXTS[:2]) == TEXTS[:2]
    transformer.set_output(transform="pandas")
    assert clone(transformer).fit_transform(TEXTS[:2]).tolist() == TEXTS[:2]
    kept = transformer.transform(FRAME["text"][:2])
    pd.testing.assert_series_equal(kept, FRAME["text"][:2])
    table = transformer.transform(FRAME[["text"]][:2])
    pd.testing.assert_frame_equal(table, FRAME[["text"]][:2])
    assert transformer.transform(np.array([["good"]])).shape == (1, 1)
    assert transformer.set_output(transform="default").transform(["good"]) == ["good"]
    with pytest.raises(ParameterError, match="one of default, pandas, got 'polars'"):
        transformer.set_output(transform="polars")


@pytest.mark.parametrize("chosen", ["text", ["text"]])
def test_a_vectoriser_never_reads_the_name_of_a_column(chosen: Any) -> None:
    with sklearn.config_context(transform_output="pandas"):
        pipeline = make_pipeline(PrivateText(KEEPS, mechanism=OPTIMAL), CountVectorizer())
        assert pipeline.fit_transform(FRAME[chosen]).shape[0] == 4
        assert "text" not in pipeline.get_feature_names_out().tolist()


def test_parameters_set_after_fit_hold_together() -> None:
    transformer = PrivateText(KEEPS, mechanism="tem", lexicon=LEXICON).fit(TEXTS)
    made = transformer.mechanism_
    assert transformer.mechanism_ is made  # not made again
    transformer.set_params(epsilon=7.0, mechanism="madlib")
    assert transformer.mechanism_.short == "madlib"
    transformer.mechanism = OPTIMAL
    with pytest.raises(ParameterError, match="leave out `lexicon`"):
        transformer.transform(TEXTS)
    assert transformer.set_params(lexicon=None, epsilon=KEEPS).transform(TEXTS[:2]) == TEXTS[:2]
    with pytest.raises(UnknownMechanismError):
        transformer.set_params(mechanism="term").transform(TEXTS)
    assert not hasattr(PrivateText(KEEPS), "mechanism_")


@pytest.mark.parametrize("epsilon", [True, np.True_, "much", [20.0], np.array([20.0]), 2**2000])
def test_epsilon_is_one_number(epsilon: Any) -> None:
    for door in (
        lambda: privatize_column(["good"], OPTIMAL, epsilon),
        lambda: map_batch({"text": ["good"]}, "text", OPTIMAL, epsilon),
        lambda: PrivateText(epsilon, mechanism=OPTIMAL).fit(TEXTS),
    ):
        with pytest.raises(EpsilonError, match="epsilon must be a finite number > 0"):
            door()


@pytest.mark.parametrize("epsilon", [np.float32(90), np.int64(90), np.array(90.0), 90])
def test_numbers_of_numpy_are_numbers(epsilon: Any) -> None:
    assert privatize_column(["good"], OPTIMAL, epsilon) == ["good"]


@pytest.mark.parametrize("mechanism", ["optimal", None, 3, LEXICON, type(OPTIMAL)])
def test_a_mechanism_is_one(mechanism: Any) -> None:
    for door in (
        lambda: privatize_column(["good"], mechanism, KEEPS),
        lambda: map_batch({"text": ["good"]}, "text", mechanism, KEEPS),
    ):
        with pytest.raises(ParameterError, match="a mechanism is needed, as dp"):
            door()


@pytest.mark.slow
def test_a_classifier_of_clean_texts_learns_from_private_ones() -> None:
    texts = ["good film good", "bad film bad"] * 400
    labels = np.array(["praise", "blame"] * 400)
    private = PrivateText(8.5, mechanism="k-ary").fit_transform(texts)
    learned = CrowdClassifier(8.5).fit(private, labels)
    assert learned.classes_.tolist() == ["blame", "praise"]
    assert learned.predict(["a good one", "a bad one"]).tolist() == ["praise", "blame"]
    assert learned.score(["good good", "bad bad"], ["praise", "blame"]) == 1.0
    three = CrowdClassifier(8.5).fit(private, np.repeat(["a", "b", "c", "d"], 200))
    scores = three.decision_function(["good", "bad"])
    assert scores.shape == (2, 4)
    best = [three.classes_[i] for i in scores.argmax(axis=1)]
    assert three.predict(["good", "bad"]).tolist() == best
    assert clone(learned).get_params() == learned.get_params()


def test_a_classifier_refuses_what_it_cannot_learn_from() -> None:
    with pytest.raises(EpsilonError):
        CrowdClassifier().fit(["good", "bad"], ["a", "b"])
    with pytest.raises(ParameterError, match="as many labels"):
        CrowdClassifier(8.0).fit(["good", "bad"], ["a"])
    with pytest.raises(ParameterError, match="one text"):
        CrowdClassifier(8.0).fit(["good", "bad"], ["a", "b"])
    with pytest.raises(ParameterError, match="no exact law"):
        CrowdClassifier(8.0, mechanism="madlib").fit(["good"] * 4, ["a", "a", "b", "b"])
