"""What the tests of the Robustness page read off."""

from typing import Any

from streamlit.testing.v1 import AppTest


def said(test: AppTest) -> str:
    """All that is written on the page."""
    assert not test.exception, test.exception
    parts = (
        *test.text, *test.markdown, *test.subheader, *test.code, *test.error, *test.info,
        *test.warning, *test.success,
    )  # fmt: skip
    return " ".join(str(element.value) for element in parts)


def curve(figure: dict[str, Any], name: str) -> dict[float, float]:
    """One curve of a figure: y by x."""
    trace = next(one for one in figure["data"] if one.get("name") == name)
    return dict(zip(trace["x"], trace["y"], strict=True))


def table(test: AppTest, *columns: str) -> Any:
    """The table that has these columns."""
    return next(d.value for d in test.dataframe if set(columns) <= set(d.value.columns))
