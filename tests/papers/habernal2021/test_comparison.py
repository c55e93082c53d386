"""Statements about ADePT in the comparison, as inequalities between recorded numbers."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpcore.audit.report import AuditSettings
from dpcore.errors import ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.clipped.adept import FORMS
from dpcore.papers.habernal2021.claims import adept_published
from dpcore.papers.habernal2021.comparison import (
    COLUMNS,
    DISTRIBUTIONS,
    GEOMETRY_COLUMNS,
    Coordinates,
    adept_rows,
    clipped_distances,
    exceeding_pairs,
    two_dimensions,
)
from dpcore.study.recorded import Figures, read_recorded
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import baseline, curves
from tests.fixtures import MakeRng

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


# Figure 1 of Habernal 2021 against plain clipping, formulas, and bounds that nothing exceeds.
#
# False-alarm probability of each randomised assertion: 1e-6.


PAIRS = 4_000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return exceeding_pairs(np.random.default_rng(1), (1, 2, 4, 8, 16, 24, 32, 178, 200), PAIRS)


def share(table: pd.DataFrame, name: str, n: int, clipping: str = "L2") -> Any:
    rows = table[(table["distribution"] == name) & (table["clipping"] == clipping)]
    return rows[rows["dimension"] == n].iloc[0]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scale", [0.05, 0.4, 3.0])
def test_distances_equal_plain_clipping(order: int, scale: float, rng: MakeRng) -> None:
    x, y = rng().standard_normal((2, 12, 50)) * scale
    dimensions = [1, 2, 5, 12]
    for clipped_distance, n in zip(
        clipped_distances(x, y, dimensions, order), dimensions, strict=True
    ):
        for i in range(50):
            a, b = (v[:n, i] / max(1.0, np.linalg.norm(v[:n, i], ord=order)) for v in (x, y))
            assert clipped_distance[i] == pytest.approx(np.abs(a - b).sum(), rel=1e-12)


def test_the_control_never_exceeds_and_the_root_of_n_bounds_the_rest(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == COLUMNS
    control = table[table["clipping"] == "L1"]
    assert not control["exceeding"].any()
    assert control["largest"].max() <= 1.0
    clipped = table[table["clipping"] == "L2"]
    assert np.all(clipped["largest"] <= np.sqrt(clipped["dimension"]) * (1 + 1e-12))
    assert np.all((table["low"] <= table["share"]) & (table["share"] <= table["high"]))


@pytest.mark.parametrize("kind", DISTRIBUTIONS[1:])
def test_normal_vectors_agree_with_the_formula(table: pd.DataFrame, kind: Coordinates) -> None:
    """Within chance, and the error of the expansion: of order 1/n, here below 0.005."""
    compared = 0
    for n in (1, 16, 24, 32, 178, 200):
        expected = kind.expected(n)
        if math.isnan(expected):
            continue
        compared += 1
        result = share(table, kind.name, n)
        assert result["expected"] == expected
        limit = stats.norm.isf(1e-6 / 2) * math.sqrt(expected * (1 - expected) / PAIRS)
        assert abs(result["share"] - expected) <= limit + 0.005
    assert compared >= 4


def test_half_of_the_normal_pairs_exceed_at_root_pi_over_sigma() -> None:
    for kind in DISTRIBUTIONS[1:]:
        assert kind.deviation is not None
        crossing = math.sqrt(math.pi) / kind.deviation
        assert kind.expected(math.floor(crossing) - 1) < 0.5 < kind.expected(math.ceil(crossing))


def test_uniform_vectors_in_two_dimensions(table: pd.DataFrame) -> None:
    """Half a million other pairs, clipped plainly: the share is 0.138, standard error 0.0005."""
    x, y = np.random.default_rng(5).uniform(-1, 1, (2, 500_000, 2))
    x, y = (v / np.maximum(1.0, np.linalg.norm(v, axis=1))[:, None] for v in (x, y))
    expected = float((np.abs(x - y).sum(axis=1) > 2).mean())
    assert expected == pytest.approx(0.138, abs=0.003)
    result = share(table, DISTRIBUTIONS[0].name, 2)["share"]
    deviation = math.sqrt(expected * (1 - expected) * (1 / PAIRS + 1 / 500_000))
    assert abs(result - expected) <= stats.norm.isf(1e-6 / 2) * deviation


def test_uniform_vectors_in_one_dimension_are_covered(table: pd.DataFrame) -> None:
    assert share(table, DISTRIBUTIONS[0].name, 1)["exceeding"] == 0
    assert share(table, DISTRIBUTIONS[0].name, 1)["expected"] == 0


def test_the_picture_in_two_dimensions() -> None:
    shapes = two_dimensions()
    assert tuple(shapes.columns) == GEOMETRY_COLUMNS
    by = {name: rows[["x", "y"]].to_numpy() for name, rows in shapes.groupby("shape")}
    np.testing.assert_allclose(np.linalg.norm(by["disc"], axis=1), 1)
    np.testing.assert_allclose(np.abs(by["covered square"]).sum(axis=1), 1)
    np.testing.assert_allclose(np.abs(by["square around the disc"]).sum(axis=1), math.sqrt(2))
    pair = by["worst pair"]
    np.testing.assert_allclose(np.linalg.norm(pair, axis=1), 1)
    assert np.abs(pair[0] - pair[1]).sum() == pytest.approx(2 * math.sqrt(2))
    # No two points of the disc are farther apart.
    apart = np.abs(by["disc"][:, None] - by["disc"][None]).sum(axis=2)
    assert apart.max() <= 2 * math.sqrt(2) + 1e-12


def test_refusals(rng: MakeRng) -> None:
    for dimensions in ([], [0], [2_000]):
        with pytest.raises(ParameterError, match="dimensions"):
            exceeding_pairs(rng(), dimensions, 10)
    with pytest.raises(ParameterError, match="pairs"):
        exceeding_pairs(rng(), [2], 0)


def test_progress_ends_at_the_whole(rng: MakeRng) -> None:
    seen = []
    exceeding_pairs(rng(), [1, 2], 1_100, progress=lambda *a: seen.append(a))
    assert [done for _, done, _ in seen] == list(range(1, 10))
    assert {total for _, _, total in seen} == {9}
