"""The Attacker page over a small lexicon."""

import functools
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon import catalogue
from pages.attacker import output_view
from tests.pages.app import forget, open_link
from tests.pages.attacker.reading import small


@pytest.fixture(scope="module")
def few_words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of the small lexicon is kept for the tests of other pages, and nothing of theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "load", lambda *_, **__: small())
        patch.setenv("DPCORE_CACHE", str(tmp_path_factory.mktemp("few")))
        patch.setattr(output_view, "_PATIENCE_SECONDS", 0.0)  # the step of the dial alone
        forget()
        yield
        forget()


@pytest.fixture
def opened(few_words: None) -> Callable[..., AppTest]:
    return functools.partial(open_link, "attacker")
