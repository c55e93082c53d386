"""Documents read and written in batches, with the results of `encode` and `assemble`.

The text between two white spaces, a chunk, is cut into tokens once, and a token is looked up once,
however often they occur: `cut` does not look beyond white space. Everything that depends on more
than a token is computed for all documents together: which word begins a sentence, which apostrophes
are quotation marks, which single letter is between words in capitals, where a word was left out,
and where a space is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcore.arrays import IntArray
from dpcore.errors import ParameterError, TextError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.rewrite.languages import Language, rules_of
from dpcore.rewrite.policy import DEFAULT_TREATMENT, Treatment, UnknownWordPolicy
from dpcore.rewrite.rewritten import parts_from_word
from dpcore.rewrite.tokens import (
    WHITE_SPACE,
    Apostrophe,
    Case,
    CasePolicy,
    Kind,
    Token,
    apostrophes,
    apply,
    begins_sentence,
    cut,
    join_apostrophes,
    own_case,
    plain_space,
    released_case,
    tokenize,
    unpaired,
)
from dpcore.rewrite.vocabulary import CLOSING, encode

# Columns of whole numbers that grow, and parts of unequal length one after the other.


class Columns:
    """Columns by name, to which rows are added."""

    def __init__(self, *names: str) -> None:
        self._names, self._rows = names, np.empty((len(names), 0), dtype=np.int64)

    def __len__(self) -> int:
        return self._rows.shape[1]

    def __getitem__(self, name: str) -> IntArray:
        return np.asarray(self._rows[self._names.index(name)])

    def add(self, rows: Sequence[Sequence[int]]) -> None:
        """Append rows."""
        if rows:
            new = np.array(rows, dtype=np.int64).T
            self._rows = np.concatenate((self._rows, new), axis=1)


def offsets_of(counts: ArrayLike) -> IntArray:
    """Return where each of some parts begins, and where the last one ends."""
    return np.append(0, np.cumsum(counts, dtype=np.int64))


def spread(starts: IntArray, counts: IntArray) -> IntArray:
    """Return all of starts[i] to starts[i] + counts[i] − 1, one i after the other."""
    offsets = offsets_of(counts)
    return np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])


# Documents as numbers: their words, and the text around them.
#
# Nothing here holds a character of an unknown word.


GAPS = ("", " ", "\n", "\n\n")
"""White spaces of `plain_space`, from narrow to wide."""
CASES = (Case.LOWER, Case.TITLE, Case.UPPER)
"""Ways to write a word."""
_GAP_TEXTS = np.array(GAPS, dtype=object)


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Documents without their output words; one entry per slot.

    Attributes:
        fixed: number of a fixed text, which is `names[vocabulary + number]`; −1 for an output word.
        case: LOWER, TITLE or UPPER, by its number.
        gap: white space before it, by its number.
        endings: slots that have no white space before them if their word is such as "n't".
        ends: document i has the slots ends[i] to ends[i + 1] − 1.
        names: words of the lexicon and, after them, fixed texts, in lower case.
        vocabulary: number of words of the lexicon.
        language: of the lexicon.
    """

    fixed: IntArray
    case: NDArray[np.int8]
    gap: NDArray[np.int8]
    endings: IntArray
    ends: IntArray
    names: NDArray[np.object_]
    vocabulary: int
    language: Language

    def __len__(self) -> int:
        return len(self.ends) - 1

    def texts(self, outputs: IntArray) -> list[str]:
        """Return the documents with these words (lexicon indices) in their open slots, in order."""
        which = self.fixed + self.vocabulary
        which[self.fixed < 0] = outputs
        pieces = self.names[which].tolist()
        gap, clitics = self.gap.copy(), self.language.clitics
        gap[[place for place in self.endings.tolist() if pieces[place] in clitics]] = 0
        for place in np.flatnonzero(self.case).tolist():
            pieces[place] = apply(CASES[self.case[place]], pieces[place], self.language)
        both = np.empty(2 * gap.size, dtype=object)
        both[::2], both[1::2] = _GAP_TEXTS[gap], pieces
        written = both.tolist()
        return ["".join(written[2 * i : 2 * j]) for i, j in pairwise(self.ends.tolist())]


