"""What the tests of the Release page choose there."""

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
    """The page with a file of one's own."""
    test.file_uploader(key="use_file").upload(name, data, "text/csv")
    return test.run()


def taken(test: AppTest) -> AppTest:
    """The page with its drawer open."""
    test.session_state["taking"] = True
    return test.run()
