"""Uploaded vectors: of one session, on all pages, shared with no one."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon.catalogue import only_here
from dpcore.lexicon.readers import read_uploaded
from pages.shared import once, own_vectors, session
from pages.shared.contents import CONTENTS
from tests.pages.app import open_page, unopened

NAMES = [
    *"the a doctor nurse hospital city london paris heart money".split(),
    *"bank river happy sad cat dog".split(),
    *(f"word{i}" for i in range(60)),
]


def sent(seed: int = 3, language: str = "en", before: str = "") -> own_vectors._Brought:
    vectors = np.random.default_rng(seed).normal(size=(len(NAMES), 8))
    names = [f"{before}{name}" for name in NAMES]
    lines = (f"{n} {' '.join(f'{x:.4f}' for x in v)}" for n, v in zip(names, vectors, strict=True))
    lexicon, report = read_uploaded("\n".join(lines).encode(), "mine.txt", own_vectors.NAME)
    lexicon = only_here(lexicon.with_language(language))
    return own_vectors._Brought("an id", language, lexicon, report)


@pytest.mark.slow
@pytest.mark.parametrize("address", [c.address for c in CONTENTS if c.address != "lesson"])
def test_every_page_works_with_them(address: str) -> None:
    test = unopened(address)
    brought = sent()
    test.session_state["own_vectors"] = brought
    test.session_state["lexicon"] = own_vectors.NAME
    test.run()
    assert not test.exception, test.exception
    assert brought.lexicon is not None
    for kind in ("dials", "permitted"):  # what every page with a dial computes of its words
        assert brought.lexicon.fingerprint not in str(list(once._shelf(kind).results))
    if address in {"rewrite", "curves", "words", "attacker"}:
        assert test.session_state["own dials"]
    if test.get("selectbox"):
        chosen = [box.value for box in test.selectbox if box.key == "lexicon"]
        assert chosen in ([], [own_vectors.NAME])


@pytest.mark.slow
@pytest.mark.parametrize("address", ["rewrite", "attacker"])
def test_words_of_another_language(address: str) -> None:
    """Nothing of English is put on them, and no page ends in a traceback for the lack of it."""
    test = unopened(address)
    test.session_state["own_vectors"] = sent(language="de")
    test.session_state["lexicon"] = own_vectors.NAME
    test.run()
    assert not test.exception, test.exception


@pytest.mark.parametrize("before", ["", "en:"])
def test_words_that_no_text_holds_are_told(before: str) -> None:
    test = unopened("rewrite")
    test.session_state["own_vectors"] = sent(before=before)
    test.run()
    told = [warning.value for warning in test.warning]
    assert any("Texts will not match these words." in text for text in told) == bool(before)


@pytest.mark.slow
def test_a_link_to_them_shows_the_bundled_words_to_everybody_else() -> None:
    test = open_page("attacker")
    assert own_vectors.NAME not in test.selectbox(key="lexicon").options
    test = unopened("attacker")
    test.query_params["lexicon"] = own_vectors.NAME
    test.run()
    assert not test.exception
    assert test.selectbox(key="lexicon").value == "default"


def test_nothing_of_them_is_shared() -> None:
    brought = sent(7)
    assert brought.lexicon is not None
    fingerprint = brought.lexicon.fingerprint
    made: list[int] = []

    def page() -> None:
        import streamlit as st

        from pages.shared import once, session

        words = session.lexicon("yours")
        st.text(str(id(session.mechanism(words, "tem.v1"))))
        st.text(str(once.is_there("a kind", (words.fingerprint, 1))))
        once.once("a kind", (words.fingerprint, 1), lambda: 5)

    for _ in range(2):
        test = AppTest.from_function(page)
        test.session_state["own_vectors"] = brought
        test.run()
        assert not test.exception, test.exception
        made.append(int(test.text[0].value))
        assert test.text[1].value == "False"  # what the session before computed is not there
        assert test.run().text[1].value == "True"
    assert made[0] != made[1]
    assert not any(fingerprint in str(key) for key in once._shelf("a kind").results)
    with pytest.raises(Exception, match="yours"):
        session.catalogued("yours")
