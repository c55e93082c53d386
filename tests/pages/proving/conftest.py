"""The Robustness page over the most frequent words of the bundled lexicon."""

import functools
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon import catalogue
from dpcore.lexicon.lexicon import Lexicon
from tests.needs import ROOT

_WORDS = 2_000
_load = catalogue.load


@functools.cache
def small() -> Lexicon:
    """Real words with real vectors, few enough for neighbours and laws in no time."""
    whole = _load("default")
    return Lexicon("frequent", whole.words[:_WORDS], whole.vectors[:_WORDS])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Open the page by a link."""
    monkeypatch.setattr(catalogue, "load", lambda *_, **__: small())

    def make(**link: str) -> AppTest:
        test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=240)
        test.switch_page("pages/robustness.py")
        for name, value in link.items():
            test.query_params[name] = value
        return test.run()

    return make