@dataclass(frozen=True, eq=False)
class Documents:
    """Encoded documents.

    Attributes:
        lexicon: of the indices in `words`.
        words: of all open slots one after another, shape (k,), read-only; −1 for an unknown word
            that the policy replaces.
        offsets: document i has words[offsets[i]:offsets[i + 1]]; shape (documents + 1,), read-only.
        skeletons: of the documents, several in each; none where texts are not needed.
    """

    lexicon: Lexicon
    words: IntArray
    offsets: IntArray
    skeletons: tuple[Skeleton, ...]

    def __post_init__(self) -> None:
        self.words.setflags(write=False)
        self.offsets.setflags(write=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def texts(self, outputs: IntArray) -> list[str]:
        """Return the documents with these words (lexicon indices, shape (k,)) in their open slots.

        Raises:
            ParameterError: the encodings were not kept, or there are not k outputs.
        """
        if sum(map(len, self.skeletons)) != len(self):
            raise ParameterError("the documents were encoded without what their texts need")
        if outputs.shape != self.words.shape:
            raise ParameterError(
                f"{self.words.size:,} output words are needed, got {outputs.size:,}"
            )
        texts: list[str] = []
        for skeleton in self.skeletons:
            stop = len(texts) + len(skeleton)
            texts += skeleton.texts(outputs[self.offsets[len(texts)] : self.offsets[stop]])
        return texts


_BATCH = 1_000_000  # characters that are read together
_MOST = 400_000  # cached chunks and tokens: some 200 MB

_SPACE, _PARAGRAPH = 1, 3  # in `GAPS`
_LOWER, _TITLE, _UPPER, _BY_SENTENCE = range(4)  # in `CASES`, and one more
_NOTHING, _BEGINS, _GOES_ON = range(3)  # results of `begins_sentence`


# A chunk, and its apostrophes that belong to the word after them, and to that before them.
_Variant = tuple[int, frozenset[int], frozenset[int]]


class Reader:
    """Reader of documents over one lexicon, with a bounded cache of chunks and tokens.

    The cache holds pieces of private texts: it lives as long as a run or a call, never longer.

    Args:
        lexicon: the vocabulary.
        treatment: of unknown words, function words and capital letters.
    """

    def __init__(self, lexicon: Lexicon, treatment: Treatment = DEFAULT_TREATMENT) -> None:
        self._lexicon, self._treatment = lexicon, treatment
        self._language = rules_of(lexicon.language)
        # Unknown words are dropped or refused later, when documents are put together.
        later = treatment.unknown_words in (UnknownWordPolicy.DROP, UnknownWordPolicy.REJECT)
        self._each = (
            replace(treatment, unknown_words=UnknownWordPolicy.REPLACE) if later else treatment
        )
        self._forget()

    def _forget(self) -> None:
        self._chunk_of: dict[str, int] = {}
        self._variant_of: dict[_Variant, int] = {}
        self._token_of: dict[tuple[str, Kind], int] = {}
        self._fixed_of: dict[str, int] = {}
        # Of a chunk whose apostrophes may be quotation marks: its tokens, and these apostrophes.
        self._doubtful: dict[int, tuple[list[Token], list[Apostrophe]]] = {}
        self._chunks = Columns("piece", "pieces", "doubtful")
        self._pieces = Columns("token", "gap")
        self._tokens = Columns(
            *("slot", "slots", "begins", "mark", "word"),
            *("own", "capitals", "single", "unknown", "closing"),
        )
        self._slots = Columns("index", "fixed", "part", "case", "apart", "parts", "ending")
        self._names: NDArray[np.object_] | None = None

    def read(self, texts: Iterable[str], *, for_text: bool = True, first: int = 0) -> Documents:
        """Read some documents: see `dpcore.rewrite.documents.encode_all`."""
        words, sizes = [np.empty(0, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
        skeletons: list[Skeleton] = []
        for batch in _batches(texts):
            some, offsets, skeleton = self._read(batch, first, for_text)
            words.append(some)
            sizes.append(np.diff(offsets))
            skeletons += [skeleton] if skeleton else []
            first += len(batch)
            if len(self._chunks) + len(self._tokens) > _MOST:
                self._forget()
        offsets = np.cumsum(np.concatenate(sizes))
        return Documents(self._lexicon, np.concatenate(words), offsets, tuple(skeletons))

    # -- documents

    def _read(
        self, texts: list[str], first: int, for_text: bool
    ) -> tuple[IntArray, IntArray, Skeleton | None]:
        ids, gaps, ends = self._met(texts)
        counts = self._chunks["pieces"][ids]
        pieces = spread(self._chunks["piece"][ids], counts)
        token, gap = self._pieces["token"][pieces], self._pieces["gap"][pieces]
        gap[(np.cumsum(counts) - counts)[counts > 0]] = gaps[counts > 0]
        ends = offsets_of(counts)[ends]
        unknown = self._tokens["unknown"][token] > 0
        if unknown.any() and self._treatment.unknown_words is UnknownWordPolicy.REJECT:
            document = int(np.searchsorted(ends, np.flatnonzero(unknown)[0], side="right")) - 1
            self._refuse(texts[document], first + document + 1)
        if unknown.any() and self._treatment.unknown_words is UnknownWordPolicy.DROP:
            kept = np.flatnonzero(~unknown)
            gap = self._carried(token, gap, unknown, kept)
            token, ends = token[kept], np.searchsorted(kept, ends)
        counts = self._tokens["slots"][token]
        slots = spread(self._tokens["slot"][token], counts)
        ends_of_slots = offsets_of(counts)[ends]
        fixed = self._slots["fixed"][slots]
        open_slots = fixed < 0
        words = self._slots["index"][slots[open_slots]]
        offsets = offsets_of(open_slots)[ends_of_slots]
        if not for_text:
            return words, offsets, None
        owner = np.repeat(np.arange(token.size), counts)
        part = self._slots["part"][slots] > 0
        case = self._case(token, gap, ends)[owner]
        case = np.where(part & (case != _UPPER), self._slots["case"][slots], case)
        gap = np.where(part, 0, gap[owner])
        # As `_missing_space`.
        parted = np.append(False, self._slots["parts"][slots[:-1]] > 0)[: slots.size]
        gap[(gap == 0) & parted & (self._slots["apart"][slots] > 0)] = _SPACE
        begins = ends_of_slots[:-1]
        gap[begins[begins < ends_of_slots[1:]]] = 0
        skeleton = Skeleton(
            fixed,
            case.astype(np.int8),
            gap.astype(np.int8),
            np.flatnonzero(self._slots["ending"][slots]),
            ends_of_slots,
            self._written(),
            len(self._lexicon),
            self._language,
        )
        return words, offsets, skeleton

    def _met(self, texts: list[str]) -> tuple[IntArray, IntArray, IntArray]:
        """Return chunks of all documents, the white space before each, and each document's end."""
        whole: set[int] = set()
        while True:
            chunks: list[str] = []
            counts: list[int] = []
            odd: list[tuple[int, list[int]]] = []
            for number, text in enumerate(texts):
                parts = [text] if number in whole else text.split()
                if " ".join(parts) != text:
                    spaces = map(plain_space, WHITE_SPACE.findall(text.strip()))
                    odd.append((len(chunks) + 1, list(map(GAPS.index, spaces))))
                chunks += parts
                counts.append(len(parts))
            ids = self._ids(chunks)
            ends = offsets_of(counts)
            empty = np.flatnonzero(self._chunks["pieces"][ids] == 0)
            if whole or not empty.size:
                break
            # Invisible characters are white space to the words around: the document is one chunk.
            whole.update((np.searchsorted(ends, empty, side="right") - 1).tolist())
            new = [texts[number] for number in whole]
            self._add([list(tokenize(text)) for text in new], new)
        gaps = np.full(ids.size, _SPACE)
        for start, codes in odd:
            gaps[start : start + len(codes)] = codes
        gaps[ends[:-1][np.diff(ends) > 0]] = 0
        self._pair(ids, ends)
        return ids, gaps, ends

    def _pair(self, ids: IntArray, ends: IntArray) -> None:
        """Find the apostrophes that belong to words, and exchange their chunks."""
        doubtful = np.flatnonzero(self._chunks["doubtful"][ids])
        wanted: list[tuple[int, _Variant]] = []
        for start, stop in pairwise(np.searchsorted(doubtful, ends).tolist()):
            # Within one document marks are numbered on from chunk to chunk.
            begin = 0
            marks: list[Apostrophe] = []
            inside: list[tuple[int, int, list[int]]] = []
            for place in doubtful[start:stop].tolist():
                tokens, here = self._doubtful[int(ids[place])]
                marks += [replace(mark, place=begin + mark.place) for mark in here]
                inside.append((place, begin, [mark.place for mark in here]))
                begin += len(tokens)
            joining = unpaired(marks)
            for place, begin, some in inside if any(joining) else ():
                before, behind = (
                    frozenset(i for i in some if begin + i in side) for side in joining
                )
                if before or behind:
                    wanted.append((place, (int(ids[place]), before, behind)))
        keys = dict.fromkeys(key for _, key in wanted)
        new = [key for key in keys if key not in self._variant_of]
        first = self._add([join_apostrophes(self._doubtful[key[0]][0], *key[1:]) for key in new])
        self._variant_of.update(zip(new, range(first, first + len(new)), strict=True))
        for place, key in wanted:
            ids[place] = self._variant_of[key]

    def _carried(
        self, token: IntArray, gap: IntArray, unknown: NDArray[np.bool_], kept: IntArray
    ) -> IntArray:
        """Return the white space before each kept token, carried on as in `vocabulary._without`."""
        own = gap[kept]
        if not kept.size:
            return own
        lost = np.where(unknown, gap, 0)[: kept[-1] + 1]
        carried = np.maximum.reduceat(lost, np.append(0, kept[:-1] + 1))
        moves = (own > 0) | (self._tokens["closing"][token[kept]] == 0)
        return np.where(moves, np.maximum(own, carried), own)

    def _case(self, token: IntArray, gap: IntArray, ends: IntArray) -> IntArray:
        """Return the cases by number, as `released_cases`."""
        column, places = self._tokens, np.arange(token.size)
        begin, end = (np.repeat(side, np.diff(ends)) for side in (ends[:-1], ends[1:]))
        begins = column["begins"][token]
        # The last token before this one that decides whether a sentence begins, and a paragraph.
        last = np.append(-1, np.where(begins == _NOTHING, -1, places))[:-1]
        last = np.maximum.accumulate(last)
        paragraph = np.maximum.accumulate(np.where(gap == _PARAGRAPH, places, -1))
        fresh = (last < begin) | (paragraph > last) | (begins[last] == _BEGINS)
        case = np.where(fresh & (column["mark"][token] == 0), _TITLE, _LOWER)
        if self._treatment.case is CasePolicy.SENTENCE:
            return case
        own = column["own"][token]
        case = np.where(own == _BY_SENTENCE, case, own)
        # A single capital letter between words in capitals.
        singles, words = (np.flatnonzero(column[name][token]) for name in ("single", "word"))
        rank = np.searchsorted(words, singles)
        some, every = np.zeros(singles.size, dtype=bool), np.ones(singles.size, dtype=bool)
        for step in (-1, 1):
            near = words[np.clip(rank + step, 0, words.size - 1)]
            inside = (near != singles) & (near >= begin[singles]) & (near < end[singles])
            some |= inside
            every &= ~inside | (column["capitals"][token[near]] > 0)
        case[singles[some & every]] = _UPPER
        return case

    def _refuse(self, text: str, number: int) -> None:
        """Refuse a document with unknown words."""
        try:
            encode(tokenize(text), self._lexicon, self._treatment)
        except TextError as error:
            raise TextError(f"document {number:,}: {error}") from None

    # -- caches

    def _ids(self, chunks: list[str]) -> IntArray:
        """Return the number of each chunk, after cutting new ones into tokens."""
        known = map(self._chunk_of.get, chunks, repeat(-1))
        ids = np.fromiter(known, dtype=np.int64, count=len(chunks))
        missing = np.flatnonzero(ids < 0).tolist()
        if missing:
            new = list(dict.fromkeys(chunks[place] for place in missing))
            cuts: list[list[Token]] = [[] for _ in new]
            number = 0
            for token in cut("\n".join(new))[0]:
                number += token.before.count("\n")
                cuts[number].append(token)
            self._add(cuts, new, doubtful=True)
            ids[missing] = [self._chunk_of[chunks[place]] for place in missing]
        return ids

    def _add(
        self, cuts: list[list[Token]], names: Sequence[str] = (), *, doubtful: bool = False
    ) -> int:
        """Cache chunks by their tokens, and return the number of the first.

        Args:
            cuts: the tokens of each.
            names: the key of each.
            doubtful: True if their apostrophes may be quotation marks.
        """
        first, piece = len(self._chunks), len(self._pieces)
        self._chunk_of.update(zip(names, range(first, first + len(cuts)), strict=False))
        keys = ((token.text, token.kind) for tokens in cuts for token in tokens)
        new = [key for key in dict.fromkeys(keys) if key not in self._token_of]
        if new:
            self._look_up(new)
        self._pieces.add(
            [
                (self._token_of[token.text, token.kind], GAPS.index(plain_space(token.before)))
                for tokens in cuts
                for token in tokens
            ]
        )
        rows = []
        for number, tokens in enumerate(cuts):
            marks = apostrophes(tokens) if doubtful else []
            if marks:
                self._doubtful[first + number] = tokens, marks
            rows.append((piece, len(tokens), bool(marks)))
            piece += len(tokens)
        self._chunks.add(rows)
        return first

    def _look_up(self, keys: list[tuple[str, Kind]]) -> None:
        """Cache tokens with their slots."""
        tokens = [Token(text, kind, "") for text, kind in keys]
        encoding = encode(tokens, self._lexicon, self._each)
        unknown = frozenset(encoding.unknown)
        counts = np.bincount([slot.source for slot in encoding.slots], minlength=len(tokens))
        begin = (len(self._slots) + offsets_of(counts)).tolist()
        rows = []
        for number, token in enumerate(tokens):
            self._token_of[keys[number]] = len(self._token_of)
            begins, (own, single) = begins_sentence(token), own_case(token, self._language)
            rows.append(
                (
                    begin[number],
                    int(counts[number]),
                    _NOTHING if begins is None else _BEGINS if begins else _GOES_ON,
                    token.kind is Kind.PUNCTUATION,
                    token.kind is Kind.WORD,
                    _BY_SENTENCE if own is None else CASES.index(own),
                    token.kind is Kind.WORD and released_case(token.text) is Case.UPPER,
                    single,
                    number in unknown,
                    token.text in CLOSING,
                )
            )
        self._tokens.add(rows)
        previous, slots = -1, []
        for slot in encoding.slots:
            clitic = slot.joined and slot.text in self._language.clitics
            slots.append(
                (
                    slot.index,
                    -1
                    if slot.is_open
                    else self._fixed_of.setdefault(slot.text, len(self._fixed_of)),
                    slot.source == previous,
                    CASES.index(slot.case),
                    slot.is_word and not clitic,
                    parts_from_word(slot),
                    slot.joined and slot.is_open,
                )
            )
            previous = slot.source
        self._slots.add(slots)

    def _written(self) -> NDArray[np.object_]:
        """Return `Skeleton.names`."""
        n = len(self._lexicon)
        if self._names is None:
            self._names = np.array(self._lexicon.words, dtype=object)
            for word in filter(self._lexicon.__contains__, self._language.always_capital):
                self._names[self._lexicon.index(word)] = apply(Case.LOWER, word, self._language)
        fixed = list(self._fixed_of)[self._names.size - n :]
        new = [apply(Case.LOWER, text, self._language) for text in fixed]
        if new:
            self._names = np.concatenate((self._names, np.array(new, dtype=object)))
        return self._names


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield batches of consecutive texts with about `_BATCH` characters."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
