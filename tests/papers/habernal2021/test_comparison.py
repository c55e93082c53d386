"""What the rows about ADePT say in words, as inequalities between recorded numbers."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.audit.settings import AuditSettings
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.clipped.adept_latent import FORMS
from dpcore.papers.habernal2021.claims import adept_published
from dpcore.papers.habernal2021.comparison import adept_rows
from dpcore.study.reading import Figures
from dpcore.study.recorded import read_recorded
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import baseline, curves

RECORDED = read_recorded("adept2021-atis-snips")
TABLE = RECORDED.table
DATA = ("atis.parquet", "snips.parquet")


def rows(quantity: str, label: str, data: str, **where: Any) -> pd.DataFrame:
    return chosen(TABLE, quantity, label=label, data=data, **where)


@pytest.mark.parametrize("data", DATA)
def test_the_attack_refutes_the_published_claim_and_no_repair(data: str) -> None:
    for label in FORMS:
        result = rows("bayes", label, data)
        bounds = rows("first_bound", label, data, variant="claimed")
        keys = ["seed", "epsilon"]
        both = result.merge(bounds, on=keys, suffixes=("", "_bound"))
        above = both[both["low"] > both["value_bound"]]
        if label == "adept":
            assert set(above["epsilon"]) == {1.0, 2.0, 4.0}
            assert len(above) == 3 * TABLE["seed"].nunique()
        else:
            assert above.empty
        true = rows("first_bound", label, data, variant="true")
        merged = result.merge(true, on=keys, suffixes=("", "_bound"))
        assert (merged["low"] <= merged["value_bound"]).all()


@pytest.mark.parametrize("data", DATA)
def test_the_share_named_agrees_with_the_bayes_optimum(data: str) -> None:
    """Clopper–Pearson at 95 % for each of many rows: most of them hold the optimum."""
    for label in FORMS:
        result = rows("first", label, data)
        both = result.merge(rows("bayes", label, data), on=["seed", "epsilon"])
        inside = (both["low_x"] <= both["value_y"]) & (both["value_y"] <= both["high_x"])
        assert inside.mean() >= 0.8


@pytest.mark.parametrize("data", DATA)
def test_what_the_table_concludes_holds_in_the_record(data: str) -> None:
    assert baseline(TABLE, "unprotected", data=data).mean > 0.99
    where = {"data": data, "learner": "tf-idf", "tested_on": "clean"}
    plain = baseline(TABLE, "accuracy", variant="", **where).mean
    assert baseline(TABLE, "accuracy", variant="no noise", **where).mean < plain
    rouge = curves(TABLE, "rouge1", data=data).set_index(["curve", "epsilon"])["mean"]
    for label in ("adept-l1", "laplace", "l2-laplace"):
        assert rouge[label, 16.0] < rouge["adept", 16.0]  # one claimed ε
    # One noise under two names: (b) at √32·ε is the published noise at ε.
    near = (64.0, 128.0)
    known = [rouge["laplace", epsilon] for epsilon in near]
    between = np.interp(math.log(16.0 * math.sqrt(32.0)), np.log(near), known)
    assert between == pytest.approx(rouge["adept", 16.0], abs=0.05)


def test_the_true_epsilon_is_that_of_the_audit() -> None:
    lexicon = Lexicon("two words", ("a", "b"), np.eye(2, dtype=np.float32))
    for epsilon in (1.0, 16.0):
        settings = AuditSettings(epsilon=epsilon, latent=32)
        audited = adept_published(lexicon, settings).numbers["true epsilon"]
        values = chosen(TABLE, "true_epsilon", label="adept", epsilon=epsilon)["value"]
        np.testing.assert_allclose(values, float(audited), rtol=1e-12)


def test_the_rows_name_both_corpora_and_the_paper_they_are_about() -> None:
    result = adept_rows(Figures(RECORDED))
    assert {row.paper for row in result} == {"Krishna et al. 2021", "Habernal 2021"}
    assert sum("ATIS" in row.ours and "SNIPS" in row.ours for row in result) >= 7
