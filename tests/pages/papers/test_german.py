"""The page Papers in German: no sentence of a verdict, a record or a guarantee stays English."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial

import pytest

from dpcore.audit.composition import composition
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import MECHANISMS, create, package_of
from dpcore.papers.claims import read_recorded
from dpcore.papers.comparison import _COMPARED, comparison_rows
from dpcore.papers.overview import measured
from dpcore.papers.packages import read_packages
from dpcore.papers.xu2021.appendix_c import gumbel_sentences, laplace_sentences
from dpcore.study.recorded import read_bundled
from dpcore.study.recorded import read_recorded as read_record
from dpcore.study.recording import provenance
from pages.shared.language import retold, speaking
from tests.pages.app import open_link, received
from tests.pages.test_language import GERMAN, texts

_QUOTED = re.compile(
    r"„[^“]*“|“[^”]*”|`[^`]*`|'[^']*'|<style>.*?</style>|\([^()]*Error:[^()]*\)", re.S
)
_ENGLISH = re.compile(
    r"(?<![\w-])(?:the|of|is|are|with|words?|that|and|at|by|for|from|its|to|not|than|which|every"
    r"|any|between|without|stays?|least|noise|claimed|it|be|as|has|have)(?![\w-])"
)


def english(text: str) -> list[str]:
    """English words of a text outside quotations, which stay as they are."""
    return _ENGLISH.findall(_QUOTED.sub("", text))


def told(sentences: Iterator[str]) -> list[str]:
    """The sentences that are not German on a German page."""
    with speaking(GERMAN):
        return [text for text in sentences if text and english(retold(str(text)))]


def of_verdicts() -> Iterator[str]:
    for verdict in read_recorded().verdicts:
        yield from (verdict.title, verdict.claim, verdict.source, verdict.computed, verdict.extent)
        yield from (verdict.failing_step, verdict.repair, verdict.label, measured(verdict))
        yield from (condition.text for condition in verdict.conditions)
        yield from (*verdict.numbers,)


def of_comparisons() -> Iterator[str]:
    for name in _COMPARED:
        for row in comparison_rows(read_record(name)):
            yield from (text for field, text in asdict(row).items() if field != "paper")


def of_records() -> Iterator[str]:
    for entry in read_bundled():
        yield from (entry.title, entry.source, entry.sizes, *provenance(entry))
    for audit in read_packages().audits:
        yield from (audit.claim, audit.source, audit.label, audit.shown, *audit.findings)


@pytest.mark.slow
@pytest.mark.parametrize("sentences", [of_verdicts, of_comparisons, of_records])
def test_sentences_of_records_are_german(sentences: Callable[[], Iterator[str]]) -> None:
    assert not told(sentences())


@pytest.mark.slow
def test_guarantees_and_their_proofs_are_german() -> None:
    assert not told(of_guarantees())


def of_guarantees() -> Iterator[str]:
    forms = {
        "custext": [{"form": form} for form in ("conservative", "aggressive", "drawn")],
        "rantext": [{}, {"form": "fixed"}],
        "wbb": [{}, {"form": "floor"}],
        "syntf": [{}, {"candidates": "synonyms"}],
        "santext": [{}, {"metric": "cosine"}],
        "budget": [{}, {"promise": "any"}],
    }
    bundled = load(None)
    words = Lexicon("few", bundled.words[:100], bundled.vectors[:100])
    for kind in MECHANISMS.values():
        if package_of(kind) is not None:
            continue
        for settings in forms.get(kind.short, [{}]):
            own = load("hyperbolic") if kind.short == "hyperbolic" else words
            mechanism = create(kind.short, own, settings)
            low, high = mechanism.admissible.low, mechanism.admissible.high
            epsilon = 1.5 * max(low, 1.0) if high == math.inf else 0.5 * high
            guarantee = mechanism.guarantee(epsilon)
            yield from (guarantee.statement, guarantee.for_tokens(1), guarantee.for_tokens(9))
            yield from (guarantee.reason, guarantee.source, mechanism.caution, mechanism.source)
            yield from (composition(mechanism, epsilon, count).statement for count in (1, 9))
            if guarantee.rounding is not None:
                yield guarantee.rounding.reason


def test_appendix_c_is_german() -> None:
    row = {"word": "of", "nearest": 2.5, "epsilon": 8.0, "formula": 0.9, "truth": 0.3}
    row |= {"nw_low": 0.2, "nw_high": 0.4, "low": 0.2, "high": 0.4}
    exact = row | {"nw_low": 0.3, "nw_high": 0.3, "epsilon": 9.0, "truth": 0.6}
    rows = [row, exact]
    sentences = [*laplace_sentences(rows, 8.0, 300), *laplace_sentences(rows, 9.0, 1)]
    sentences += [*gumbel_sentences(rows, 8.0, 1000), *gumbel_sentences([exact], 9.0, 1000)]
    assert not told(iter(sentences))
    with speaking(GERMAN):
        assert "„of“" in retold(sentences[1])


@pytest.mark.slow
@pytest.mark.parametrize("look", ["claims", "experiments", "packages"])
def test_every_part_of_the_page_is_german(look: str) -> None:
    _, messages = received(partial(open_link, "papers", lang=GERMAN, look=look))
    seen = {text for message in messages for text in texts(message)}
    assert not [text for text in seen if len(english(text)) > 1]


@pytest.mark.slow
@pytest.mark.parametrize("outcome", sorted({v.outcome.name for v in read_recorded().verdicts}))
def test_a_claim_of_each_outcome_is_german(outcome: str) -> None:
    key = next(v.key for v in read_recorded().verdicts if v.outcome.name == outcome)
    test = open_link("papers", lang=GERMAN, claim=key)
    figures = [str(cell) for table in test.dataframe for cell in table.value.to_numpy().ravel()]
    shown = [*(element.value for element in (*test.text, *test.header)), *figures]
    assert not [text for text in shown if english(text)]
    assert len(shown) > 10
