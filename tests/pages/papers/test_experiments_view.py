"""Recorded experiments on the page Papers: rows, views, equal privacy, examples, damage."""

import dataclasses
import itertools
import subprocess
import sys
from typing import Any
from urllib.parse import parse_qs

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.errors import StudyError
from dpcore.papers.comparison import Agreement, agreement, comparison_rows
from dpcore.papers.ours.learning import RECORDS
from dpcore.papers.overview import PAPERS
from dpcore.papers.studies import EXPERIMENTS, STUDIES
from dpcore.plots.robust.shares import PRINTED
from dpcore.study import live
from pages.papers import experiments
from pages.shared import taking as shared_recorded
from pages.shared.taking import recorded as bundled_record
from tests.needs import ROOT
from tests.pages.app import component, figures, methods, open_link, shown_text

THERE = experiments.entries()
NAMES = [name for name in THERE if name in EXPERIMENTS and EXPERIMENTS[name].rewrites]
USUAL = "carvalho2021-figure-1"


def opened(**link: str) -> AppTest:
    return open_link("papers", **{"look": "experiments", **link})


def listed(test: AppTest) -> dict[str, dict[str, Any]]:
    groups = component(test, "listing")["groups"]
    return {row["key"]: row for group in groups for row in group["rows"]}


def with_curves() -> str:
    """An experiment with accuracy, attack and both kinds of mechanisms, if it is recorded."""
    return next(n for n in NAMES if n in {"teaching-corpus", USUAL})


@pytest.mark.slow
def test_it_opens_with_all_records_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "start_run", lambda *_: pytest.fail("a run was started"))
    test = opened()
    assert component(test, "listing")["chosen"] == USUAL
    assert set(listed(test)) == set(THERE)
    assert len(figures(test)) >= 2
    shown = shown_text(test)
    assert "95 % intervals of the mean over" in methods(test)
    assert "without privacy: " in methods(test)
    assert "recorded 2" in shown


@pytest.mark.slow
def test_each_row_says_how_near_it_comes_to_its_paper() -> None:
    rows = listed(opened())
    for name, row in rows.items():
        counts = agreement(comparison_rows(bundled_record(name)))
        assert row["figure"] == experiments.comes_to(counts)
        assert (row["word"] == "ours") == (counts.rows == 0) == (not THERE[name].source)
        assert row["paper"] in PAPERS
    assert rows[USUAL]["figure"].startswith("2 of 4 printed figures lie in our intervals")


def test_a_link_from_before_opens_its_experiment() -> None:
    test = open_link("papers", experiment="teaching-corpus", use_view="membership")
    assert component(test, "listing")["chosen"] == "teaching-corpus"
    assert "in 100 texts that were not used" in methods(test)
    test = open_link("papers", experiment="teaching-corpus", look="claims")
    assert "experiment" not in test.query_params
    assert component(test, "listing")["label"] == "Claims"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["teaching-corpus", "huang2024-tables-yelp", "trade-off"])
