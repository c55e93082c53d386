"""Settings and actions of the tests of the Release page."""

from streamlit.testing.v1 import AppTest

from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.offers import guess_offer
from dpcore.papers.ours.tradeoff import recorded_curve
from pages.release.board import GOALS

SMALL = {
    "use_metric": ["madlib"],
    "use_local": [],
    "use_texts": 100,
    "use_steps": 2,
    "use_trials": 2,
    "use_attack": False,
}


def upload(test: AppTest, data: bytes, name: str = "own.csv") -> AppTest:
    """Return the page with an uploaded file."""
    test.file_uploader(key="use_file").upload(name, data, "text/csv")
    return test.run()


def taken(test: AppTest) -> AppTest:
    """The page with its drawer open."""
    test.session_state["taking"] = True
    return test.run()


def goal_epsilon(name: str, percent: float = GOALS["guess"].start) -> float:
    """ε of a mechanism where at most so many of a hundred content words are guessed."""
    kind = create(name, load("default"))
    offer = guess_offer(kind, recorded_curve(kind), None, percent / 100)
    assert offer.epsilon is not None
    return offer.epsilon
