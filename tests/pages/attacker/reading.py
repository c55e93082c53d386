"""What the tests of the Attacker page put in and read off."""

from streamlit.testing.v1 import AppTest

from dpcore.lexicon.lexicon import Lexicon
from tests.mechanisms import lexicons

FEW = tuple(
    "garage monday doctor hospital city my in the said that sister needs a new heart medicine "
    "cancer flu asthma diabetes depression pneumonia kitchen was nurse patient".split()
)


def small() -> Lexicon:
    """A lexicon of which all words are weighed at once: nothing has to be prepared."""
    return Lexicon("few", FEW, lexicons.cloud(len(FEW), 5).vectors)


def metrics(test: AppTest) -> dict[str, str]:
    return {m.label: m.value for m in test.metric}
