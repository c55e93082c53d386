"""No public name goes away or changes without a line in the changelog."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpcore import __version__
from pages.shared.contents import CONTENTS
from tests import stability
from tests.needs import ROOT
from tests.pages.app import open_link
from tests.stability import GONE, HEADING, RECORD, Links, UnreadParameterError, public_names, read

LOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
RECORDED = RECORD.read_text(encoding="utf-8")


def test_the_record_has_the_public_names_of_now() -> None:
    names = read(RECORDED)[0]
    came = [name for name in public_names() if name not in set(names)]
    went = [name for name in names if name not in set(public_names())]
    then = "then `python -m tests.stability` records it"
    assert not went, (
        f"public names went or changed: {went}; each needs a bullet in CHANGELOG.md, in backticks "
        f"as written here, under {HEADING}; {then}"
    )
    assert not came, f"public names came: {came}; {then}"
    # Also the order, so that the file is as its program writes it.
    assert stability.written(public_names(), RECORDED) == RECORDED


def test_the_changelog_names_what_is_gone() -> None:
    assert not stability.unexplained(RECORDED, LOG)


def test_every_kind_of_name_is_recorded() -> None:
    names = set(read(RECORDED)[0])
    assert {
        "dpcore.count(4: words=None)",
        "dpcore.count(level=0.95)",
        "dpcore.testing.assert_no_leak(strict=False)",
        "dpcore.testing.MechanismContract.quiet",
        "dpcore.sklearn.PrivateText(1: epsilon=None)",
        "dpcore.sklearn.CrowdClassifier.predict",
        "command count --level",
        "command privatize (source)",
        "json leak: stranger",
        "json rewrite: tokens.in_vocabulary",
        "json attack --text: attacks.right.context.first",
        "link any page: eps_metric",
        "link words: radius",
        "link any page: tem_beta",
        "mechanism tem.v1",
        "mechanism tem.v1: beta",
        "claim adept-a",
    } <= names, "the record lacks one kind of names"
    assert not [name for name in names if "test_" in name and name.startswith("dpcore.testing")]


SMALL = "dpcore.count\ndpcore.count(by=None)\n"


def log(inside: str, version: str = __version__) -> str:
    return f"# Changes\n\n## {version}, not yet released\n{inside}\n\n## 0.0.1\n\n- Older.\n"


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "- `dpcore.count(by=None)` is quicker.",  # a mention elsewhere is about something else
        f"{HEADING}\n- The argument by of dpcore.count(by=None) is gone.",  # not as a name
        f"{HEADING}\n- `dpcore.count` is gone.",  # another name
        f"{HEADING}\n- Nothing.\n\n### Numbers\n- `dpcore.count(by=None)` has other numbers.",
    ],
)
def test_a_name_that_went_without_a_line_is_found(inside: str) -> None:
    record = stability.written(("dpcore.count",), SMALL)
    assert f"{GONE}{__version__}: dpcore.count(by=None)\n" in record
    expected = [f"dpcore.count(by=None) ({__version__})"]
    assert stability.unexplained(record, log(inside)) == expected
    # Writing the record once more does not forget it, nor does a later version.
    assert stability.written(("dpcore.count",), record) == record
    assert (
        stability.unexplained(stability.written(("dpcore.count",), record, "9.0.0"), "") == expected
    )


def test_a_name_that_went_with_a_line_is_accepted_under_its_version_alone() -> None:
    record = stability.written(("dpcore.count",), SMALL)
    bullet = f"{HEADING}\n- `dpcore.count(by=None)`: give\n  `group` instead."
    assert not stability.unexplained(record, log(bullet))
    assert stability.unexplained(record, log(bullet, "9.0.0"))
    back = ("dpcore.count", "dpcore.count(by=None)")
    assert GONE not in stability.written(back, record)  # it is there again


def test_names_that_change_in_a_copy_of_the_code_are_found() -> None:
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    before = set(stability.fields(page))
    assert before - set(
        stability.fields(page.replace("spans [{start, end,", "spans [{start,"))
    ) == {"json redact: spans.end"}
    pages = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in (ROOT / "pages").rglob("*.py")
    }
    links, path = set(Links(pages).names()), "pages/curves/choosing.py"
    renamed = pages[path].replace('"runs"', '"repeats"')
    assert set(Links(pages | {path: renamed}).names()) ^ links == {
        "link curves: runs",
        "link curves: repeats",
    }

    def changed(texts, mechanism, words=None, *, by=None):  # type: ignore[no-untyped-def]
        return None

    def same(texts, mechanism, words=None, *, by=None, more=1):  # type: ignore[no-untyped-def]
        return None

    def later(texts, mechanism, epsilon, words=None, *, by=None):  # type: ignore[no-untyped-def]
        return None

    first = set(stability.called("f", changed))
    assert first < set(stability.called("f", same))  # a new option breaks no call
    assert first - set(stability.called("f", later)) == {"f(3: words=None)"}  # its place changed


def test_a_parameter_of_a_link_that_cannot_be_read_is_no_silent_gap() -> None:
    source = (
        "from pages.shared.link import pick\ndef draw():\n  name = f()\n  pick('', [], name, '')"
    )
    with pytest.raises(UnreadParameterError, match="write a constant"):
        list(Links({"pages/curves/curves.py": source}).names())


def parameters(test: AppTest) -> set[str]:
    with test.session_state._state.query_params() as address:
        bound = set(address._bindings_by_param)
    return bound | set(test.session_state["link_written"]) | set(test.query_params)


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_ahead")
@pytest.mark.parametrize("page", [content.address for content in CONTENTS])
def test_a_page_that_is_open_has_no_parameter_that_is_not_recorded(page: str) -> None:
    """The list is read out of the code, and this page is open."""
    found = parameters(open_link(page))
    names = read(RECORDED)[0]
    recorded = {
        name.split(": ")[1] for name in names if re.match(rf"link (any page|{page}): ", name)
    }
    assert found, "no parameter was looked at"
    assert found <= recorded


def test_the_page_about_stability_names_what_is_recorded() -> None:
    page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
    assert HEADING in page
    for kind in ("`dpcore.testing`", "`dpcore.sklearn`", "`--json`", "link", "exit code"):
        assert kind in page
    assert Path("tests/stability.txt").name in page
