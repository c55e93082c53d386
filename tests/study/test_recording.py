"""Recording of a study: it repeats itself, marks undefined values, and weights words."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.errors import ParameterError, StudyError
from dpcore.measure.deniability import measure, summarise
from dpcore.mechanisms.clipped.trlaplace import worst_delta
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.study.plan import Choice, Study
from dpcore.study.recording import Options, choose_words
from dpcore.study.tables import MEASURED, UNDEFINED, WORD_COLUMNS, check_words
from dpcore.study.vocabularies import CountedLexicon

RUNS = 50


@pytest.fixture(scope="module")
def recording(record_tiny: Callable[..., Any]) -> Any:
    return record_tiny(Options(seed=3))


def test_the_same_seed_gives_the_same_table_and_another_does_not(
    record_tiny: Callable[..., Any], recording: Any
) -> None:
    again = record_tiny(Options(seed=3))
    pd.testing.assert_frame_equal(recording[1], again[1], check_exact=True)
    other = record_tiny(Options(seed=4))[1]
    assert not recording[1]["mean"].equals(other["mean"])


@pytest.mark.slow
def test_two_processes_and_a_run_that_goes_on_give_the_same_table(
    tiny: Study, record_tiny: Callable[..., Any], recording: Any, tmp_path: Path
) -> None:
    facts, table = record_tiny(Options(seed=3), workers=2, work=tmp_path)
    pd.testing.assert_frame_equal(recording[1], table, check_exact=True)
    assert facts.series == recording[0].series
    cells = sorted((tmp_path / "cells").iterdir())
    assert len(cells) == len(tiny.plan.arms)
    cells[0].unlink()
    steps = []
    again = record_tiny(Options(seed=3), lambda *step: steps.append(step[1:]), work=tmp_path)
    pd.testing.assert_frame_equal(again[1], table, check_exact=True)
    assert steps == [(0, 1), (1, 1)]


def test_the_table_is_valid_and_has_a_row_for_each_epsilon_and_quantity(
    tiny: Study, recording: Any
) -> None:
    entry, table = recording
    assert tuple(check_words(table, RUNS).columns) == WORD_COLUMNS
    for series in tiny.plan.arms:
        rows = table[table["series"] == series.name]
        words = len(set(dict(series.options)["named"]) - {"absent"}) or 1
        assert len(rows) == 3 * len(series.epsilons) * words
        assert set(rows["epsilon"]) == set(series.epsilons)
    assert [series["name"] for series in entry.series] == [series.name for series in tiny.plan.arms]
    assert entry.vocabulary["words"] == 300
    assert entry.words == 12


def test_a_mean_is_that_of_the_measurement(
    tiny: Study, vocabulary: CountedLexicon, recording: Any
) -> None:
    mechanism = create("truncated-gumbel", vocabulary.lexicon)
    selection = choose_words(tiny, vocabulary, Options(seed=3))
    result = summarise(measure(mechanism, selection, [1e3], runs=RUNS), "nw")
    table = recording[1]
    row = table[(table["series"] == "truncated-gumbel") & (table["quantity"] == "nw")]
    row = row[row["epsilon"] == 1e3].iloc[0]
    assert row["mean"] == pytest.approx(result.mean[0], rel=1e-12)
    assert row["standard_deviation"] == pytest.approx(result.deviation[0], rel=1e-12)
    assert row["q95"] == result.bands[-1, 0]
    assert row["standard_error"] == 0
    assert row["mean_low"] == row["mean"] == row["mean_high"]


def test_an_epsilon_that_a_mechanism_does_not_have_is_undefined_not_dropped(recording: Any) -> None:
    table = recording[1]
    rows = table[(table["series"] == "truncated-gumbel") & (table["epsilon"] == 1e-3)]
    assert set(rows["status"]) == {UNDEFINED}
    assert rows["mean"].isna().all()
    assert set(table.loc[table["epsilon"] != 1e-3, "status"]) == {MEASURED}


def test_named_words_are_recorded_one_by_one(recording: Any) -> None:
    rows = recording[1][recording[1]["series"] == "madlib, words"]
    assert set(rows["word"]) == {"w3", "w7"}
    assert set(rows["words"]) == {1}


def test_the_true_delta_stands_beside_truncated_laplace_noise_alone(
    vocabulary: CountedLexicon, recording: Any
) -> None:
    table = recording[1]
    assert table.loc[table["series"] != "trlaplace", "true_delta"].isna().all()
    mechanism: Any = create("trlaplace", vocabulary.lexicon, {"clip_norm": 1.0})
    for epsilon in (0.5, 1.0):
        rows = table[(table["series"] == "trlaplace") & (table["epsilon"] == epsilon)]
        expected = worst_delta(mechanism.truncation(epsilon), 1.0, 12)
        assert set(rows["true_delta"]) == {expected}


def test_words_by_tokens_stand_for_all_tokens(tiny: Study, vocabulary: CountedLexicon) -> None:
    study = dataclasses.replace(tiny, choice=Choice(12, by_tokens=True))
    chosen = choose_words(study, vocabulary, Options(words=40, seed=1))
    assert len(chosen) == 40
    assert np.isclose(chosen.weights.sum(), vocabulary.counts.sum())
    assert chosen.names[0] == "w0"  # the most frequent word is drawn for certain
    assert chosen.tokens == vocabulary.tokens


@pytest.mark.parametrize("words", [0, -1, 301])
def test_an_impossible_number_of_words_is_refused(
    tiny: Study, vocabulary: CountedLexicon, words: int
) -> None:
    with pytest.raises(ParameterError, match=r"got (0|-1|301)"):
        choose_words(tiny, vocabulary, Options(words=words))


def test_the_command_makes_the_result_again(recording: Any) -> None:
    assert recording[0].command == "python -m dpcore study run tiny --data ../shared/data --seed 3"


def test_seeds_are_checked(record_tiny: Callable[..., Any]) -> None:
    with pytest.raises(ParameterError, match="seed"):
        record_tiny(Options(seed=-1))
    assert generator(0, "a").random() != generator(1, "a").random()


def test_an_experiment_has_no_options_and_no_words_are_chosen(
    tiny: Study, vocabulary: CountedLexicon, record_tiny: Callable[..., Any]
) -> None:
    experiment = dataclasses.replace(tiny, choice=None)
    with pytest.raises(StudyError, match="leave out --words and --seed"):
        record_tiny(Options(words=3), study=experiment)
    with pytest.raises(StudyError, match="no words are chosen"):
        choose_words(experiment, vocabulary, Options())
    reading = dataclasses.replace(tiny.plan, data=("texts.parquet",))
    with pytest.raises(StudyError, match="give their folder with --data"):
        record_tiny(study=dataclasses.replace(experiment, plan=reading))
