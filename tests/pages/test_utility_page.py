"""The Utility page under AppTest: recorded experiments, runs of one's own, uploads, nonsense."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.errors import StudyError
from dpcore.limits import MAX_LABELLED_BYTES
from dpcore.study import live_jobs
from dpcore.study.executors import Serial
from dpcore.study.experiment_results import read_experiments
from dpcore.study.experiments import EXPERIMENTS
from pages.using import recorded
from tests.needs import ROOT
from tests.pages.app import figures
from tests.pages.app import open_page as open_app_page

OWN = "own"
PATIENCE = 120.0
THERE = {entry.name: entry for entry in read_experiments()}
NAMES = [name for name, one in EXPERIMENTS.items() if one.rewrites and name in THERE]


@pytest.fixture
def opened() -> Iterator[Callable[..., AppTest]]:
    recorded.recorded.clear()
    yield lambda **state: open_app_page("utility", **state)
    recorded.recorded.clear()


def said(test: AppTest) -> str:
    assert not test.exception, test.exception
    parts = (*test.text, *test.markdown, *test.subheader, *test.code, *test.error, *test.info)
    return " ".join(str(element.value) for element in parts)


def test_it_opens_with_a_record_and_starts_nothing(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_jobs, "start", lambda *_: pytest.fail("a run was started"))
    test = opened()
    assert test.selectbox(key="experiment").value == NAMES[0]
    assert len(figures(test)) >= 2
    assert "95 % intervals of the mean over" in said(test)
    assert "without privacy: " in said(test)
    assert "recorded 2" in said(test)


def test_no_learner_is_loaded_for_the_first_view() -> None:
    program = (
        "import sys, pages.using.views, pages.using.running;"
        "from pages.using.recorded import recorded;"
        f"recorded({NAMES[0]!r}); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.parametrize("name", NAMES)
def test_every_record_has_its_views(opened: Callable[..., AppTest], name: str) -> None:
    test = opened(experiment=name)
    entry = THERE[name]
    views = ["Curves", "Frontier", "Membership", "Solve for ε"]
    views += ["Paper against measurement"] * bool(entry.source) + ["Link and command"]
    for view in views:
        test.session_state["use_view"] = view
        test.run()
        assert not test.exception, (view, test.exception)
    assert entry.command in said(test)
    assert entry.sizes in said(test)
    assert entry.lexicons[0]["fingerprint"][:16] in said(test)


def with_curves() -> str:
    """An experiment with accuracy, attack and both kinds of mechanisms, if it is recorded."""
    return next(n for n in NAMES if n in {"teaching-corpus", "carvalho2021-figure-1"})


@pytest.mark.parametrize("how", ["nw", "auc", "loss"])
def test_mechanisms_are_compared_at_equal_privacy(opened: Callable[..., AppTest], how: str) -> None:
    test = opened(experiment=with_curves(), use_compare=how)
    titles = {figure["layout"]["xaxis"]["title"]["text"] for figure in figures(test)}
    wanted = {
        "nw": "Nw: share of words that stay",
        "auc": "attacker's AUC (0.5: guessing)",
        "loss": "largest proved loss between two words (nats)",
    }
    assert titles == {wanted[how]}


def test_the_smallest_epsilon_is_told_by_mechanism(opened: Callable[..., AppTest]) -> None:
    test = opened(experiment=with_curves(), use_view="Solve for ε")
    before = said(test)
    assert "tem: ε = " in before
    assert "Within 5 points of" in before
    test.number_input(key="use_within").set_value(0.0).run()
    assert "Within 0 points of" in said(test)
    assert said(test) != before


def test_the_attacker_is_drawn_on_logarithmic_axes(opened: Callable[..., AppTest]) -> None:
    test = opened(experiment=with_curves(), use_view="Membership")
    (figure,) = figures(test)
    assert figure["layout"]["xaxis"]["type"] == figure["layout"]["yaxis"]["type"] == "log"
    assert "in 100 texts that were not used" in said(test)
    assert "nothing is seen below a false-positive rate" in said(test)


def test_examples_of_a_record_are_those_of_the_chosen_classifier(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = with_curves()
    found = recorded.recorded(name)
    row = found.table[found.table["quantity"] == "accuracy"].iloc[[0]]
    learner = row["learner"].iloc[0]
    texts = {"original": "![x](http://a.b)", "private": "a *b*", "true": "good", "guessed": "bad"}
    one = row.assign(label="madlib", epsilon=2.0, quantity="example", **texts)
    other = one.assign(learner="other", original="of another classifier")
    both = dataclasses.replace(found, examples=pd.concat([other, one], ignore_index=True))
    monkeypatch.setattr(recorded, "recorded", lambda _: both)
    test = opened(
        experiment=name, use_view="Examples", use_classifier=learner, use_labels=row["data"].iloc[0]
    )
    shown = said(test)
    assert "![x](http://a.b) Its label: good" in shown
    assert "a *b* Read as: bad" in shown
    assert "of another classifier" not in shown
    assert [text.value for text in test.text if text.value == texts["original"]]


def test_damage_is_said_and_a_run_of_ones_own_still_works(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> Any:
        raise StudyError("the manifest is damaged: record it again")

    monkeypatch.setattr(recorded, "read_experiments", damaged)
    test = opened()
    assert "record it again" in said(test)
    assert "a run of your own works" in said(test)
    test.segmented_control(key="use_source").set_value(OWN).run()
    assert not test.exception


@pytest.mark.parametrize(
    "link",
    [
        {"experiment": "no-such", "use_view": "nowhere", "use_within": "much"},
        {"use_source": "elsewhere", "use_labels": "<b>", "use_compare": "never"},
        {"use_source": OWN, "use_trials": "99", "use_texts": "-1", "use_metric": "oracle"},
    ],
)
def test_a_link_of_nonsense_shows_the_usual_view(link: dict[str, str]) -> None:
    test = visited(**link)
    assert not test.exception, test.exception


def visited(**link: str | list[str]) -> AppTest:
    """The page as a link opens it."""
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    test.switch_page("pages/utility.py")
    for name, value in link.items():
        test.query_params[name] = value
    return test.run()


def test_what_is_chosen_comes_back_with_the_link(opened: Callable[..., AppTest]) -> None:
    test = opened(experiment=with_curves())
    assert not {"use_drawn", "use_compare", "use_tested"} & set(test.query_params)
    test.pills(key="use_drawn").set_value(["nw", "rouge1"]).run()
    test.segmented_control(key="use_compare").set_value("auc").run()
    link = dict(test.query_params)
    assert (link["use_drawn"], link["use_compare"]) == ("nw,rouge1", "auc")
    again = visited(**link)
    assert len(figures(again)) == len(figures(test)) == 2
    assert again.pills(key="use_drawn").value == ["nw", "rouge1"]
    assert visited(**link | {"use_drawn": ""}).info[0].value.startswith("Choose at least one")
    assert visited(**link | {"use_drawn": "<b>"}).pills(key="use_drawn").value[0] == "accuracy"
    view = {"experiment": with_curves(), "use_view": "frontier", "use_cost": "nw"}
    assert visited(**view).selectbox(key="use_cost").value == "nw"


def test_the_ends_of_epsilon_and_the_texts_come_with_a_link() -> None:
    link = {"use_source": OWN, "use_corpus": "topic", "use_metric": ["tem"]}
    test = visited(**link, use_ends_metric=["2", "9"])
    assert test.segmented_control(key="use_corpus").value == "topic"
    assert test.select_slider(key="use_ends_metric").value == (2.0, 9.0)
    test = visited(**link, use_ends_metric=["much"])
    assert test.select_slider(key="use_ends_metric").value == (1.4, 20.0)


SMALL = {
    "use_source": OWN,
    "use_metric": ["madlib"],
    "use_texts": 100,
    "use_steps": 2,
    "use_trials": 2,
    "use_attack": False,
}


def test_a_run_is_started_watched_and_shown(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, runs = live_jobs.start, []

    def here(live: Any) -> Any:
        runs.append(start(live, Serial))
        return runs[-1]

    monkeypatch.setattr(live_jobs, "start", here)
    test = opened(**SMALL)
    assert [b.key for b in test.button if b.key == "use_start"]
    test.button(key="use_start").click().run()
    assert runs[0].wait(PATIENCE)
    test.run()
    shown = said(test)
    assert "Teaching corpus: sentiment: 100 texts, 2 trials, classifier averaged" in shown
    assert len(figures(test)) == 2
    test.session_state["use_view"] = "Examples"
    assert "Read as: " in said(test.run())
    test.session_state["use_view"] = "Link and command"
    command = next(code.value for code in test.run().code if "utility" in code.value)
    assert command.startswith("python -m dpcore utility --labels sentiment --mechanism madlib")
    assert "--texts 100 --trials 2" in command
    test.session_state["use_view"] = "Solve for ε"
    assert "madlib: " in said(test.run())


def test_a_stop_keeps_the_parts_that_are_done(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Job:
        done, stopped, error, finished, rows, examples = False, False, None, 0, (), ()

        def progress(self) -> tuple[float, str]:
            return 0.25, "1 of 4 parts done after 9 s, about 27 s left"

        def stop(self) -> None:
            self.done = self.stopped = True

        def wait(self, seconds: float) -> bool:
            return self.done

    job = Job()
    monkeypatch.setattr(live_jobs, "start", lambda live: job)
    test = opened(**SMALL)
    test.button(key="use_start").click().run()
    assert not test.exception
    test.button(key="use_stop").click().run()
    assert job.stopped
    assert "Stopped after 0 of 4 parts." in said(test)
    test.button(key="use_start").click().run()  # and may be run again
    job.done, job.stopped, job.error = True, False, "a worker ran out of memory"
    assert "a worker ran out of memory" in said(test.run())


def test_without_a_mechanism_it_says_what_to_do(opened: Callable[..., AppTest]) -> None:
    test = opened(use_source=OWN, use_metric=[], use_log=[], use_local=[])
    assert "Choose at least one mechanism" in said(test)


def test_an_epsilon_that_no_mechanism_has_is_refused(opened: Callable[..., AppTest]) -> None:
    test = opened(**SMALL | {"use_metric": ["truncated-gumbel-repaired"]})
    test.select_slider(key="use_ends_metric").set_value((0.1, 0.2)).run()
    assert "truncated-gumbel-repaired has no ε between these two ends" in said(test)
    test.button(key="use_start").click().run()
    assert "at least one mechanism, with an ε that it has" in said(test)


def upload(test: AppTest, data: bytes) -> AppTest:
    test.segmented_control(key="use_corpus").set_value("uploaded").run()
    test.file_uploader(key="use_file").upload("own.csv", data, "text/csv")
    return test.run()


ROWS = "\n".join(f"text number {i},{'*good*' if i % 2 else 'bad'}" for i in range(40))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"words,kind\na,x\nb,y\nc,x", "needs at least 10 different texts"),
        (b"words,kind\n" + b"".join(b"a%d,same\n" % i for i in range(30)), "at least two classes"),
        ("w,k\nzu groß,ja".encode("latin-1"), "not UTF-8"),
        (b"only one column\na\nb", "at least two columns"),
        (b"a,b\n" + b"x" * MAX_LABELLED_BYTES, "larger than"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(
    opened: Callable[..., AppTest], data: bytes, reason: str
) -> None:
    test = upload(opened(**SMALL), data)
    assert "This table cannot be used." in said(test)
    assert reason in said(test)
    assert test.button(key="use_start").disabled


def test_a_table_is_used_and_stays_out_of_link_and_command(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = []

    class Job:
        done, stopped, error, finished, examples = True, False, None, 1, ()
        rows: tuple[dict[str, Any], ...] = ()

    def start(live: Any) -> Job:
        from dpcore.study.live import perform

        lives.append(live)
        job = Job()
        job.rows = tuple(perform(live.jobs()[0])["rows"])
        return job

    monkeypatch.setattr(live_jobs, "start", start)
    test = upload(opened(**SMALL), f"words,kind\n{ROWS}\n,bad\n".encode())
    assert "41 rows; left out: 1 without text or label, 0 repeated. Used: 40 texts" in said(test)
    test.button(key="use_start").click().run()
    assert lives[0].texts.classes == ("*good*", "bad")
    test.session_state["use_view"] = "Link and command"
    shown = said(test.run())
    assert "--file FILE.csv --text-column TEXT --label-column LABEL" in shown
    assert "text number" not in shown
    assert "Your table is not in the link" in shown
