"""Ten thousand texts through the tokenizer and the rewriter: no traceback, no unknown word."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import TextError
from dpcore.limits import MAX_TEXT_TOKENS
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import document_generator
from dpcore.rewrite.documents import encode_all, release_all
from dpcore.rewrite.languages import ENGLISH
from dpcore.rewrite.policy import MASK, Treatment, UnknownWordPolicy
from dpcore.rewrite.sentence import check_text, decode, prepare, release
from dpcore.rewrite.tokens import MARKS, CasePolicy, Kind, tokenize
from tests.fuzzing import answered, repeated
from tests.mechanisms import lexicons
from tests.rewrite.test_tokens import FRAGMENTS

KNOWN = "lopa mirek tasun vodel n't 's - % é well known U.S isn ﬁne 12 1000".split()
CLOUD = lexicons.cloud(len(KNOWN), 4)
LEXICON = type(CLOUD).build("odd words", KNOWN, CLOUD.vectors)[0]
MECHANISM = create("madlib", LEXICON)
SECRET = b"thirty-two bytes of a run secret"

pieces = st.one_of(
    st.sampled_from([*FRAGMENTS, *KNOWN]),
    st.sampled_from([word.upper() for word in KNOWN] + [word.title() for word in KNOWN]),
    st.sampled_from([" ", " ", ", ", ". ", "-", "'", "\n"]),
    st.sampled_from(["the", "Quuxford", "zorblax's", "well-lopa", "1,000", "don't", "U.S."]),
    st.characters(exclude_categories=("Cc", "Cs")),
)
texts = st.lists(pieces, max_size=14).map("".join)
bundles = st.lists(texts, min_size=10, max_size=10)
BUNDLES = 1_000


WORDS = {word.casefold() for word in LEXICON.words}
FIXED = {*MARKS, "...", MASK, "'s", "-"}


@pytest.mark.slow
@repeated(BUNDLES)
@given(
    bundle=bundles,
    policy=st.sampled_from(UnknownWordPolicy),
    case=st.sampled_from(CasePolicy),
    keep=st.booleans(),
)
def test_no_unknown_word_comes_out(
    bundle: list[str], policy: UnknownWordPolicy, case: CasePolicy, keep: bool
) -> None:
    treatment = Treatment(policy, keep, case)
    allowed = WORDS | FIXED | (ENGLISH.stop_words if keep else set())
    rng = np.random.default_rng(len(bundle[0]))
    for text in bundle:
        assert tokenize(text).text == text
        sentence = answered(lambda text=text: prepare(text, LEXICON, treatment))
        if sentence is None:
            continue
        rewrite = release(sentence, MECHANISM, 3.0, rng)
        unknown = len(sentence.encoding.unknown)
        assert not (unknown and policy is UnknownWordPolicy.REJECT)
        written = {token.output.casefold() for token in rewrite.tokens if token.output}
        assert written <= allowed, text
        assert set(re.findall(r"\s+", rewrite.text)) <= {" ", "\n", "\n\n"}
        assert "".join(token.before + token.output for token in rewrite.tokens) == rewrite.text
        if case is CasePolicy.SENTENCE:
            bare = re.findall("[a-z]{3,}", rewrite.text, re.IGNORECASE)
            assert all(word[1:] == word[1:].lower() for word in bare), text


@repeated(60)
@given(bundle=bundles, policy=st.sampled_from(UnknownWordPolicy))
def test_documents_in_bulk_are_the_sentences_one_by_one(
    bundle: list[str], policy: UnknownWordPolicy
) -> None:
    whole = [text for text in bundle if answered(check_text, text) or tokenize(text).tokens]
    documents = answered(lambda: encode_all(whole, LEXICON, Treatment(policy)))
    if documents is None:
        return
    outputs = documents.texts(release_all(documents, MECHANISM, 3.0, SECRET))
    for number, (text, output) in enumerate(zip(whole, outputs, strict=True)):
        try:
            sentence = prepare(text, LEXICON, Treatment(policy))
        except TextError:
            continue
        alone = release(sentence, MECHANISM, 3.0, document_generator(SECRET, number))
        assert output == alone.text


@repeated(300)
@given(st.binary(max_size=60) | texts.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_bytes_are_a_text_or_are_refused(data: bytes) -> None:
    text = answered(decode, data)
    if text is not None:
        assert text.encode() in (data, data.removeprefix(b"\xef\xbb\xbf"))
        answered(check_text, text)


@pytest.mark.parametrize("unit", ["secret ", "secret", "s\u0301", "Quuxford-", "é'", "1,", "%"])
def test_a_million_words_are_refused_at_once_and_not_repeated(unit: str) -> None:
    with pytest.raises(TextError) as caught:
        prepare(unit * 1_000_000, LEXICON)
    assert "secret" not in str(caught.value)
    assert "2,000" in str(caught.value) or str(MAX_TEXT_TOKENS) in str(caught.value)


def test_the_inputs_hold_every_kind_of_token_and_words_that_must_not_come_out() -> None:
    assert not (WORDS | FIXED | ENGLISH.stop_words) & {"quuxford", "zorblax's", "zorblax"}
    kinds = {token.kind for piece in [*FRAGMENTS, *KNOWN] for token in tokenize(piece)}
    assert kinds == set(Kind)
