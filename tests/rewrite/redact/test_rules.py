"""The rules of a redactor: texts to find and to leave, and time against length."""

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.rewrite.redact.rules import KINDS, by_rules, luhn, structured_spans
from dpcore.rewrite.redact.spans import Span, disjoint

CARD, OTHER_CARD = "4111 1111 1111 1111", "5500-0000-0000-0004"
IBAN = "DE89 3704 0044 0532 0130 00"


def kinds(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.kind) for span in by_rules(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("write to ann.lee+x@mail.example.org today", [("ann.lee+x@mail.example.org", "e-mail")]),
        ("see https://example.org/a?b=c, please", [("https://example.org/a?b=c", "web")]),
        ("see www.example.org.", [("www.example.org", "web")]),
        (f"my card is {CARD}.", [(CARD, "card")]),
        (f"pay with {OTHER_CARD} 12 times", [(OTHER_CARD, "card"), ("12", "number")]),
        ("card 4111111111111111", [("4111111111111111", "card")]),
        (f"send it to {IBAN} NOW", [(IBAN, "iban")]),
        ("to GB29NWBK60161331926819", [("GB29NWBK60161331926819", "iban")]),
        ("from 192.168.0.1.", [("192.168.0.1", "ip")]),
        ("from 2001:db8::ff00:42:8329 to us", [("2001:db8::ff00:42:8329", "ip")]),
        ("number 078-05-1120 is", [("078-05-1120", "social security")]),
        ("born 12/03/1987 here", [("12/03/1987", "date")]),
        ("on 2021-03-04 and 4.3.21", [("2021-03-04", "date"), ("4.3.21", "date")]),
        ("on 3rd of March 2021", [("3rd of March 2021", "date")]),
        ("since March 3, 2021", [("March 3, 2021", "date")]),
        ("from Sept. 2019", [("Sept. 2019", "date")]),
        ("the war of 1914-1918", [("1914-1918", "date")]),
        ("see you on Monday", [("Monday", "date")]),
        ("we left in May", [("May", "date")]),
        ("at 10:30 or 4 p.m. then", [("10:30", "time"), ("4 p.m.", "time")]),
        ("by 9:05:07 am", [("9:05:07 am", "time")]),
        ("at 7 o'clock", [("7 o'clock", "time")]),
        ("it cost $1,299.99 and 20 euros", [("$1,299.99", "money"), ("20 euros", "money")]),
        ("worth £3 million", [("£3 million", "money")]),
        ("for 15€ each", [("15€", "money")]),
        ("call +44 20 7946 0958 now", [("+44 20 7946 0958", "phone")]),
        ("call (555) 010-9999 now", [("(555) 010-9999", "phone")]),
        ("call 555-010-9999 x12", [("555-010-9999 x12", "phone")]),
        ("call 020 7946 0958", [("020 7946 0958", "phone")]),
        ("call 5550109999", [("5550109999", "phone")]),
        ("we are 1,440 here", [("1,440", "number")]),
        ("flat 12b and B2B", [("12b", "number"), ("B2B", "number")]),
        ("I met Rosa Delgado there", [("Rosa Delgado", "name")]),
        ("it was Rosa's idea", [("Rosa's", "name")]),
        ("I asked McDonald and Jean-Luc", [("McDonald", "name"), ("Jean-Luc", "name")]),
        ("Dear all, ask Łukasz", [("Łukasz", "name")]),
        # A word of another kind behind a name leaves the name what it is.
        ("I met Rosa Delgado3 there", [("Rosa", "name"), ("Delgado3", "number")]),
        ("we met Rosa Sept. 3 in town", [("Rosa", "name"), ("Sept. 3", "date")]),
        ("we saw Rosa May 3 in town", [("Rosa", "name"), ("May 3", "date")]),
    ],
)
def test_what_must_be_found(text: str, found: list[tuple[str, str]]) -> None:
    assert kinds(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Rosa went home.",  # a name that begins a sentence
        "It rained. Rosa went home.",
        "“Rosa went home,” he said.",
        "He said: Rosa went home.",
        "a line\nRosa went home.",
        "The Best Film Ever Made",  # a headline: its capitals tell nothing
        "I think I'm late, and I’ve said so.",
        "the NHS and HIV and the U.S. said so",
        "rosa delgado went home",
        "You may march on.",
        "May I go? March on!",
        "an e-mail to me @ home",
        "std::vector and a :: b",
        "not a.b or e.g. this",
        "two dollars and four o'clock",
    ],
)
def test_what_must_be_left(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("number 4111 1111 1111 1112 is no card", "card"),  # its last digit is wrong
        ("in 256.1.1.1 one part is too large", "ip"),
        ("at 12:34:56 it is a time", "ip"),
        ("version 1.2.3 is out", "ip"),
        ("078-05-11200 has a digit too many", "social security"),
        ("there were 1.234.567 of them", "phone"),
        ("room 12345 on floor 3", "phone"),
        ("between 1990-2010 it grew", "phone"),
        ("DE89 is short", "iban"),
        ("99/99/9 and 1-2-3", "date"),
        ("the score was 3:1", "time"),
        ("a 10 pm1 type", "time"),
        ("12 eurostars", "money"),
    ],
)
def test_what_is_of_another_kind(text: str, kind: str) -> None:
    assert kind not in {found for _, found in kinds(text)}


