"""The Attacker page over a small lexicon."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon import catalogue
from pages.opening import warmup
from tests.pages.app import forget, open_link
from tests.pages.attacker.reading import small


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., AppTest]]:
    monkeypatch.setattr(catalogue, "load", lambda *_, **__: small())
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    # What is computed ahead in the background may or may not be there when a test looks.
    monkeypatch.setattr(warmup, "_look_ahead", lambda: None)
    forget()  # another test may have kept the density of the same words

    yield functools.partial(open_link, "attacker")
    forget()
