"""Computation ahead of the first visitor."""

from collections.abc import Callable

import pytest

from pages.curves import curves
from pages.opening import warmup
from pages.papers import experiments
from pages.robustness import pictures_work, views
from pages.words import bench
from tests.pages.app import open_page


@pytest.mark.slow
def test_pages_open_with_what_was_computed_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Callable[[], object]] = []
    monkeypatch.setattr(warmup, "_in_background", jobs.extend)
    # A classifier is trained for each.
    monkeypatch.setattr(views, "SCALES", pictures_work.SCALES[:1])
    compared: list[bool] = []
    monkeypatch.setattr(experiments, "_compare_all", lambda: compared.append(True))
    warmup._look_ahead()
    for job in jobs:
        job()  # a refusal would be passed over in the background
    assert compared
    monkeypatch.setattr(curves, "_measured", lambda *_: pytest.fail("measured"))
    monkeypatch.setattr(bench, "compare", lambda *_, **__: pytest.fail("measured"))
    for page in ("curves", "words"):
        assert not open_page(page).exception