def test_the_kinds_are_named() -> None:
    text = (
        f"Mail a@b.org or www.b.org, {CARD}, {IBAN}, 10.0.0.1, 078-05-1120, 2021-03-04, 10:30, "
        "$5, 555-010-9999, 12 or ask Rosa."
    )
    assert {kind for _, kind in kinds(text)} == set(KINDS)


@pytest.mark.parametrize("digits", ["4111111111111111", "5500000000000004", "79927398713"])
def test_luhn_knows_every_single_wrong_digit(digits: str) -> None:
    right = [int(digit) for digit in digits]
    assert luhn(right)
    for place in range(len(right)):
        for wrong in set(range(10)) - {right[place]}:
            assert not luhn([*right[:place], wrong, *right[place + 1 :]])


def test_structured_kinds_are_those_with_a_form_alone() -> None:
    text = f"Ask Rosa (a@b.org) on Monday about {CARD} from 10.0.0.1, for $5."
    assert [span.kind for span in structured_spans(text)] == ["e-mail", "card", "ip"]


@given(st.text(alphabet=st.sampled_from(list("aZé1 0.,:-/+()@$€\n'’½٣")), max_size=80))
def test_spans_are_in_order_without_overlap_and_inside(text: str) -> None:
    spans = by_rules(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    # Any character that Unicode takes for a digit is in a word that is taken.
    hidden = {place for span in spans for place in range(span.start, span.end)}
    assert {place for place, character in enumerate(text) if character.isdigit()} <= hidden


def test_the_first_of_two_spans_that_meet_counts() -> None:
    first, second, third = Span(3, 6, "a"), Span(5, 9, "b"), Span(0, 3, "c")
    assert disjoint([first, second, third]) == (third, first)
    assert disjoint([second, first]) == (second,)
    assert disjoint([Span(0, 9, "a"), first, first]) == (Span(0, 9, "a"),)
    assert disjoint([first, Span(3, 4, "b"), Span(2, 9, "c")]) == (first,)


NONSENSE = (
    "1", "1 ", "1-", "1.", "1,", "1:", "1/", "11 ", "12-", "(1", "(11) ", "+1", "$1", "$", ":",
    "::", "a:", "f", "A1", "AB12 ", "DE89 3704 ", "a@", "a.", "@", "www.", "http://", "Aa ",
    "Rosa ", "'", "Jan ", "May 1 ", "1 of ", "1 p", "1 o'", "\n", "½", "e\u0301",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("unit", NONSENSE)
def test_time_grows_with_the_text(unit: str) -> None:
    """Ten times as much takes some ten times as long, and not a hundred times.

    The bound is 40, and a long text that takes less than half a second has passed in any case: a
    quadratic pattern takes minutes for it. Time is that of the processor, which no other worker
    and no other program makes longer.
    """
    seconds = []
    for length in (10_000, 100_000):
        text = (unit * length)[:length]
        start = time.process_time()
        by_rules(text)
        seconds.append(time.process_time() - start)
    assert seconds[1] < max(40 * seconds[0], 0.5)


def test_random_texts_are_the_same_whatever_stands_far_before() -> None:
    """Findings in a paragraph depend on that paragraph alone."""
    rng = np.random.default_rng(7)
    letters = np.array(list("aRosa 0123456789.,:-/+()@$\n"))
    for _ in range(100):
        text = "it is " + "".join(rng.choice(letters, 40))
        before = "and so it was.\n\n"
        moved = [span._replace(start=span.start + len(before), end=span.end + len(before))
                 for span in by_rules(text)]  # fmt: skip
        assert list(by_rules(before + text)) == moved
