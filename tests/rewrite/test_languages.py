"""Languages: words, capitals, contractions and function words of each, and nothing of another."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import LexiconError, ParameterError, TextError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.languages import (
    ENGLISH,
    GERMAN,
    LANGUAGES,
    TURKISH,
    describe_language,
    rules_of,
)
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.rewrite.rewritten import assemble
from dpcore.rewrite.sentence import prepare
from dpcore.rewrite.tokens import Case, CasePolicy, apply, tokenize
from dpcore.rewrite.vocabulary import canonical, encode, spellings

GERMAN_WORDS = (
    "der die das und ist nicht in über Haus Straße Mädchen Ärztin Übung Bär geht es gibt süß groß "
    "schön laufen Maße 1000 Rock Roll"
)
TEXT = "Die Ärztin läuft über die Straße: „Schön, Mädchen!“ IST DAS HAUS groß?"


def lexicon_of(words: str, language: str, seed: int = 0) -> Lexicon:
    """Words with vectors drawn at random."""
    names = tuple(words.split())
    vectors = np.random.default_rng(seed).normal(size=(len(names), 4)).astype(np.float32)
    return Lexicon("small", names, vectors, language=language)


GERMAN_LEXICON = lexicon_of(GERMAN_WORDS, "de")


def words_of(text: str, lexicon: Lexicon = GERMAN_LEXICON) -> list[str | None]:
    """The word of the lexicon at each open place; None for one outside the vocabulary."""
    words = prepare(text, lexicon).words.tolist()
    return [lexicon.words[word] if word >= 0 else None for word in words]


def same_words(text: str, lexicon: Lexicon = GERMAN_LEXICON, **options: str | bool) -> str:
    """The text that a mechanism without noise would write."""
    encoding = encode(tokenize(text), lexicon, Treatment(**options))  # type: ignore[arg-type]
    drawn = encoding.draw(np.random.default_rng(0))
    return assemble(encoding, [lexicon.words[word] for word in drawn])


def test_german_words_are_found_in_any_capitals() -> None:
    text = "DAS HAUS, das Haus, DIE STRASSE, die Strasse: Süß!"
    assert words_of(text) == "das Haus das Haus die Straße die Straße süß".split()


def test_an_eszett_is_never_taken_for_two_letters() -> None:
    lexicon = lexicon_of("Masse in", "de")
    assert words_of("Masse MASSE Maße", lexicon) == ["Masse", "Masse", None]
    both = lexicon_of("Maße Masse", "de")
    assert words_of("Maße Masse MASSE", both) == ["Maße", "Masse", "Masse"]


def test_a_german_text_keeps_its_shape() -> None:
    """Words of the lexicon come back unchanged, with umlauts, capitals and marks."""
    known = TEXT.replace("läuft ", "")
    assert same_words(known) == known


def test_a_noun_keeps_the_capital_of_the_lexicon_where_the_text_had_none() -> None:
    encoding = encode(tokenize("der schön laufen"), GERMAN_LEXICON)
    assert assemble(encoding, ["die", "Bär", "Übung"]) == "die Bär Übung"
    kept = encode(tokenize("Der Bär"), GERMAN_LEXICON, Treatment(case=CasePolicy.SENTENCE))
    assert assemble(kept, ["das", "Haus"]) == "Das Haus"


def test_german_contractions_and_numbers() -> None:
    assert words_of("Wie geht's?") == [None, "geht", "es"]
    # After a name it is a genitive: no part of it is written.
    assert words_of("Ninas Haus, Nina's Haus") == [None, "Haus", None, "Haus"]
    assert words_of("1.000 und 1,000") == ["1000", "und", None]
    assert same_words("Rock-Roll") == "Rock-Roll"
    held = lexicon_of("geht 's es", "de")
    assert words_of("geht's", held) == ["geht", "'s"]
    assert same_words("GEHT'S geht's", held) == "GEHT'S geht's"


def test_english_rules_do_not_touch_german() -> None:
    lexicon = lexicon_of("i the dog's dog don't do not hund", "de")
    assert words_of("don't I'm dog's", lexicon) == ["don't", None, "dog's"]
    assert words_of("hund's", lexicon) == [None]
    assert same_words("so i i", lexicon_of("so i", "de")) == "so i i"
    assert same_words("so i i", lexicon_of("so i", "en")) == "so I I"
    said = Treatment(keep_stop_words=True).released(GERMAN)
    assert not any("possessive" in line or "'the'" in line for line in said)
    assert any("'der'" in line for line in said)
    assert any("marks a noun" in line for line in said)


def test_function_words_are_those_of_the_language() -> None:
    keep = Treatment(keep_stop_words=True)
    encoding = encode(tokenize("Die Straße und the dog IST"), GERMAN_LEXICON, keep)
    released = [slot.text for slot in encoding.slots if not slot.is_open]
    assert released == ["die", "und", "ist"]
    assert len(encoding.unknown) == 2
    for language in LANGUAGES.values():
        assert all(word == language.lower(canonical(word)) for word in language.stop_words)
    assert len(GERMAN.stop_words) > 120
    assert {"die", "war", "was", "in"} & ENGLISH.stop_words == {"was", "in"}


@pytest.mark.parametrize("code", ["tr", "el", "xx"])
def test_a_language_without_function_words_says_so(code: str) -> None:
    lexicon = lexicon_of("the die", code)
    with pytest.raises(
        ParameterError, match=f"no function words are known of the language '{code}"
    ):
        prepare("the", lexicon, Treatment(keep_stop_words=True))
    assert "no function words" in describe_language(code)
    assert words_of("the", lexicon) == ["the"]


def test_greek_by_unicode_alone() -> None:
    lexicon = lexicon_of("οδός ο σοφός δρόμος", "el")
    # The sigma at the end of a word is another letter than that in it; both have one capital.
    assert words_of("ΟΔΌΣ Οδός οδόσ Ο ΣΟΦΌΣ", lexicon) == ["οδός"] * 3 + ["ο", "σοφός"]
    assert same_words("Ο σοφός. ΟΔΌΣ ΟΔΌΣ;", lexicon) == "Ο σοφός. ΟΔΌΣ ΟΔΌΣ;"


def test_cyrillic_by_unicode_alone() -> None:
    lexicon = lexicon_of("дом ёлка и Москва", "ru")
    assert words_of("ДОМ и Ёлка, МОСКВА москва", lexicon) == "дом и ёлка Москва Москва".split()
    assert same_words("Дом и ЁЛКА", lexicon) == "Дом и ЁЛКА"


def test_the_turkish_i_has_a_dot_in_capitals() -> None:
    lexicon = lexicon_of("ılık ilk iyi ısı", "tr")
    assert words_of("ILIK İLK İyi Isı", lexicon) == "ılık ilk iyi ısı".split()
    assert same_words("İyi ILIK İLK. ısı", lexicon) == "İyi ILIK İLK. ısı"
    assert apply(Case.TITLE, "ilk", TURKISH) == "İlk"
    assert apply(Case.UPPER, "ılık ilk", TURKISH) == "ILIK İLK"
    assert apply(Case.TITLE, "ilk", rules_of("xx")) == "Ilk"
    # Unicode's own rules take I for the capital of i.
    assert words_of("ILIK İLK", lexicon_of("ılık ilk", "xx")) == [None, None]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_composed_and_decomposed_letters_are_equal(form: str) -> None:
    known = unicodedata.normalize(form, TEXT)  # type: ignore[arg-type]
    assert words_of(known) == words_of(TEXT)
    assert same_words(known) == same_words(TEXT)
    words = unicodedata.normalize(form, GERMAN_WORDS)  # type: ignore[arg-type]
    lexicon = lexicon_of(words, "de")
    assert prepare(TEXT, lexicon).words.tolist() == prepare(TEXT, GERMAN_LEXICON).words.tolist()
    turkish = unicodedata.normalize(form, "İLK")  # type: ignore[arg-type]
    assert words_of(turkish, lexicon_of("ilk ılık", "tr")) == ["ilk"]


@pytest.mark.parametrize("policy", [policy for policy in UnknownWordPolicy if policy != "reject"])
@pytest.mark.parametrize("case", CasePolicy)
@pytest.mark.parametrize("keep", [False, True])
def test_nothing_outside_the_vocabulary_passes(
    policy: UnknownWordPolicy, case: CasePolicy, keep: bool
) -> None:
    text = "Grüße aus Köln-Süß, Herr Weiß's HÄUSER: weiß-ich, z.B. 3.141 €5 Straßenbahn, Isı wär's."
    treatment = Treatment(policy, keep, case)
    mechanism = dp.mechanism("tem", GERMAN_LEXICON)
    documents = encode_all([text] * 40, GERMAN_LEXICON, treatment)
    rng = np.random.default_rng(3)
    outputs = mechanism.sample(rng, np.maximum(documents.words, 0), 2.0)
    allowed = {word.casefold() for word in GERMAN_WORDS.split()}
    allowed |= {word.casefold() for word in GERMAN.stop_words} if keep else set()
    for written in documents.texts(outputs):
        assert {word.casefold() for word in re.findall(r"[^\W_]+", written)} <= allowed


def test_a_refusal_names_places_and_not_words() -> None:
    with pytest.raises(TextError, match="word 2 of the text") as caught:
        prepare("Die Möwe", GERMAN_LEXICON, Treatment("reject"))  # type: ignore[arg-type]
    assert "Möwe" not in str(caught.value)


def test_documents_are_written_as_sentences_are() -> None:
    """The fast reader and the plain one agree in every language."""
    texts = [TEXT, "Wie GEHT'S? Rock-Roll i 1.000", "Straße STRASSE ilk İLK ΟΔΟΣ", "i'm I'm dog's"]
    for code in ("de", "tr", "el", "xx", "en"):
        lexicon = lexicon_of(f"{GERMAN_WORDS} i ilk οδός 's i'm dog", code)
        documents = encode_all(texts, lexicon)
        outputs = np.where(documents.words < 0, 3, documents.words)
        singly = []
        for text in texts:
            encoding = encode(tokenize(text), lexicon)
            words = np.where(encoding.words < 0, 3, encoding.words)
            singly.append(assemble(encoding, [lexicon.words[word] for word in words]))
        assert documents.texts(outputs) == singly


def test_the_language_is_part_of_what_a_lexicon_is() -> None:
    english = lexicon_of(GERMAN_WORDS, "en")
    assert english.fingerprint != GERMAN_LEXICON.fingerprint
    assert english.with_language("de").fingerprint == GERMAN_LEXICON.fingerprint
    assert english.with_language("en") is english
    assert GERMAN_LEXICON.with_metric("manhattan").language == "de"
    assert repr(GERMAN_LEXICON).endswith("euclidean, de)")
    for wrong in ("", "DE", "german", "de-AT", "d\n"):
        with pytest.raises(LexiconError, match="two or three small letters"):
            english.with_language(wrong)


def test_what_is_of_english_is_refused_for_other_words() -> None:
    """Frequencies, bigrams and kinds: "die" is an article here, and no word about death."""
    from dpcore.attack.language.language import language
    from dpcore.lexicon.kinds import kinds_of, shares_of

    with pytest.raises(LexiconError, match="only English was counted"):
        language(GERMAN_LEXICON)
    assert kinds_of(GERMAN_LEXICON).known == 0
    assert kinds_of(GERMAN_LEXICON.with_language("en")).known > 0
    with pytest.raises(ParameterError, match="English words alone"):
        shares_of(GERMAN_LEXICON, "noun:0.5")
    assert shares_of(GERMAN_LEXICON, "rank>3:0.5").of.min() == 0.5
    for name in ("tem", "madlib"):
        answer = dp.tradeoff(dp.mechanism(name, GERMAN_LEXICON), [2.0], outputs=500, near=3)
        assert "kind" not in answer.before
        assert "kind" not in set(answer.to_pandas()["quantity"])


def test_only_one_file_is_english() -> None:
    """No room of the rewriting asks for the table of one language, but for the redactors.

    Their rules, and the possessive ending of an annotated fact, are English.
    """
    rooms = Path(dp.__file__).parent / "rewrite"
    named = re.compile(r"\b(ENGLISH|GERMAN|TURKISH)\b")
    asking = {
        path.relative_to(rooms).as_posix()
        for path in rooms.rglob("*.py")
        if named.search(path.read_text(encoding="utf-8"))
    }
    assert asking == {"languages.py", "redact/rules.py", "redact/spans.py"}


def test_the_page_counts_the_function_words() -> None:
    page = (Path(__file__).parents[2] / "docs" / "languages.md").read_text(encoding="utf-8")
    counts = (len(ENGLISH.stop_words), len(GERMAN.stop_words))
    assert f"(`--keep-stop-words`) | {counts[0]} | {counts[1]} | | |" in page


def test_spellings_are_those_of_the_lexicon() -> None:
    spelt = spellings(GERMAN_LEXICON, GERMAN)
    assert [spelt(word) for word in ("HAUS", "haus", "Haus", "hau")] == ["Haus"] * 3 + [None]
    plain = spellings(GERMAN_LEXICON.with_language("en"), ENGLISH)
    assert [plain(word) for word in ("HAUS", "Haus", "GEHT")] == [None, "Haus", "geht"]
