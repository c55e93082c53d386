"""The Robustness page over the most frequent words of the bundled lexicon."""

import functools
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon import catalogue
from dpcore.lexicon.lexicon import Lexicon
from pages.opening import warmup
from pages.shared import session
from tests.pages.app import open_link

_WORDS = 2_000
_load = catalogue.load


@functools.cache
def small() -> Lexicon:
    """Real words with real vectors, few enough for neighbours and laws in no time."""
    whole = _load("default")
    return Lexicon("frequent", whole.words[:_WORDS], whole.vectors[:_WORDS])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., AppTest]]:
    """Open the page by a link."""
    monkeypatch.setattr(catalogue, "load", lambda *_, **__: small())
    monkeypatch.setattr(warmup, "_look_ahead", lambda: None)
    session.catalogued.clear()  # another test may have loaded the whole lexicon

    yield functools.partial(open_link, "robustness")
    session.catalogued.clear()
