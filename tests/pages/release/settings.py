"""Settings and actions of the tests of the Release page."""

from streamlit.testing.v1 import AppTest

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
