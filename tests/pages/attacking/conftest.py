"""The Attacker page over a small lexicon."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpcore.lexicon import catalogue
from pages.shared import warmup
from tests.needs import ROOT
from tests.pages.attacking.reading import small


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., AppTest]]:
    monkeypatch.setattr(catalogue, "load", lambda *_, **__: small())
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    # What is computed ahead in the background may or may not be there when a test looks.
    monkeypatch.setattr(warmup, "_look_ahead", lambda: None)
    st.cache_resource.clear()  # another test may have kept the density of the same words

    def make(**link: str) -> AppTest:
        test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        test.switch_page("pages/attacker.py")
        for name, value in link.items():
            test.query_params[name] = value
        return test.run()

    yield make
    st.cache_resource.clear()
