"""The maps of the page Words: missing ones, misreading, tiny lexicons, dense words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon import catalogue
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.maps import jobs as map_jobs
from pages.shared import session
from pages.words.maps import WHOLE
from tests.pages.app import component, open_link, shown_text
from tests.pages.words.reading import FEW, panes, shown, table


def test_a_map_that_is_not_built_is_offered_and_pca_stands_in(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Job:
        done, error, stopped = False, None, False

        def progress(self) -> tuple[float, str]:
            return 0.25, "Placing the words: about 3 s left"

        def stop(self) -> None:
            self.stopped = True

    job = Job()
    asked: list[Any] = []

    def start(*given: Any, **_: Any) -> Job:
        asked.append(given)
        return job

    monkeypatch.setattr(map_jobs, "start", start)
    test = opened(word="doctor", other_word="violin", drawn_as="densMAP", **FEW)
    assert component(test, "panes")["map"]["name"] == "PCA"
    test.button(key="build_map").click().run()
    assert not test.exception
    assert [(str(a[1]), a[2]) for a in asked] == [
        ("densmap", tuple(session.lexicon("default").indices(["doctor", "violin"]).tolist()))
    ]
    assert not any(button.key == "build_map" for button in test.button)
    test.button(key="stop_map").click().run()
    assert job.stopped
    assert test.button(key="build_map")


def test_dense_and_sparse_words_are_listed(opened: Callable[..., AppTest]) -> None:
    test = opened(more="Dense and sparse words", **FEW)
    dense, sparse = (d.value for d in test.dataframe if "stratum" in d.value.columns)
    assert dense["distance"].is_monotonic_increasing
    assert sparse["distance"].is_monotonic_decreasing
    assert set(dense["stratum"]) == {"dense"}
    assert set(sparse["stratum"]) == {"sparse"}


def test_how_to_misread_the_map_is_told_in_numbers(opened: Callable[..., AppTest]) -> None:
    test = opened(more="How the map can mislead", **FEW)
    kept = next(d.value for d in test.dataframe if "map" in d.value.columns)
    assert kept["map"].tolist() == ["densMAP", "UMAP", "PCA"] * 2
    assert kept["words"].tolist() == [122] * 3 + [25_000] * 3
    assert any("Gaps are not distances" in element.value for element in test.markdown)


def test_a_link_to_the_renamed_view_opens_it() -> None:
    test = open_link("words", more="How to misread the map", word="monday", other="garage")
    assert test.query_params["more"] == "How the map can mislead"
    assert any("Gaps are not distances" in element.value for element in test.markdown)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_tiny_lexicon_has_numbers_and_a_clear_sentence_for_its_map(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int
) -> None:
    rows = np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)
    tiny = Lexicon("tiny", tuple(f"w{i}" for i in range(count)), rows)
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    monkeypatch.setattr(catalogue, "load", lambda *a, **k: tiny)
    session.catalogued.clear()
    try:
        test = opened(**FEW)
        assert shown(test) == ("w0", "w1")
        assert [len(pane["near"]) for pane in panes(test)["panes"]] == [count - 1] * 2
        assert table(test)["word"].tolist() == ["w0", "w1"]
        test = opened(drawn_as="UMAP", **FEW)
        assert [e.value for e in test.error] == ["There is no such map."]
        assert "too few" in shown_text(test) or "at least" in shown_text(test)
        # PCA of three words or more.
        assert (component(test, "panes")["map"] is None) == (count == 2)
        test = opened(more=WHOLE, **FEW)
        assert [e.value for e in test.error] == ["There is no such map."]
    finally:
        session.catalogued.clear()
