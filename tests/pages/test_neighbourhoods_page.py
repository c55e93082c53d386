"""The Neighbourhoods page under AppTest: two words, their numbers, choices, and refusals."""

import json
import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore import cli
from dpcore.lexicon import catalogue
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure import map_jobs
from dpcore.measure.density import vocabulary_density
from dpcore.measure.maps import DEFAULT_PAIR
from dpcore.measure.pair import Pair
from pages.neighbouring import bench as benches
from pages.neighbouring import measuring, session
from pages.shared import resources
from pages.shared.presets import CURVE_MECHANISMS
from tests.needs import ROOT

FEW = {"curve_metric": ["tem"], "curve_log": []}


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    def make(**state: object) -> AppTest:
        test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        test.switch_page("pages/neighbourhoods.py")
        for name, value in state.items():
            test.session_state[name] = value
        return test.run()

    return make


def figures(test: AppTest) -> list[dict[str, Any]]:
    assert not test.exception, test.exception
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def said(test: AppTest) -> str:
    return " ".join(str(element.value) for element in test.text)


def shown(test: AppTest) -> tuple[str, ...]:
    return tuple(metric.value for metric in test.metric)


def table(test: AppTest) -> Any:
    return next(d.value for d in test.dataframe if "attack_nearest" in d.value.columns)


