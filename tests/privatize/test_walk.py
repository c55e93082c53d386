"""The walk through NIST SP 800-226: each answer follows from the record, and none from its gaps."""

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpcore.audit.composition import composition
from dpcore.guarantee import Status
from dpcore.lexicon.catalogue import available, is_bundled, load
from dpcore.lexicon.metric import Metric
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_most, without_noise
from dpcore.privatize.order import Order, record_of, run_state
from dpcore.privatize.walk import PARTS, SECTIONS, Met, Row, tally, walk, walk_dict
from dpcore.rewrite.documents import AuthorSizes
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.tables.csv_files import CommaSeparated
from dpcore.tables.files import Columns
from dpcore.tables.shape import Shape
from dpcore.written import Filled, Templates
from tests.needs import ROOT
from tests.translations import extracted

LENGTHS = {2: 5, 10: 3, 40: 1}
JUDGED = ("epsilon", "text", "definition", "delta", "proof", "unknown", "assumptions")
"""Rows that can be met only if the guarantee holds."""
OPTIONAL = {"composed_median"}
"""Fields that add to an answer and decide none: an older record lacks them."""
WRONG: tuple[Any, ...] = (
    None, True, "", "x", -1, 0, math.inf, math.nan, 10**400, 0.5, [], [1], {}, [[]],
)  # fmt: skip
RISK = {"column": "mail", "risk": "addresses", "dangerous": True, "count": 9, "filled": 9}


def record(
    short: str = "k-ary",
    epsilon: float = 0.5,
    *,
    settings: dict[str, Any] | None = None,
    unknown: str = "replace",
    **more: Any,
) -> dict[str, Any]:
    """The record of a release, as `privatize` would write it."""
    columns = {name: more.pop(name) for name in ("keep", "original") if name in more}
    mechanism = create(short, load("default"), settings)
    paths = Path("in.csv"), Path("out.csv")
    order = Order(
        *paths,
        mechanism,
        epsilon,
        Columns(**columns),
        Treatment(UnknownWordPolicy(unknown)),
        **more,
    )
    state = run_state(order, CommaSeparated(Shape("csv"))) | {"run": "0123456789abcdef"}
    if columns.get("keep"):
        state["kept"] = [RISK | {"statement": "the kept column mail: addresses (9 of 9 cells)"}]
    # Through JSON, as `doctor` reads it.
    return dict(json.loads(json.dumps(record_of(order, state, LENGTHS))))


def by_key(facts: dict[str, Any]) -> dict[str, Row]:
    return {row.key: row for row in walk(facts)}


def paths(value: Any, before: str = "") -> Iterator[str]:
    """Every field of a record, those within fields too, by dotted name."""
    for name, inner in value.items():
        yield before + name
        if isinstance(inner, dict):
            yield from paths(inner, f"{before}{name}.")


def changed(facts: dict[str, Any], name: str, *value: Any) -> dict[str, Any]:
    """A record without a field, or with another value of it."""
    other = copy.deepcopy(facts)
    *folders, last = name.split(".")
    place = other
    for folder in folders:
        place = place[folder]
    place.pop(last)
    if value:
        place[last] = value[0]
    return other


AUTHORS = AuthorSizes(3, 2, 50)
RECORDS: dict[str, dict[str, Any]] = {
    "pure": {},
    "strong for an author": {"epsilon": 0.05, "authors": AUTHORS},
    "weak": {"epsilon": 8.0},
    "metric": {"short": "tem", "epsilon": 2.0},
    "approximate": {"short": "gaussian", "epsilon": 5.0},
    "refuted": {"short": "adept", "epsilon": 5.0},
    "conditional": {"short": "custext", "epsilon": 0.01},
    "kept columns": {"keep": ("mail",)},
    "with the originals": {"original": True},
    "a seed": {"seed": 3},
    "masked": {"unknown": "mask"},
    "dropped": {"unknown": "drop"},
    "refused words": {"unknown": "reject"},
}
"""Releases that differ in one thing each."""
CHANGES = {
    "strong for an author": {"author", "epsilon", "text", "again", "parameters", "tuning"},
    "weak": {"epsilon", "text", "again", "parameters", "tuning"},
    "metric": {"definition", "epsilon", "proof", "text", "parameters", "rounding"},
    "approximate": {"delta", "definition", "proof", "epsilon", "rounding"},
    "refuted": {"definition", "delta", "epsilon", "proof", "assumptions", "text", "unknown"},
    "conditional": {"definition", "delta", "proof", "assumptions", "unknown"},
    "kept columns": {"columns", "public"},
    "with the originals": {"columns", "further", "public", "randomness", "security"},
    "a seed": {"randomness"},
    "masked": {"unknown", "bias", "public"},
    "dropped": {"unknown", "bias", "public"},
    "refused words": {"unknown", "bias", "timing", "public"},
}
"""Rows whose answers must differ from those of the first release."""