def test_the_python_cell_prints_what_the_page_shows(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    test = opened(experiment=name)
    test.session_state["taking"] = True
    cell = next(code.value for code in test.run().code if "read_recorded(" in code.value)
    capsys.readouterr()
    exec(cell, {})
    lines = capsys.readouterr().out.strip().split("\n")
    assert lines[0] == f"{THERE[name].title} {len(bundled_record(name).table)} rows"
    rows = comparison_rows(bundled_record(name))
    assert lines[1:-1] == [f"{r.quantity}: {r.in_paper}; here {r.ours}" for r in rows]
    assert lines[-1] == str(agreement(rows))
    assert THERE[name].command in shown_text(test)
    for key in PAPERS[experiments.paper_of(name)].cited:
        assert key in shown_text(test)


@pytest.mark.parametrize("name", [n for n in THERE if n.startswith("xu2021-")])
def test_an_experiment_of_xu_opens_with_its_curves_over_the_papers_values(name: str) -> None:
    drawn = figures(opened(experiment=name))
    assert len(drawn) == (2 if "tables" in name else 5)
    printed = [
        trace
        for figure in drawn
        for trace in figure["data"]
        if str(trace.get("name")).endswith((PRINTED, ", largest in the paper"))
    ]
    # Two columns of each of two tables, or the one level of Sw that the text of the paper states.
    assert len(printed) == (4 if "tables" in name else 1)
    hollow = {trace["marker"]["symbol"] for trace in printed if trace["mode"] != "lines"}
    assert {symbol.rpartition("-open")[2] for symbol in hollow} <= {"", "-dot"}


def test_numbers_that_are_printed_and_not_tested_are_said_to_be_so() -> None:
    untested = experiments.comes_to(Agreement(9, 0, 0, printed=2))
    assert untested == "9 numbers side by side; the paper's are not tested"
    assert "prints no number" in experiments.comes_to(Agreement(9, 0, 0, printed=0))


@pytest.mark.slow
def test_no_learner_is_loaded_for_the_first_view() -> None:
    program = (
        "import sys, pages.papers.experiments;"
        "from pages.shared.taking import recorded;"
        f"recorded({NAMES[0]!r}); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_record_has_its_views(name: str) -> None:
    test = opened(experiment=name)
    entry = THERE[name]
    views = ["Curves", "Frontier", "Membership", "Solve for ε"]
    views += ["Paper against measurement"] * bool(entry.source) + ["How it was made"]
    for view in views:
        test.session_state["use_view"] = view
        test.run()
        assert not test.exception, (view, test.exception)
    assert entry.command in shown_text(test)
    assert entry.sizes in shown_text(test)
    assert entry.lexicons[0]["fingerprint"][:16] in shown_text(test)


DRAWN_WITHOUT_A_CHOICE = {
    "trade-off", "leak", "left", "counted", "intervals", "redactors", "persons-facts", "reader",
    "reader-smollm2", "authors", "persons-authors", "writers", "adept2021-atis-snips",
    *itertools.chain(*RECORDS.values()),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in THERE if name not in NAMES])
def test_an_experiment_without_rewriting_leads_to_its_figures(name: str) -> None:
    source = THERE[name].source
    test = opened(experiment=name, use_view="papers" if source else "command")
    made = [] if source else ["Command", "How it was made"]
    assert [h.value for h in test.header] == [THERE[name].title, *made]
    assert ("The paper: " in shown_text(test)) == bool(source)
    (link,) = (e.proto for e in test.get("page_link") if e.proto.label == "Its curves and figures")
    view = {key: values[0] for key, values in parse_qs(link.query_string).items()}
    # The page of last resort draws studies of words alone.
    assert name in STUDIES or link.page != "curves"
    there = open_link(link.page, **view)
    assert not there.exception, there.exception
    titles = THERE[name].title, name
    choices = [box.value for box in there.selectbox]
    assert name in DRAWN_WITHOUT_A_CHOICE or set(titles) & {str(c) for c in choices}


def test_refuted_claims_are_named_beside_their_curves() -> None:
    name = "huang2024-figure-4-agnews"
    if name not in THERE:
        pytest.skip(f"{name} is not recorded")
    assert "refuted at some or all of these ε: gaussian-classical, trlaplace." in shown_text(
        opened(experiment=name)
    )
    assert "refuted at some" not in shown_text(opened(experiment="teaching-corpus"))


@pytest.mark.parametrize("how", ["nw", "auc", "loss"])
def test_mechanisms_are_compared_at_equal_privacy(how: str) -> None:
    test = opened(experiment=with_curves(), use_compare=how)
    titles = {figure["layout"]["xaxis"]["title"]["text"] for figure in figures(test)}
    wanted = {
        "nw": "Nw: share of words that stay",
        "auc": "attacker's AUC (0.5: guessing)",
        "loss": "largest proved loss between two words (nats)",
    }
    assert titles == {wanted[how]}


def test_the_smallest_epsilon_is_told_by_mechanism() -> None:
    test = opened(experiment=with_curves(), use_view="solve")
    before = shown_text(test)
    assert "tem: ε = " in before
    assert "Within 5 points of" in before
    test.number_input(key="use_within").set_value(0.0).run()
    assert "Within 0 points of" in shown_text(test)
    assert shown_text(test) != before


def test_the_attacker_is_drawn_on_logarithmic_axes() -> None:
    test = opened(experiment=with_curves(), use_view="membership")
    (figure,) = figures(test)
    assert figure["layout"]["xaxis"]["type"] == figure["layout"]["yaxis"]["type"] == "log"
    assert "in 100 texts that were not used" in methods(test)
    assert "no information below a false-positive rate" in shown_text(test)


def test_examples_of_a_record_are_those_of_the_chosen_classifier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = with_curves()
    record = bundled_record(name)
    row = record.table[record.table["quantity"] == "accuracy"].iloc[[0]]
    learner = row["learner"].iloc[0]
    texts = {"original": "![x](http://a.b)", "private": "a *b*", "true": "good", "guessed": "bad"}
    example = row.assign(label="madlib", epsilon=2.0, quantity="example", **texts)
    other = example.assign(learner="other", original="of another classifier")
    both = dataclasses.replace(record, examples=pd.concat([other, example], ignore_index=True))
    monkeypatch.setattr(shared_recorded, "recorded", lambda _: both)
    test = opened(
        experiment=name, use_view="examples", use_classifier=learner, use_labels=row["data"].iloc[0]
    )
    shown = shown_text(test)
    assert "![x](http://a.b) Its label: good" in shown
    assert "a *b* Classified as: bad" in shown
    assert "of another classifier" not in shown
    assert [text.value for text in test.text if text.value == texts["original"]]


def test_damage_is_said_and_the_claims_still_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> Any:
        raise StudyError("the manifest is damaged: record it again")

    monkeypatch.setattr(experiments, "read_bundled", damaged)
    test = opened()
    assert "record it again" in shown_text(test)
    test.segmented_control(key="look").set_value("claims").run()
    assert component(test, "listing")["label"] == "Claims"


def test_a_link_of_nonsense_shows_the_usual_view() -> None:
    link = {
        "use_view": "nowhere",
        "use_within": "much",
        "use_labels": "<b>",
        "use_compare": "never",
    }
    assert component(opened(experiment="no-such", **link), "listing")["chosen"] == USUAL
    assert component(opened(look="elsewhere"), "listing")["label"] == "Claims"


def test_what_is_chosen_comes_back_with_the_link() -> None:
    test = opened(experiment=with_curves())
    assert not {"use_drawn", "use_compare", "use_tested"} & set(test.query_params)
    test.pills(key="use_drawn").set_value(["nw", "rouge1"]).run()
    test.segmented_control(key="use_compare").set_value("auc").run()
    link = {name: test.query_params[name] for name in test.query_params}
    again = open_link("papers", **link)
    assert len(figures(again)) == len(figures(test)) == 2
    assert again.pills(key="use_drawn").value == ["nw", "rouge1"]
    nothing = open_link("papers", **link | {"use_drawn": ""})
    assert nothing.info[0].value.startswith("Choose at least one")
    nonsense = open_link("papers", **link | {"use_drawn": "<b>"})
    assert nonsense.pills(key="use_drawn").value[0] == "accuracy"
    view = opened(experiment=with_curves(), use_view="frontier", use_cost="nw")
    assert view.selectbox(key="use_cost").value == "nw"
