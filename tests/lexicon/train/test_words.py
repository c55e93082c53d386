"""From text to a vocabulary, on texts small enough to work out by hand."""

import dataclasses
from typing import Any

import pytest

from dpcore.lexicon.train import vocabulary, wordnet
from dpcore.lexicon.train.vocabulary import WANTED, split_form, tokenise
from tests.lexicon.train.toy import toy_source

# Tokens


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("Paris", ("paris",)),
        ("Emperor's", ("emperor",)),
        ("It’s", ("it's",)),
        ("don't", ("don't",)),
        ("e-mail", ("e-mail",)),
        ("Kyoto-born", ("kyoto", "born")),
        ("café", ("cafe",)),
        ("20th", ("20th",)),
    ],
)
def test_a_form_becomes_words(form: str, words: tuple[str, ...]) -> None:
    assert split_form(form, frozenset({"e-mail"})) == words


def test_tokens_keep_their_segment_document_and_case() -> None:
    corpus = tokenise(
        [[["The cat sat.", "Ice-cold cat!"]], [["see www.cat.com or a@cat.org &lt;cat&gt;"]]]
    )
    text = [corpus.forms[i] for i in corpus.ids]
    assert text == ["the", "cat", "sat", "ice", "cold", "cat", "see", "or", "cat"]
    assert corpus.segments.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert corpus.documents.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert corpus.capitals.tolist() == [True, False, False, True, True, False, False, False, False]
    assert corpus.bounds.tolist() == [0, 6, 9]
    assert not corpus.ids.flags.writeable


# Words


SYNSETS = [
    ("cat|true cat", "a small animal", "noun.animal"),
    ("hop", "move fast", "verb.motion"),
    ("zesty", "good to eat", "adj.all"),
    ("Lima", "a city", "noun.location"),
    ("zork", "(ethnic slur) offensive term for a person from nowhere", "noun.person"),
    ("well-known", "known to many", "adj.all"),
]


def test_wordnet_knows_words_inflections_names_and_insults() -> None:
    known = wordnet.collect(SYNSETS)
    assert all(known.knows(word) for word in ("cat", "cats", "hopping", "zestier", "zestily"))
    assert not known.knows("lima")
    assert not known.knows("dog")
    assert known.proper == {"lima"}
    assert known.compounds == {"well-known"}
    assert known.insult("zork")
    assert known.insult("zorks")
    assert not known.insult("cat")
    assert known.chatty("zestier")
    assert not known.chatty("cat")


@pytest.mark.parametrize("word", ["a", "i", "cat", "don't", "e-mail", "7", "31st", "1999", "six"])
def test_words_are_well_formed(word: str) -> None:
    assert vocabulary.well_formed(word)


@pytest.mark.parametrize(
    "word",
    [
        *("b", "", "4711", "mp3", "nbsp", "px", "www", "soooo", "dcdcdc", "xviii"),
        *("-cat", "cat's-", "don't'", "Cat", "naïve", "кот", "http", "a" * 21),
    ],
)
def test_junk_is_not(word: str) -> None:
    assert not vocabulary.well_formed(word)


def test_statistics_weigh_sources_and_leave_caseless_ones_out_of_the_rest() -> None:
    corpus = tokenise([[["Cat cat"], ["cat"]], [["cat dog"]]])
    sources = [toy_source(weight=2.0), toy_source(weight=10.0, lower_only=True)]
    counts = vocabulary.statistics(corpus, sources)
    assert corpus.forms == ("cat", "dog")
    assert counts.balanced.tolist() == [16.0, 10.0]
    assert counts.documents.tolist() == [2, 0]
    assert counts.lower_share.tolist() == [pytest.approx(2 / 3), 1.0]


def test_selection_ranks_admits_and_cuts() -> None:
    documents = [["cat hop zork zesty"]] * 4 + [["cat"]] * 3 + [["Lima"]] * 6 + [["unheard"]] * 9
    corpus = tokenise([[*documents, ["password"]]])
    counts = vocabulary.statistics(corpus, [toy_source()])
    rule = vocabulary.Selection(words=5)

    def chosen(**changes: Any) -> list[str]:
        picked = vocabulary.select(
            corpus, counts, wordnet.collect(SYNSETS), dataclasses.replace(rule, **changes)
        )
        return [corpus.forms[form] for form in picked]

    # No "zork" (insult) and no "unheard" (no dictionary word in fewer than 15 documents);
    # "password" is wanted although it is rare. Order is that of frequency.
    assert chosen() == ["cat", "lima", "hop", "zesty", "password"]
    # Everyday words count three times and names half when room is short.
    assert chosen(words=3) == ["cat", "zesty", "password"]
    assert chosen(words=3, everyday_factor=1.0) == ["cat", "hop", "password"]
    assert chosen(min_documents_unknown=9)[0] == "unheard"


def test_wanted_words_are_well_formed() -> None:
    assert all(vocabulary.well_formed(word) for word in WANTED)
