"""The Robustness page over the most frequent words of the bundled lexicon."""

import functools
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon import catalogue
from dpcore.lexicon.lexicon import Lexicon
from pages.shared import session
from tests.pages.app import open_link

_WORDS = 2_000
_load = catalogue.load


@functools.cache
def small() -> Lexicon:
    """Real words with real vectors, few enough for neighbours and laws in no time."""
    whole = _load("default")
    return Lexicon("frequent", whole.words[:_WORDS], whole.vectors[:_WORDS])


@pytest.fixture(scope="module")
def frequent_words() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "load", lambda *_, **__: small())
        session.catalogued.clear()  # another test may have loaded the whole lexicon
        yield
    session.catalogued.clear()


@pytest.fixture
def opened(frequent_words: None) -> Callable[..., AppTest]:
    """Open the page by a link."""
    return functools.partial(open_link, "robustness")
