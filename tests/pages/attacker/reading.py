"""Inputs and readings of the tests of the Attacker page."""

from typing import Any

from streamlit.testing.v1 import AppTest

from dpcore.lexicon.lexicon import Lexicon
from tests.mechanisms import lexicons
from tests.pages.app import component

FEW = tuple(
    "garage monday doctor hospital city my in the said that sister needs a new heart medicine "
    "cancer flu asthma diabetes depression pneumonia kitchen was nurse patient".split()
)


def small() -> Lexicon:
    """A lexicon of which all words are weighed at once: nothing has to be prepared."""
    return Lexicon("few", FEW, lexicons.cloud(len(FEW), 5).vectors)


def believed(test: AppTest) -> dict[str, Any]:
    """Return the content of the card and the squares at the dial's position."""
    data = component(test, "believed")
    shown: dict[str, Any] = data["steps"][data["step"]]
    return shown


def metrics(test: AppTest) -> dict[str, str]:
    return {m.label: m.value for m in test.metric}