def watch_sessions(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Hear of all that is measured, but not of the start's work in advance."""
    compare = benches.compare

    def watched(*given: Any, **more: Any) -> Any:
        if threading.current_thread().name != measuring.AHEAD:
            then()
        return compare(*given, **more)

    monkeypatch.setattr(benches, "compare", watched)


def test_it_opens_with_a_dense_and_a_sparse_word(opened: Callable[..., AppTest]) -> None:
    test = opened()
    assert shown(test) == DEFAULT_PAIR
    assert len(figures(test)) == 3
    facts = test.dataframe[0].value.set_index("fact")
    assert facts.loc["stratum"].tolist() == ["dense", "sparse"]
    rows = table(test)
    assert [name.split()[1] for name in rows["mechanism"]] == [
        mechanism for mechanism in CURVE_MECHANISMS for _ in (0, 1)
    ]
    assert rows["mark"].nunique() == len(CURVE_MECHANISMS)
    assert rows["word"].tolist() == list(DEFAULT_PAIR) * len(CURVE_MECHANISMS)
    assert "The same ε treats “monday” and “garage” most differently under" in said(test)
    assert {slider.key for slider in test.select_slider} == {"eps_metric", "eps_log"}


def test_a_step_of_the_slider_measures_nothing(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = opened(**FEW)
    before = table(test)
    points, mass = _map(figures(test)[0])
    asked: list[str] = []
    watch_sessions(monkeypatch, lambda: asked.append("measured"))
    test.select_slider(key="eps_metric").set_value(2.0).run()
    assert not test.exception
    assert not asked
    after = table(test)
    assert (after["nw"].astype(float) < before["nw"].astype(float)).all()
    assert set(after["epsilon"]) == {"2"}
    assert "at ε = 2: " in said(test)
    now_points, now_mass = _map(figures(test)[0])
    assert now_points == points
    assert now_mass != mass


def _map(figure: dict[str, Any]) -> tuple[str, str]:
    """What does not depend on ε, and what does."""
    traces = figure["data"]
    moving = [t for t in traces if t.get("marker", {}).get("sizemode") == "area"]
    return json.dumps([t for t in traces if t not in moving]), json.dumps(moving)


def test_a_pair_that_was_measured_ahead_is_not_measured_again(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "DEFAULT_PAIR", ("doctor", "violin"))
    words = resources.lexicon("default")
    done = threading.Thread(target=int)
    done.start()
    measuring.measure_ahead(words, [resources.mechanism(words, "tem.v1")], done).join()
    watch_sessions(monkeypatch, lambda: pytest.fail("measured"))
    test = opened(**FEW)
    assert shown(test) == ("doctor", "violin")
    assert len(figures(test)) == 3


def test_a_typed_word_is_found_and_chosen(opened: Callable[..., AppTest]) -> None:
    test = opened(**FEW)
    test.text_input(key="find_word").set_value("Doctor").run()
    assert not test.exception
    assert shown(test) == ("doctor", "garage")
    assert test.query_params["word"] == "doctor"
    test.text_input(key="find_other_word").set_value("hospit").run()
    assert shown(test) == ("doctor", "garage")
    assert "hospit" not in str(test.query_params)
    box = test.selectbox(key="match_other_word")
    assert "hospital" in box.options
    box.set_value("hospital").run()
    assert shown(test) == ("doctor", "hospital")
    assert test.query_params["other"] == "hospital"
    assert "“doctor”: the nearest word is" in said(test)


def test_a_word_that_is_not_there_gets_the_nearest_spellings(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(**FEW)
    test.text_input(key="find_word").set_value("hospitel").run()
    assert not test.exception
    assert shown(test) == DEFAULT_PAIR
    assert "did you mean 'hospital'" in said(test)
    assert "hospitel" not in str(test.query_params)


def test_the_same_word_twice_is_refused_with_a_sentence(opened: Callable[..., AppTest]) -> None:
    test = opened(word="city", other_word="city", **FEW)
    assert not test.exception
    assert len(test.error) == 1
    assert "two different words are needed" in said(test)
    assert not test.get("plotly_chart")
    assert len(test.text_input) == 2


def test_a_default_makes_room_for_the_chosen_word(opened: Callable[..., AppTest]) -> None:
    assert shown(opened(word="garage", **FEW)) == ("garage", "monday")
    assert shown(opened(other_word="monday", **FEW)) == ("garage", "monday")


def test_the_two_words_are_exchanged(opened: Callable[..., AppTest]) -> None:
    test = opened(word="city", **FEW)
    test.button(key="exchange").click().run()
    assert shown(test) == ("garage", "city")
    assert test.query_params["word"] == "garage"
    assert test.query_params["other"] == "city"


def test_a_word_of_a_typed_text_is_shown_but_not_in_the_link(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(word="nurse", pair_typed=frozenset({"word"}), more="Link and command", **FEW)
    assert shown(test) == ("nurse", "garage")
    assert "word" not in test.query_params
    assert "nurse" not in test.code[0].value
    assert "--word nurse" in test.code[1].value
    assert any("not put into the link" in element.value for element in test.markdown)


def test_a_typed_pair_enters_no_shared_cache(opened: Callable[..., AppTest]) -> None:
    test = opened(word="nurse", pair_typed=frozenset({"word"}), **FEW)
    assert not test.exception
    words = resources.lexicon("default")
    default = session.default_bench(words)
    assert default.pair.names == DEFAULT_PAIR
    held = [row for rows in list(default._rows.values()) for row in rows]
    assert {row["word"] for row in held} <= set(DEFAULT_PAIR)
    assert test.session_state["neighbouring_bench"][1].pair.names[0] == "nurse"


def test_the_table_holds_the_numbers_of_the_commands(
    opened: Callable[..., AppTest], capsys: pytest.CaptureFixture[str]
) -> None:
    test = opened(more="Link and command", curve_metric=["madlib", "tem"], curve_log=[])
    rows = table(test)
    lines = test.code[1].value.splitlines()
    assert len(lines) == 3 + 2 * 2
    for line in lines:
        assert line.startswith("python -m dpcore ")
        assert cli.main([*shlex.split(line)[3:], "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        if " neighbours " in line:
            near = test.dataframe[1 if "monday" in line else 2].value
            assert near["word"].tolist() == [row["word"] for row in answer["neighbours"]]
        for row in answer.get("rows", []):
            same = rows["mechanism"].str.endswith(" " + row["mechanism"].removesuffix(".v1"))
            here = rows[same & (rows["word"] == row["word"])].iloc[0]
            assert here["nw"].startswith(f"{row['nw']:.3g}")
            if "attack_low" in row:
                assert here["attack"].startswith(f"{row['attack_low']:.3f}")
                assert here["distance"].startswith(f"{row['output_distance']:.3g}")


def test_a_map_that_is_not_built_is_offered_and_pca_stands_in(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Job:
        done, error, cancelled = False, None, False

        def progress(self) -> tuple[float, str]:
            return 0.25, "Placing the words: about 3 s left"

        def cancel(self) -> None:
            self.cancelled = True

    job, asked = Job(), []
    monkeypatch.setattr(map_jobs, "start", lambda *a, **k: asked.append(a) or job)
    test = opened(word="doctor", other_word="violin", **FEW)
    assert "PCA of" in said(test)
    test.button(key="build_map").click().run()
    assert not test.exception
    assert [(str(a[1]), a[2]) for a in asked] == [
        ("densmap", tuple(resources.lexicon("default").indices(["doctor", "violin"]).tolist()))
    ]
    assert not any(button.key == "build_map" for button in test.button)
    test.button(key="stop_map").click().run()
    assert job.cancelled
    assert test.button(key="build_map")


def test_dense_and_sparse_words_are_listed(opened: Callable[..., AppTest]) -> None:
    test = opened(more="Dense and sparse words", **FEW)
    dense, sparse = (d.value for d in test.dataframe if "stratum" in d.value.columns)
    assert dense["distance"].is_monotonic_increasing
    assert sparse["distance"].is_monotonic_decreasing
    assert set(dense["stratum"]) == {"dense"}
    assert set(sparse["stratum"]) == {"sparse"}


def test_how_to_misread_the_map_is_told_in_numbers(opened: Callable[..., AppTest]) -> None:
    test = opened(more="How to misread the map", **FEW)
    kept = next(d.value for d in test.dataframe if "map" in d.value.columns)
    assert kept["map"].tolist() == ["densMAP", "UMAP", "PCA"]
    assert any("Gaps are no distances" in element.value for element in test.markdown)


def test_no_mechanism_is_a_hint(opened: Callable[..., AppTest]) -> None:
    test = opened(curve_metric=[], curve_log=[])
    assert not test.exception
    assert "Choose at least one mechanism" in test.info[0].value


def test_a_stop_keeps_what_is_there(opened: Callable[..., AppTest]) -> None:
    """The slow mechanism is measured a few ε at a time; half of its steps are taken away."""
    test = opened(curve_metric=["tem"], curve_log=[], word="doctor")
    bench = test.session_state["neighbouring_bench"][1]
    (key,) = bench._rows
    bench._rows.pop(key)
    bench._tables.clear()
    test.session_state["neighbouring_stopped"] = bench
    test.run()
    assert "Stopped" in test.warning[0].value
    assert len(figures(test)) == 2
    test.button(key="go_on_pair").click().run()
    assert not test.warning
    assert len(figures(test)) == 3


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_tiny_lexicon_has_numbers_and_a_clear_sentence_for_its_map(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int
) -> None:
    rows = np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)
    tiny = Lexicon("tiny", tuple(f"w{i}" for i in range(count)), rows)
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    monkeypatch.setattr(catalogue, "load", lambda *a, **k: tiny)
    resources.lexicon.clear()
    try:
        test = opened(**FEW)
        assert not test.exception
        assert shown(test) == ("w0", "w1")
        assert table(test)["word"].tolist() == ["w0", "w1"]
        assert [e.value for e in test.error] == ["There is no such map."]
        assert "too few" in said(test) or "at least" in said(test)
        assert len(figures(test)) == (2 if count == 2 else 3)  # PCA of three words or more
    finally:
        resources.lexicon.clear()


def test_words_are_no_markup(opened: Callable[..., AppTest]) -> None:
    test = opened(**FEW)
    test.text_input(key="find_word").set_value("**bold** <img src=x>").run()
    assert not test.exception
    rendered = [str(e.value) for kind in (test.markdown, test.error) for e in kind]
    assert not any("**bold**" in text or "<img" in text for text in rendered)


def test_shown_words_of_a_lexicon_without_the_default_pair() -> None:
    words = Lexicon("two", ("a", "b"), np.eye(2, dtype=np.float32))
    assert session.default_words(words) == ("a", "b")
    assert Pair.of(words, "a", "b").gaps == pytest.approx((2**0.5, 2**0.5))


def test_without_the_default_pair_the_densest_and_the_sparsest_word_begin(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    # On a line, so that δ is 3, 1, 1, 4, 50; “1st” is not alphabetic, hence not ordinary.
    rows = np.array([[0], [3], [4], [8], [58]], dtype=np.float32)
    words = Lexicon("line", ("far", "close", "near", "out", "1st"), rows)
    assert session.default_words(words) == ("far", "close")  # nothing is computed unasked
    vocabulary_density(words, 4)  # leaves the table of neighbours on the disk
    assert session.default_words(words) == ("close", "out")
    assert session.default_bench(words).pair.names == ("close", "out")