@pytest.mark.parametrize("name", list(CHANGES))
def test_answers_follow_the_record(name: str) -> None:
    first, other = by_key(record()), by_key(record(**RECORDS[name]))
    # Another composed ε may or may not be seen in its digits: these must be, others may.
    differ = {key for key in first if first[key] != other[key]}
    assert CHANGES[name] <= differ
    assert "left" in differ or name in {"metric", "approximate", "weak"}


def test_every_row_has_a_record_that_changes_its_answer() -> None:
    base = record()
    changes = [record(**RECORDS[name]) for name in CHANGES]
    changes += [
        changed(base, "documents", 12),
        changed(base, "protected_words", 81),
        changed(base, "version", "9.9"),
        changed(base, "lexicon", "mine"),
    ]
    first = by_key(base)
    seen = {
        key for other in map(by_key, changes) for key, row in other.items() if row != first[key]
    }
    assert seen == set(first)


@pytest.mark.parametrize("name", list(RECORDS))
def test_a_row_depends_on_the_facts_that_it_names_and_is_not_met_without_them(name: str) -> None:
    base = record(**RECORDS[name])
    first = by_key(base)
    met = 0
    for field in paths(base):
        other = by_key(changed(base, field))
        for key, row in first.items():
            if key == "left":
                continue
            # A whole field, with all that is in it, or a setting of the mechanism.
            asked = any(fact == field or fact.startswith(f"{field}.") for fact in row.facts) or (
                field.startswith("parameters.") and "parameters" in row.facts
            )
            if not asked:
                assert other[key] == row, (field, key)
            elif row.met is Met.YES and field.split(".")[0] not in OPTIONAL:
                assert other[key].met is not Met.YES, (field, key)
                met += 1
            elif row.met is Met.UNKNOWN and not (name == "a seed" and field == "seed"):
                assert other[key].met is not Met.YES, (field, key)
    assert met or name == "refuted"


def test_nothing_is_met_by_an_empty_record_or_one_of_other_types() -> None:
    for row in walk({}):
        assert row.met is not Met.YES
    assert {row.met for row in walk({})} == {Met.NO, Met.UNKNOWN, None}
    assert [row.key for row in walk({}) if row.met is Met.NO] == ["parameters"]
    base = record(authors=AUTHORS)
    for field in paths(base):
        for value in WRONG:
            rows = walk(changed(base, field, value))
            assert len(rows) == len(by_key(base))
            json.dumps(walk_dict(rows))
        for value in (None, math.nan, math.inf):
            other = by_key(changed(base, field, value))
            for key, row in by_key(base).items():
                if field in row.facts and row.met is Met.YES:
                    assert other[key].met is not Met.YES or field.split(".")[0] in OPTIONAL


def test_what_is_stated_is_what_was_computed() -> None:
    lexicon = load("default")
    for short, epsilon in (("tem", 2.0), ("k-ary", 0.5), ("gaussian", 5.0), ("madlib", 9.0)):
        mechanism = create(short, lexicon)
        guarantee = mechanism.guarantee(epsilon)
        rows = by_key(record(short, epsilon))
        most = mechanism.loss_bounds(guarantee).promised
        said = at_most(without_noise(most))
        assert said in rows["epsilon"].answer[0]
        assert math.isclose(float(said), most, rel_tol=1e-3)
        whole = composition(mechanism, epsilon, 40)
        assert f"has ε = {at_most(whole.epsilon)}" in rows["text"].answer[0]
        assert f"ε = {at_most(2 * whole.epsilon)}" in rows["again"].answer[1]
        half = composition(mechanism, epsilon, 2)
        assert f"and ε = {at_most(half.epsilon)}" in rows["text"].answer[1]
        assert (rows["definition"].met is Met.NO) == (guarantee.kind == "metric")
        if guarantee.kind == "metric":
            assert f"ε = {said} only" in rows["definition"].answer[1]
        assert guarantee.reason in rows["proof"].answer
        assert str(80) in rows["lengths"].answer[0]
    author = by_key(record("tem", 2.0, authors=AUTHORS))["author"]
    all_of_it = composition(create("tem", lexicon), 2.0, AUTHORS.words)
    assert "more than 2 texts and 50 protected words" in author.answer[0]
    assert f"ε = {at_most(all_of_it.epsilon)}" in author.answer[0]
    assert author.met is Met.NO


@pytest.mark.parametrize(
    ("epsilon", "met"), [(0.1, Met.YES), (0.999, Met.YES), (1.0, Met.NO), (5.0, Met.NO)]
)
def test_epsilon_is_small_below_one(epsilon: float, met: Met) -> None:
    assert by_key(record("k-ary", epsilon))["epsilon"].met is met


