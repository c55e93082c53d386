"""Writers beside mechanisms for words: utility at one ε of the whole text."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from dpcore.audit.composition import composition
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours import writers
from dpcore.papers.ours.writers import ARMS, STUDY, TEXTS, TOTALS, measure_writer
from dpcore.rewrite.sentence import prepare
from dpcore.study.plan import Row
from dpcore.study.recorded import Recorded, read_recorded
from dpcore.study.runner import Sources, gather

LEAVES = {("cosine", ""), ("kept", ""), ("accuracy", "sentiment"), ("accuracy", "topic")}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    (name,) = STUDY.plan.lexicons
    return gather(STUDY.plan, tmp_path_factory.mktemp("writers"), lexicons={name: load()})


@pytest.fixture(scope="module")
def record() -> Recorded:
    return read_recorded(STUDY.name)


def _measured(sources: Sources, label: str, **sizes: Any) -> list[Row]:
    (cell,) = (cell for cell in STUDY.plan.cells() if cell.label == label)
    options = tuple((key, sizes.get(key, value)) for key, value in cell.options)
    return measure_writer(dataclasses.replace(cell, options=options), sources)


def _value(rows: list[Row], epsilon: float | None) -> dict[tuple[str, str], float]:
    return {
        (each["quantity"], each["variant"]): each["value"]
        for each in rows
        if each["epsilon"] == epsilon
    }


@pytest.mark.full
def test_a_text_as_it_was_written_keeps_its_words_and_its_meaning(sources: Sources) -> None:
    rows = _measured(sources, "as written", texts=3)
    value = _value(rows, None)
    assert set(value) == LEAVES | {("majority", "sentiment"), ("majority", "topic")}
    assert value["cosine", ""] == pytest.approx(1.0)
    assert value["kept", ""] == 1.0


@pytest.mark.full
def test_a_mechanism_that_changes_nothing_keeps_all_words_and_one_that_knows_nothing_none(
    sources: Sources,
) -> None:
    rows = _measured(sources, "k-ary", texts=3, totals=(1e-3, 1e5))
    nothing, everything = _value(rows, 1e-3), _value(rows, 1e5)
    assert everything["kept", ""] == 1.0 > 0.2 > nothing["kept", ""]
    assert everything["cosine", ""] > nothing["cosine", ""]
    assert all(each["low"] <= each["value"] <= each["high"] for each in rows)


def test_the_whole_text_has_the_epsilon_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon, asked = load(), []

    class Watched:
        def __init__(self, mechanism: Any) -> None:
            self.mechanism = mechanism

        def sample(self, rng: Any, words: Any, epsilon: float) -> Any:
            asked.append(epsilon)
            return self.mechanism.sample(rng, words, epsilon)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.mechanism, name)

    text = "The nurse was kind and the garden quiet."
    for name in ("k-ary", "tem"):
        monkeypatch.setattr(writers, "create", lambda *given: Watched(create(*given)))
        writers._of_words(name, lexicon, 1)(text, 300.0, 0)
        words = prepare(text, lexicon).protected
        assert composition(create(name, lexicon), asked.pop(), words).total == pytest.approx(300.0)


def test_a_word_is_kept_as_often_as_it_stands_in_both() -> None:
    assert writers._kept([4, -1, 4, 7], [7, 7, 4]) == pytest.approx(2 / 3)
    assert writers._kept([4, 7], []) == 0.0


def test_the_record_is_of_the_plan(record: Recorded) -> None:
    table = record.table
    assert set(table["label"]) == {arm.label for arm in ARMS}
    for label, rows in table.groupby("label"):
        totals = {math.inf if math.isnan(e) else e for e in rows["epsilon"]}
        assert totals == ({math.inf} if label == "as written" else set(TOTALS))
        for _, some in rows.groupby("epsilon", dropna=False):
            keys = set(zip(some["quantity"], some["variant"], strict=True))
            assert {key for key in keys if key[0] != "majority"} == LEAVES
    assert set(table["count"]) == {TEXTS}


def test_more_epsilon_leaves_more(record: Recorded) -> None:
    kept = record.table[record.table["quantity"] == "kept"].dropna(subset=["epsilon"])
    for _, rows in kept.groupby("label"):
        ordered = rows.sort_values("epsilon")["value"].tolist()
        assert ordered[-1] > ordered[0]


@pytest.mark.slow
def test_a_cell_of_the_record_comes_out_again(sources: Sources, record: Recorded) -> None:
    (total, *_) = TOTALS
    value = _value(_measured(sources, "k-ary", totals=(total,)), total)
    there = record.table
    there = there[(there["label"] == "k-ary") & (there["epsilon"] == total)]
    assert value == {
        (quantity, variant): pytest.approx(recorded, abs=1e-5)
        for quantity, variant, recorded in zip(
            there["quantity"], there["variant"], there["value"], strict=True
        )
    }


def rendered(record: Recorded) -> list[str]:
    """The table of `docs/writers.md`."""
    titles = {
        ("cosine", ""): "meaning",
        ("kept", ""): "words kept",
        ("accuracy", "sentiment"): "sentiment",
        ("accuracy", "topic"): "topic",
    }
    lines = [
        f"| | ε of the text | {' | '.join(titles.values())} |",
        "|---|---:|" + "---:|" * len(titles),
    ]
    shown = record.table[record.table["quantity"] != "majority"]
    names = ("label", "epsilon", "quantity", "variant", "value", "low", "high")
    rows: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for label, epsilon, quantity, variant, *values in zip(*(shown[n] for n in names), strict=True):
        row = rows.setdefault((label, "" if math.isnan(epsilon) else f"{epsilon:g}"), {})
        row[quantity, variant] = "{:.2f} [{:.2f}, {:.2f}]".format(*values)
    for first, cells in rows.items():
        lines.append(f"| {' | '.join((*first, *(cells[key] for key in titles)))} |")
    return lines


def test_the_page_has_the_recorded_table(record: Recorded) -> None:
    page = (Path(__file__).parents[3] / "docs/writers.md").read_text(encoding="utf-8")
    assert "\n".join(rendered(record)) in page
