"""Words that can be counted: by the closed form of k-ary response, and by real releases."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.attack.output.prior import content_words
from dpcore.attack.trade.ground import COUNTED
from dpcore.crowd.undo import frequencies
from dpcore.learn.intervals import normal_quantile
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.counted import STUDY, TOLERANCE, measure_counted
from dpcore.papers.ours.tradeoff import recorded_curves
from dpcore.study.plan import Arm
from dpcore.study.recorded import read_recorded
from dpcore.study.runner import gather

WORDS_PER_TEXT = 220
Z = normal_quantile(0.95)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rows = read_recorded("counted").table
    return rows[rows["quantity"].isin(COUNTED.values())]


def test_every_arm_is_there_and_more_texts_count_more(table: pd.DataFrame) -> None:
    assert len(table) == sum(len(arm.epsilons) for arm in STUDY.plan.arms) * len(COUNTED)
    assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()
    wide = table.pivot(index=["label", "epsilon"], columns="quantity", values="value")
    few, more, most = (wide[name] for name in COUNTED.values())
    assert ((few <= more) & (more <= most)).all()
    assert set(recorded_curves()["k-ary"].amounts) >= set(COUNTED.values())
    assert not set(recorded_curves()["madlib"].amounts) & set(COUNTED.values())


def test_k_ary_response_has_its_closed_form_over_all_content_words(table: pd.DataFrame) -> None:
    lexicon = load(None)
    f, prior, n = frequencies(lexicon), content_words(lexicon).probability, len(lexicon)
    rows = table[table["label"] == "k-ary"]
    assert len(rows)
    for each in rows.to_dict("records"):
        odds = math.exp(each["epsilon"])
        p, q = odds / (odds + n - 1), 1.0 / (odds + n - 1)
        variance = q * (1 - q) / (p - q) ** 2 + f * ((1 - 2 * q) / (p - q) - 1)
        texts = {name: number for number, name in COUNTED.items()}[each["quantity"]]
        with np.errstate(divide="ignore"):
            error = Z * np.sqrt(variance / (texts * WORDS_PER_TEXT)) / f
        share = prior[error <= TOLERANCE].sum()
        # A threshold of frequency falls into one of 50 steps.
        assert abs(each["value"] - share) <= 1 / 50
        assert each["low"] <= share <= each["high"]


def test_a_word_is_counted_if_releases_count_it_within_a_tenth(tmp_path: Path) -> None:
    words = load(None)
    few = Lexicon("few", words.words[2_000:2_060], words.vectors[2_000:2_060])
    arm = Arm("tem", (1.9,))
    texts, length, size = 100, 20, 60
    options = (("words", size), ("texts", (10_000,)), ("words_per_text", texts * length / 10_000))
    plan = replace(STUDY.plan, arms=(arm,), lexicons=("few",), options=options)
    sources = gather(plan, tmp_path, lexicons={"few": few})
    (cell,) = plan.cells()
    (row,) = measure_counted(cell, sources)
    f, prior = frequencies(few), content_words(few).probability
    mechanism = create("tem", few)
    law = np.array([mechanism.law(word, [1.9]).dense(len(few))[0] for word in range(len(few))])
    inverse = np.linalg.inv(law)
    rng, total = np.random.default_rng(4), texts * length
    counts = np.round(total * f).astype(int)
    counts[0] += total - counts.sum()
    estimates = np.zeros((400, len(few)))
    for word, times in enumerate(counts.tolist()):
        estimates += rng.multinomial(times, law[word], size=400) @ inverse
    spread = Z * estimates.std(axis=0) / (total * f)
    sure, unsure = spread <= 0.9 * TOLERANCE, spread >= 1.1 * TOLERANCE
    assert sure.any()
    assert unsure.any()
    ends = prior[sure].sum() - 2 / size, prior[~unsure].sum() + 2 / size
    assert ends[0] <= row["value"] <= ends[1]
