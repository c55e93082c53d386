"""What is to be cited: every key that a mechanism names is an entry, and the laboratory is one."""

import re

import pytest

import dpcore
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.papers.citing import LABORATORY, bibtex, entries
from tests.needs import ROOT


def test_every_entry_is_whole() -> None:
    for key, entry in entries().items():
        assert re.match(r"@[a-z]+\{" + re.escape(key) + ",", entry)
        assert entry.count("{") == entry.count("}")
        assert entry.endswith("}")
        for field in ("author", "title"):
            assert re.search(rf"^  {field} = \{{.+\}},?$", entry, re.MULTILINE), key


def test_what_mechanisms_cite_is_there() -> None:
    ours = {"optimal"}  # of this laboratory alone
    for kind in MECHANISMS.values():
        assert set(kind.cited) <= set(entries())
        assert bool(kind.cited) != (kind.short in ours), kind.short


def test_the_laboratory_is_cited_once_and_last() -> None:
    text = bibtex("xu2021gumbel", "carvalho2021tem", "xu2021gumbel")
    assert text.count("@") == 3
    assert text.endswith(entries()[LABORATORY])
    assert dpcore.__version__ in entries()[LABORATORY]
    with pytest.raises(KeyError):
        bibtex("nobody1900")


def test_the_page_of_sources_names_every_entry() -> None:
    page = (ROOT / "docs" / "sources.md").read_text("utf-8")
    assert {key for key in entries() if f"`{key}`" in page} == set(entries()) - {LABORATORY}
