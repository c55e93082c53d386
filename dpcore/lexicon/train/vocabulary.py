"""Vocabulary of the lexicon: tokenising the texts, counting words and selecting them.

Words are ranked by *balanced frequency*: occurrences weighted by source, because an
encyclopedia is a hundred times larger than all conversation here and would crowd it out.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from unicodedata import combining, normalize

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.lexicon.train.sources import Document, Source
from dpcore.lexicon.train.wordnet import WordNetWords

# Words of conversation that are rare in an encyclopedia.
#
# These enter the vocabulary if they occur in the texts at all, before rank decides. They come in
# groups, one per paragraph: the internet; days and months; numbers; cities; first names; diseases;
# money; food; judgements and feelings; greetings; plain verbs; pronouns and contractions; people
# and places.


WANTED = frozenset(
    """
    password username login inbox spam email e-mail mail website online internet browser
    download upload click server computer laptop phone facebook google twitter youtube wikipedia
    wifi software hacker smartphone selfie

    monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december

    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion

    london paris berlin madrid rome moscow tokyo beijing delhi mumbai sydney toronto chicago
    boston seattle houston dallas miami atlanta philadelphia amsterdam vienna dublin istanbul
    cairo singapore

    john james robert michael william david richard joseph thomas mary patricia jennifer linda
    elizabeth barbara susan jessica sarah karen lisa nancy emma anna maria alice bob peter paul
    mark laura julia kate tom anne eve oliver sophie daniel

    cancer diabetes asthma flu influenza malaria pneumonia stroke arthritis depression anxiety
    hiv aids epilepsy covid fever allergy obesity dementia tuberculosis hepatitis migraine cold
    cough headache

    money dollar dollars euro euros pound pounds cash credit debit loan mortgage salary wage
    rent tax bank account price cheap expensive debt invoice payment

    bread cheese pizza pasta rice chicken beef pork fish egg eggs salad soup sandwich burger
    fries coffee tea beer wine milk water juice sugar salt pepper butter apple banana orange
    lemon tomato potato chocolate cake cookie breakfast lunch dinner yummy tasty sushi taco
    tacos steak bacon shrimp noodles cereal

    delicious terrible awful horrible great wonderful excellent amazing fantastic lovely nice
    bad good boring funny stupid happy sad angry scared tired hungry thirsty beautiful ugly rude
    friendly kind lazy smart clever crazy weird strange pathetic lonely worried nervous jealous
    proud grateful ashamed disappointed excited annoyed hilarious disgusting gross cute
    ridiculous gorgeous

    hello hi thanks please sorry yes no okay ok bye goodbye welcome hey wow yeah

    go went gone eat ate eaten drink drank sleep slept buy bought sell sold love hate like want
    need think thought know knew say said tell told ask asked give gave get got make made take
    took run ran walk walked

    i you he
    she it we they me him her us them my your his its our their mine yours a an the
    don't can't won't isn't doesn't didn't i'm you're it's that's i've i'll we're they're
    couldn't wouldn't let's

    mother father mom dad brother sister son daughter wife husband boyfriend girlfriend uncle
    aunt grandmother grandfather baby kid kids teacher nurse doctor lawyer police patient
    hospital movie film actor actress restaurant waiter waitress food service hotel school
    college university office home house apartment kitchen airport station car train plane bike
    girl boy man woman friend neighbor boss colleague
    """.split()
)


WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
NUMBERS = frozenset(
    [str(n) for n in (*range(32), *range(40, 100, 10), 100, 200, 500, 1000)]
    + [str(year) for year in range(1990, 2027)]
    + [f"{day}{_ENDINGS.get(day, 'th')}" for day in range(1, 32)]
)
# A word that occurs in lower case less often than this is used as a name.
NAME_SHARE = 0.2
ONE_LETTER = frozenset("ai")
# Debris of the extraction of wiki, mail and web text: markup, file endings, signatures, and a word
# of one template.
DEBRIS = frozenset(
    "nbsp px jpg jpeg png svg gif html htm http https www href colspan rowspan cellpadding "
    "bgcolor infobox img src ecp nan isbn doi pdf ref refs "
    "ect xls ene ebs tithepayers".split()
)


@dataclass(frozen=True)
class Statistics:
    """Counts for F forms.

    Attributes:
        balanced: Shape (F,): weighted occurrences.
        documents: Shape (F,): number of documents that hold the form, caseless sources left out.
        lower_share: Shape (F,): share of occurrences in lower case, among sources with case;
            1 for a form that only caseless sources hold.
    """

    balanced: FloatArray
    documents: IntArray
    lower_share: FloatArray


def statistics(corpus: Corpus, sources: Sequence[Source]) -> Statistics:
    """Count every form of `corpus`, whose tokens come from `sources` in that order."""
    size = len(corpus.forms)
    balanced = np.zeros(size)
    cased = np.zeros(size)
    lower = np.zeros(size)
    documents = np.zeros(size, np.int64)
    for source, begin, end in zip(sources, corpus.bounds[:-1], corpus.bounds[1:], strict=True):
        ids = corpus.ids[begin:end]
        balanced += source.weight * np.bincount(ids, minlength=size)
        if not source.lower_only:
            cased += np.bincount(ids, minlength=size)
            lower += np.bincount(ids[~corpus.capitals[begin:end]], minlength=size)
            # Document and form as one number: a form counts once in a document, however often.
            keys = np.unique(corpus.documents[begin:end].astype(np.int64) * max(size, 1) + ids)
            documents += np.bincount(keys % max(size, 1), minlength=size)
    share = np.divide(lower, cased, out=np.ones(size), where=cased > 0)
    return Statistics(balanced, documents, share)


def well_formed(word: str) -> bool:
    """Return True if a string looks like a word.

    True for the chosen numbers, for "a" and "i", and for 2 to 20 ASCII letters with optional inner
    apostrophes and hyphens that are neither markup, a Roman numeral nor a drawn-out cry.
    """
    if word in NUMBERS or word in ONE_LETTER:
        return True
    if not WORD.fullmatch(word) or not 2 <= len(word) <= 20 or word in DEBRIS:
        return False
    # One or two letters three times over are an address or a groan; i, v and x alone make a
    # Roman numeral.
    return not re.search(r"(..?)\1\1", word) and not re.fullmatch(r"[ivx]+", word)


@dataclass(frozen=True)
class Selection:
    """Settings of the choice of words.

    Attributes:
        words: Maximum number of words.
        min_documents: Least number of documents that hold a word that WordNet knows.
        min_documents_unknown: The same for any other word; threefold up to three letters.
        everyday_factor: Multiplies the balanced frequency of everyday words.
        name_factor: Multiplies that of words that mostly have a capital letter; twice as much if
            WordNet lists them.
        doubtful_factor: Multiplies that of words of two letters, most of which are
            abbreviations, and of compounds with a hyphen.
        inflection_factor: Multiplies that of regular inflections, such as plurals.
    """

    words: int = 25_000
    min_documents: int = 3
    min_documents_unknown: int = 15
    everyday_factor: float = 3.0
    name_factor: float = 0.25
    doubtful_factor: float = 0.4
    inflection_factor: float = 0.6


def _factor(word: str, lower_share: float, wordnet: WordNetWords, rule: Selection) -> float:
    """Return the factor of the balanced frequency of an admitted word."""
    if word in NUMBERS:
        return 1.0
    factor = 1.0
    if lower_share < NAME_SHARE:
        factor = rule.name_factor * (2.0 if word in wordnet.proper else 1.0)
    elif wordnet.chatty(word):
        factor = rule.everyday_factor
    if len(word) == 2 or "-" in word:
        factor *= rule.doubtful_factor
    if word not in wordnet.common and wordnet.knows(word):
        factor *= rule.inflection_factor
    return factor


def select(corpus: Corpus, counts: Statistics, wordnet: WordNetWords, rule: Selection) -> list[int]:
    """Choose the vocabulary.

    The words of `WANTED` are admitted if they occur at all, any other form if it is well formed,
    is not marked as an insult and occurs in enough documents. Of the latter, those of highest
    adjusted balanced frequency are chosen.

    Args:
        corpus: Only its forms are read.
        counts: Statistics of `corpus`.
        wordnet: Dictionary words.
        rule: The plan's part on words.

    Returns:
        Form indices, highest balanced frequency (not adjusted) first; ties alphabetically.
    """
    admitted = []
    for form, word in enumerate(corpus.forms):
        if word in WANTED:
            admitted.append((float("-inf"), word, form))
            continue
        if counts.documents[form] < rule.min_documents or not well_formed(word):
            continue
        known = word in NUMBERS or word in wordnet.proper or wordnet.knows(word)
        if not known:
            # Short unknown words are mostly initials that one person or field uses often.
            needed = rule.min_documents_unknown * (3 if len(word) <= 3 else 1)
            if counts.documents[form] < needed:
                continue
        if wordnet.insult(word):
            continue
        factor = _factor(word, float(counts.lower_share[form]), wordnet, rule)
        admitted.append((-factor * counts.balanced[form], word, form))
    admitted.sort()
    chosen = [form for _, _, form in admitted[: rule.words]]
    return sorted(chosen, key=lambda form: (-counts.balanced[form], corpus.forms[form]))


# Tokenising: from text to integer arrays.
#
# Every surface form is looked up once; its treatment (case folded, possessive cut off, a hyphenated
# compound split or kept) is decided per *form* and then applied to the whole corpus by array
# indexing, so that no Python code runs once per token.


_FORM = re.compile(r"[^\W_]+(?:['’‑-][^\W_]+)*")
_PLAIN = str.maketrans({"’": "'", "‑": "-"})
# An address is one token to a reader and several junk tokens to a word pattern: blank it first.
_ADDRESS = re.compile(
    r"\S*(?:://|www\.|@\w)\S*|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|uk)\b"
)
# Here 's is a verb; after any other word it is taken for the possessive and cut off.
CLITIC_IS = frozenset(
    "it's that's he's she's what's let's there's here's who's where's how's when's why's "
    "everything's something's".split()
)


@dataclass(frozen=True)
class Corpus:
    """A tokenised corpus of T tokens over F forms.

    Attributes:
        forms: The F distinct words, lower case, in order of first appearance.
        ids: Shape (T,), int32: index into `forms`.
        segments: Shape (T,), int32: equal for tokens of one segment.
        documents: Shape (T,), int32: equal for tokens of one document.
        capitals: Shape (T,), bool: the token began with a capital letter.
        bounds: Shape (number of sources + 1,): source s holds tokens bounds[s] to bounds[s+1].
    """

    forms: tuple[str, ...]
    ids: NDArray[np.int32]
    segments: NDArray[np.int32]
    documents: NDArray[np.int32]
    capitals: BoolArray
    bounds: IntArray


def split_form(form: str, compounds: frozenset[str]) -> tuple[str, ...]:
    """Return the words of a surface form.

    Args:
        form: A match of the token pattern, any case.
        compounds: Hyphenated words that are kept whole.

    Returns:
        Lower-case words without accents: one, or the parts of a hyphenated form that is not in
        `compounds`.
    """
    word = form.lower().translate(_PLAIN)
    if not word.isascii():
        # é counts as e: people write café both ways, and the vocabulary is plain ASCII.
        word = "".join(c for c in normalize("NFKD", word) if not combining(c))
    if word.endswith("'s") and word not in CLITIC_IS:
        word = word[:-2]
    if "-" not in word or word in compounds:
        return (word,)
    return tuple(part for part in word.split("-") if part)


def tokenise(
    sources: Sequence[Iterable[Document]],
    compounds: frozenset[str] = frozenset(),
    report: Callable[[int], None] = lambda done: None,
) -> Corpus:
    """Read documents into a `Corpus`.

    Args:
        sources: One iterable of documents per source.
        compounds: Hyphenated words that are kept whole.
        report: Called with the number of documents read so far, now and then.
    """
    index: defaultdict[str, int] = defaultdict(count().__next__)
    look_up = index.__getitem__
    chunks: list[NDArray[np.int32]] = []
    lengths: list[int] = []
    owners: list[int] = []
    source_ends = [0]
    document = 0
    for source in sources:
        for lines in source:
            for line in lines:
                forms = _FORM.findall(_ADDRESS.sub(" ", html.unescape(line)))
                if forms:
                    chunks.append(np.fromiter(map(look_up, forms), np.int32, len(forms)))
                    lengths.append(len(forms))
                    owners.append(document)
            document += 1
            if document % 2000 == 0:
                report(document)
        source_ends.append(len(lengths))
    return _expand(list(index), chunks, lengths, owners, source_ends, compounds)


def _expand(
    surface: list[str],
    chunks: list[NDArray[np.int32]],
    lengths: list[int],
    owners: list[int],
    source_ends: list[int],
    compounds: frozenset[str],
) -> Corpus:
    """Replace surface forms by words, all tokens at once."""
    parts = [split_form(form, compounds) for form in surface]
    words: defaultdict[str, int] = defaultdict(count().__next__)
    flat = np.fromiter((words[part] for part in chain.from_iterable(parts)), np.int32)
    width = np.fromiter(map(len, parts), np.int64, len(parts))
    start = np.concatenate(([0], np.cumsum(width)))
    capital = np.fromiter((form[0].isupper() for form in surface), np.bool_, len(surface))

    raw = np.concatenate(chunks) if chunks else np.zeros(0, np.int32)
    repeats = width[raw]
    ends = np.cumsum(repeats)
    total = int(ends[-1]) if len(ends) else 0
    within = np.arange(total) - np.repeat(ends - repeats, repeats)
    ids = flat[np.repeat(start[raw], repeats) + within] if total else np.zeros(0, np.int32)

    segment_of_raw = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    segments = np.repeat(segment_of_raw, repeats)
    documents = np.asarray(owners, np.int32)[segments] if total else np.zeros(0, np.int32)
    arrays = (ids, segments, documents, np.repeat(capital[raw], repeats))
    for array in arrays:
        array.setflags(write=False)
    return Corpus(tuple(words), *arrays, np.searchsorted(segments, source_ends))
