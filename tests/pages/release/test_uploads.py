"""A table of one's own on the Utility page: refused with a reason, or used and told to nobody."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.limits import MAX_LABELLED_BYTES
from dpcore.study import live_jobs
from tests.pages.app import shown_text
from tests.pages.release.settings import SMALL


def upload(test: AppTest, data: bytes) -> AppTest:
    test.segmented_control(key="use_corpus").set_value("uploaded").run()
    test.file_uploader(key="use_file").upload("own.csv", data, "text/csv")
    return test.run()


ROWS = "\n".join(f"text number {i},{'*good*' if i % 2 else 'bad'}" for i in range(40))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"words,kind\na,x\nb,y\nc,x", "needs at least 10 different texts"),
        (b"words,kind\n" + b"".join(b"a%d,same\n" % i for i in range(30)), "at least two classes"),
        ("w,k\nzu groß,ja".encode("latin-1"), "not UTF-8"),
        (b"only one column\na\nb", "at least two columns"),
        (b"a,b\n" + b"x" * MAX_LABELLED_BYTES, "larger than"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(
    opened: Callable[..., AppTest], data: bytes, reason: str
) -> None:
    test = upload(opened(**SMALL), data)
    assert "This table cannot be used." in shown_text(test)
    assert reason in shown_text(test)
    assert test.button(key="use_start").disabled


def test_a_table_is_used_and_stays_out_of_link_and_command(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = []

    class Job:
        done, stopped, error, finished, examples = True, False, None, 1, ()
        rows: tuple[dict[str, Any], ...] = ()

    def start(live: Any) -> Job:
        from dpcore.study.live import perform

        lives.append(live)
        job = Job()
        job.rows = tuple(perform(live.jobs()[0])["rows"])
        return job

    monkeypatch.setattr(live_jobs, "start", start)
    test = upload(opened(**SMALL), f"words,kind\n{ROWS}\n,bad\n".encode())
    assert "41 rows; left out: 1 without text or label, 0 repeated. Used: 40 texts" in shown_text(
        test
    )
    test.button(key="use_start").click().run()
    assert lives[0].texts.classes == ("*good*", "bad")
    test.session_state["use_view"] = "Link and command"
    shown = shown_text(test.run())
    assert "--file FILE.csv --text-column TEXT --label-column LABEL" in shown
    assert "text number" not in shown
    assert "Your table is not in the link" in shown
