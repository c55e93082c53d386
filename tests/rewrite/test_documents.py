"""Many documents: each equals `release` with the document's own generator."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from randomgen.chacha import ChaCha

from dpcore.errors import ParameterError, TextError
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.bulk import Bulk, bulk
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.streams import document_generator
from dpcore.rewrite.documents import (
    AuthorSizes,
    author_sizes,
    encode_all,
    release_all,
    vocabulary_caution,
)
from dpcore.rewrite.policy import DEFAULT_TREATMENT, Treatment, UnknownWordPolicy
from dpcore.rewrite.sentence import prepare, release
from dpcore.rewrite.tokens import CasePolicy
from tests.mechanisms import lexicons
from tests.mechanisms.contract import typical

LEXICON = lexicons.cloud(200, 6)
SECRET = bytes(range(32))
TEXTS = [
    "W1 w2, w3! And w4-w5 (W6).",
    "w7 w7 w7 w7 “w7”\n\nw7 Qwertz w8",
    "",
    "W9 W10 W11 unknown UNKNOWN w12's",
    " \n ",
    "...",
    "w13",
    " ".join(f"w{i % 200}" for i in range(700)),
]


def plain(
    mechanism: Mechanism,
    epsilon: float,
    ids: Sequence[int | str],
    treatment: Treatment = DEFAULT_TREATMENT,
) -> list[str]:
    """The twin: one document after the other."""
    texts = []
    for text, name in zip(TEXTS, ids, strict=True):
        if not text.strip():
            texts.append("")
            continue
        sentence = prepare(text, LEXICON, treatment, max_characters=10**6, max_tokens=10**6)
        texts.append(release(sentence, mechanism, epsilon, document_generator(SECRET, name)).text)
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("name", [kind.short for kind in MECHANISMS.values()])
def test_documents_are_what_release_gives(name: str) -> None:
    mechanism = create(name, LEXICON)
    epsilon = min(typical(mechanism), 0.9 * mechanism.admissible.high)
    documents = encode_all(TEXTS, LEXICON)
    ids = range(100, 100 + len(TEXTS))
    outputs = release_all(documents, mechanism, epsilon, SECRET, ids)
    assert documents.texts(outputs) == plain(mechanism, epsilon, ids)


def test_every_document_has_a_cipher_of_its_own() -> None:
    documents = encode_all(TEXTS, LEXICON)
    used: list[Any] = []

    def sampler(rngs: Any, words: Any, offsets: Any) -> Any:
        used.extend(rngs)
        return words

    release_all(documents, create("tem", LEXICON), 1.0, SECRET, sampler=cast("Bulk", sampler))
    assert {type(rng.bit_generator) for rng in used} == {ChaCha}
    keys = {rng.bit_generator.state["state"]["keysetup"].tobytes() for rng in used}
    assert len(keys) == len(used) == len(TEXTS)


@pytest.mark.parametrize(
    "policy", [UnknownWordPolicy.REPLACE, UnknownWordPolicy.MASK, UnknownWordPolicy.DROP]
)
def test_policies_are_kept(policy: UnknownWordPolicy) -> None:
    mechanism = create("tem", LEXICON)
    treatment = Treatment(policy, True, CasePolicy.SENTENCE)
    documents = encode_all(TEXTS, LEXICON, treatment)
    texts = documents.texts(release_all(documents, mechanism, 3.0, SECRET))
    assert texts == plain(mechanism, 3.0, range(len(TEXTS)), treatment)
    assert "qwertz" not in "".join(texts).lower()


def test_batches_and_order_change_nothing() -> None:
    mechanism = create("madlib", LEXICON)
    whole = encode_all(TEXTS, LEXICON)
    ids = [f"row {i}" for i in range(len(TEXTS))]
    expected = whole.texts(release_all(whole, mechanism, 8.0, SECRET, ids))
    sampler = bulk(mechanism, 8.0)
    for order in ([7, 6, 5, 4, 3, 2, 1, 0], [3, 1], [0]):
        part = encode_all([TEXTS[i] for i in order], LEXICON)
        outputs = release_all(
            part, mechanism, 8.0, SECRET, [ids[i] for i in order], sampler=sampler
        )
        assert part.texts(outputs) == [expected[i] for i in order]
    other = release_all(whole, mechanism, 8.0, bytes(32), ids)
    assert whole.texts(other) != expected


def test_without_texts_there_are_words_alone() -> None:
    documents = encode_all(TEXTS, LEXICON, for_text=False)
    assert len(documents) == len(TEXTS)
    outputs = release_all(documents, create("tem", LEXICON), 3.0, SECRET)
    assert outputs.shape == documents.words.shape
    with pytest.raises(ParameterError, match="without what their texts need"):
        documents.texts(outputs)
    assert not documents.words.flags.writeable


def test_refusals() -> None:
    documents = encode_all(["w1", "w2"], LEXICON)
    tem = create("tem", LEXICON)
    for ids in (["a", "a"], ["a"], [1, 2, 3]):
        with pytest.raises(ParameterError, match="as many different ids"):
            release_all(documents, tem, 1.0, SECRET, ids)
    with pytest.raises(ParameterError, match="2 output words are needed, got 1"):
        documents.texts(np.zeros(1, dtype=np.int64))
    with pytest.raises(TextError, match="document 2: word 1 of the text"):
        encode_all(["w1", "qwertz"], LEXICON, Treatment(UnknownWordPolicy.REJECT))


def test_no_documents() -> None:
    documents = encode_all([], LEXICON)
    assert documents.texts(release_all(documents, create("tem", LEXICON), 1.0, SECRET)) == []


@pytest.mark.parametrize(
    ("text", "warned"),
    [("good words", False), ("GOOD words", False), ("zzq good", False), ("zzq vvk good", True)],
)
def test_a_vocabulary_that_lacks_most_words_is_told_without_a_count(
    text: str, warned: bool
) -> None:
    lexicon = load("default")
    caution = vocabulary_caution([text] * 3, lexicon)
    assert caution.startswith("most words of the first texts are not in") == warned
    assert not any(figure.isdigit() for figure in caution)
    assert "zzq" not in caution
    assert not vocabulary_caution([], lexicon)


def test_the_words_of_an_author_add_up_and_a_blank_author_is_someone_of_its_own() -> None:
    texts = ["w1 w2 unknown", "W3!", "", "w4 w5", "w6", "..."]
    authors = ["ann", " ann ", "bob", "", "  ", "bob"]
    assert author_sizes(texts, authors, LEXICON) == AuthorSizes(authors=4, texts=2, words=4)
    assert author_sizes([], [], LEXICON) == AuthorSizes(0, 0, 0)
    every = [prepare(text, LEXICON).protected for text in texts if text.strip(".")]
    assert sum(every[:2]) == 4
    with pytest.raises(ParameterError, match="as many authors, got 1"):
        author_sizes(texts, ["ann"], LEXICON)