def test_a_metric_epsilon_is_judged_between_the_farthest_words() -> None:
    lexicon = load("default")
    farthest = create("tem", lexicon).loss_bounds(create("tem", lexicon).guarantee(1.0)).promised
    assert farthest > 2
    assert by_key(record("madlib", 0.9))["epsilon"].met is Met.NO
    small = by_key(record("madlib", 0.9 / farthest))
    assert small["epsilon"].met is Met.YES
    assert small["definition"].met is Met.NO


def test_a_guarantee_that_may_not_hold_meets_nothing() -> None:
    for status, allowed in ((Status.REFUTED, {Met.NO}), (Status.CONDITIONAL, {*Met} - {Met.YES})):
        base = changed(record("k-ary", 0.01, authors=AUTHORS), "guarantee.status", str(status))
        rows = by_key(base)
        assert {rows[key].met for key in JUDGED} <= allowed
        assert rows["author"].met in allowed
    proved = by_key(record("k-ary", 0.01, authors=AUTHORS))
    assert {proved[key].met for key in (*JUDGED, "author")} == {Met.YES}
    certified = by_key(changed(record(), "guarantee.status", str(Status.CERTIFIED)))
    assert certified["proof"].met is Met.YES
    other = by_key(changed(record(), "guarantee.status", "trusted"))
    assert {other[key].met for key in JUDGED} == {Met.UNKNOWN}


def test_delta_is_compared_with_the_number_of_words() -> None:
    base = record("gaussian", 5.0, settings={"delta": 1e-5})
    assert by_key(base)["delta"].met is Met.YES
    assert "that is 1e-05 for 80 protected words" in by_key(base)["delta"].answer[1]
    # 1/n² of 317 words is below 10⁻⁵, that of 316 is not.
    assert by_key(changed(base, "protected_words", 316))["delta"].met is Met.YES
    assert by_key(changed(base, "protected_words", 317))["delta"].met is Met.NO
    weak = record("gaussian", 5.0, settings={"delta": 1.1e-5})
    assert by_key(weak)["delta"].met is Met.NO


def test_a_lexicon_of_others_is_not_taken_for_a_public_one() -> None:
    lexicon = load("default")
    for metric in Metric:
        assert is_bundled(lexicon.with_metric(metric).fingerprint)
    assert all(
        is_bundled(each.manifest.facts["fingerprint"])
        for each in available()
        if each.bundled and "fingerprint" in each.manifest.facts
    )
    own = changed(record(), "fingerprint", "0" * 64)
    row = by_key(own)["assumptions"]
    assert row.met is Met.UNKNOWN
    assert row.advice == "Make sure that the lexicon was not made from private texts."


def test_lines_have_no_column_and_a_kept_one_brings_its_findings() -> None:
    lines = by_key(changed(record(), "format", "text lines"))["columns"]
    assert lines.met is Met.YES
    assert lines.answer == ("Yes: there are no columns. The names of the files are public.",)
    kept = by_key(record(keep=("mail",)))["columns"]
    assert kept.met is Met.NO
    assert kept.answer == ("No: the cells of “mail” are released as they are.",)
    assert kept.points == ("the kept column mail: addresses (9 of 9 cells)",)


def test_experiments_are_never_to_be_released() -> None:
    for more in ({"seed": 3}, {"original": True}):
        left = walk(record(**more))[-1]
        assert "Never release this file: it is an experiment." in left.points
        assert by_key(record(**more))["randomness"].met is not Met.YES


def test_rows_stand_in_the_order_of_the_sections_and_are_counted() -> None:
    rows = walk(record())
    sections = [row.section for row in rows]
    assert sections[:-1] == sorted(sections[:-1])
    assert set(sections[:-1]) == set(SECTIONS)
    assert {row.part for row in rows} == set(PARTS)
    assert rows[-1].met is None
    advised = [row.advice for row in rows if row.met in (Met.NO, Met.UNKNOWN)]
    assert all(advised)
    assert rows[-1].points == tuple(dict.fromkeys(advised))
    assert len({row.key for row in rows}) == len(rows)
    told = walk_dict(rows)
    assert sum(told["counts"].values()) == len(rows) - 1
    assert tally(rows).startswith(
        f"Of {len(rows) - 1} questions {told['counts']['met']} are met, "
        f"{told['counts']['not met']} are not"
    )
    assert "doi:10.6028/NIST.SP.800-226" in told["publication"]
    assert "Near, Darais, Lefkovitz, Howarth 2025" in told["publication"]


@pytest.mark.parametrize("name", list(RECORDS))
def test_a_page_finds_the_template_of_every_sentence(name: str) -> None:
    templates = Templates(extracted(ROOT / "dpcore/privatize/walk.py"))
    more = {"authors": AUTHORS} | RECORDS[name]
    for facts in (record(**more), {}):
        for row in walk(facts):
            for sentence in (row.question, *row.answer, *filter(None, [row.advice])):
                if isinstance(sentence, Filled):
                    found = templates.sentence(str(sentence))
                    assert found is not None, sentence
                    assert found.template == sentence.template
