"""Documents that are read together, against each read and written by itself."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import TextError
from dpcore.rewrite import reader as module
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.rewrite.reader import Reader
from dpcore.rewrite.rewritten import assemble
from dpcore.rewrite.tokens import CasePolicy, Token, tokenize
from dpcore.rewrite.vocabulary import Encoding, encode
from tests.fuzzing import repeated
from tests.mechanisms import lexicons
from tests.rewrite.test_tokens import FRAGMENTS

KNOWN = "lopa mirek tasun vodel n't 's 'm i i'm a - % é well known u.s isn ﬁne 12 1000 o".split()
CLOUD = lexicons.cloud(len(KNOWN), 4)
LEXICON = type(CLOUD).build("odd words", KNOWN, CLOUD.vectors)[0]

pieces = st.one_of(
    st.sampled_from([*FRAGMENTS, *KNOWN]),
    st.sampled_from([word.upper() for word in KNOWN] + [word.title() for word in KNOWN]),
    st.sampled_from([" ", " ", ", ", ". ", "-", "'", " '", "' ", "’ ", "\n", "\n\n", "\r\n"]),
    st.sampled_from(["\u200b", " \u200b ", "\r\u200b\n", "\u00a0", "\u2028", "\t", "Ŀ", "ŉ"]),
    st.sampled_from(["the", "Quux", "zorblax's", "well-lopa", "1,000", "Don't", "U.S.", "I AM"]),
    st.characters(exclude_categories=["Cs"]),
)
texts = st.lists(pieces, max_size=14).map("".join)


def assert_as_one_by_one(bundle: list[str], treatment: Treatment, reader: Reader) -> None:
    """Words and texts, whatever the outputs are; refused documents are left out."""
    plain, good = [], []
    for text in bundle:
        try:
            plain.append(encode(tokenize(text), LEXICON, treatment))
        except TextError:
            with pytest.raises(TextError, match="document 8: "):
                reader.read([text], first=7)
        else:
            good.append(text)
    documents = reader.read(good)
    for i, encoding in enumerate(plain):
        part = slice(*documents.offsets[i : i + 2].tolist())
        assert documents.words[part].tolist() == encoding.words.tolist(), good[i]
    assert documents.offsets[-1] == documents.words.size
    assert not documents.words.flags.writeable
    outputs = np.arange(documents.words.size) % len(LEXICON)
    written = documents.texts(outputs)
    for i, encoding in enumerate(plain):
        part = slice(*documents.offsets[i : i + 2].tolist())
        words = [LEXICON.words[word] for word in outputs[part].tolist()]
        assert written[i] == assemble(encoding, words), good[i]


@pytest.mark.slow
@repeated(300)
@given(
    bundle=st.lists(texts, max_size=10),
    policy=st.sampled_from(UnknownWordPolicy),
    case=st.sampled_from(CasePolicy),
    keep=st.booleans(),
)
def test_documents_are_what_they_are_one_by_one(
    bundle: list[str], policy: UnknownWordPolicy, case: CasePolicy, keep: bool
) -> None:
    treatment = Treatment(policy, keep, case)
    reader = Reader(LEXICON, treatment)
    assert_as_one_by_one(bundle, treatment, reader)
    assert_as_one_by_one(bundle[::-1], treatment, reader)  # with what is remembered


@pytest.mark.parametrize("policy", UnknownWordPolicy)
@pytest.mark.parametrize("case", CasePolicy)
def test_what_documents_could_take_from_each_other(
    policy: UnknownWordPolicy, case: CasePolicy
) -> None:
    """Quotation marks, sentences, capitals and gaps end with the document."""
    bundle = [
        "'lopa mirek", "tasun' vodel", "'lopa' 'mirek' tasun'", "lopa's 'tis' 'n' 'I' I'",
        "lopa. ", "mirek", "lopa \n\n quux", ", lopa", "quux", "- lopa", "LOPA", "A",
        "MIREK I LOPA", "LOPA A", "A", "I'M A LOPA.", "I'm a lopa! a", "", " ",
        "\u200b", "\u200b \u200b",
        "lopa \u200b\n\n\u200b mirek", "\u200blopa\u200b 'mirek\u200b tasun' vodel",
        "quux quux", "x-lopa Well-Known", "lopa mirek\n\nquux",
    ]  # fmt: skip
    treatment = Treatment(policy, case=case)
    assert_as_one_by_one(bundle, treatment, Reader(LEXICON, treatment))


def test_batches_and_what_is_forgotten_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = [f"Lopa {i}, 'mirek{i % 3} the Quux{i}. 'tasun'" for i in range(40)] * 2
    treatment = Treatment(UnknownWordPolicy.MASK, keep_stop_words=True)
    whole = encode_all(bundle, LEXICON, treatment)
    outputs = np.arange(whole.words.size) % len(LEXICON)
    monkeypatch.setattr(module, "_BATCH", 100)
    monkeypatch.setattr(module, "_MOST", 50)
    reader = Reader(LEXICON, treatment)
    parts = reader.read(iter(bundle))
    assert parts.words.tolist() == whole.words.tolist()
    assert parts.offsets.tolist() == whole.offsets.tolist()
    assert len(parts.skeletons) > 5
    assert parts.texts(outputs) == whole.texts(outputs)
    assert len(reader._chunks) + len(reader._tokens) < 100


def test_a_document_is_refused_by_its_number() -> None:
    reader = Reader(LEXICON, Treatment(UnknownWordPolicy.REJECT))
    with pytest.raises(TextError, match=r"^document 1,003: word 2 of the text is not among"):
        reader.read(["lopa", "", "'Mirek' zorblax.", "quux"], first=1_000)


def test_a_token_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the routine would be right and slow."""
    seen: list[str] = []

    def counted(tokens: list[Token], *more: Any) -> Encoding:
        seen.extend(token.text for token in tokens)
        return encode(tokens, *more)

    monkeypatch.setattr(module, "encode", counted)
    reader = Reader(LEXICON)
    for _ in range(3):
        reader.read(["Lopa, 'lopa' lopa's lopa, mirek! (lopa)"] * 20)
    assert sorted(seen) == sorted(["Lopa", ",", "'", "lopa", "lopa's", "mirek", "!", "(", ")"])
