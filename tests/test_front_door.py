"""The front door: calls of a notebook, displays, and refusals."""

import ast
import copy
import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore
from dpcore import display
from dpcore.audit.report import audit_report
from dpcore.errors import DpcoreError, EpsilonError, UnknownMechanismError, UnknownWordError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.words import select_words
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.rewrite.sentence import Sentence
from tests.mechanisms.contract import SMALL, every_mechanism, make, typical

PACKAGE = Path(dpcore.__file__).parent


def front_door() -> tuple[Lexicon, Mechanism, Sentence]:
    lexicon = Lexicon(
        "<small>", ("the", "<b>bold</b>", "doctor", "nurse", "rain"), np.eye(5, dtype=np.float32)
    )
    tem = dpcore.mechanism("tem", lexicon)
    text = dpcore.read("The doctor, <i>the</i> nurse & rain.", lexicon)
    return lexicon, tem, text


# -- the names


def test_the_stub_names_what_the_package_has() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    stated = next(
        ast.literal_eval(node.value)
        for node in stub.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert sorted(stated) == stated == sorted(dpcore.__all__)
    assert set(stated) <= set(dir(dpcore))
    for node in [node for node in stub.body if isinstance(node, ast.ImportFrom)]:
        for alias in node.names:
            name = alias.asname or alias.name
            module = __import__(str(node.module), fromlist=[alias.name])
            if name not in {"audit", "lexicon"}:  # rooms that can be called, tested below
                assert getattr(dpcore, name) is getattr(module, alias.name)
    assert (PACKAGE / "py.typed").is_file()


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dpcore.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_itself_imports_no_room() -> None:
    """Rooms are named by strings, so that the ground of the house stays the ground."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == [
        "from __future__ import annotations",
        "from importlib import import_module",
    ]


def test_rooms_that_are_names_of_the_front_door_can_be_called() -> None:
    import dpcore.audit.report  # after which `dpcore.audit` is the package, in any order of imports
    import dpcore.lexicon.catalogue

    assert dpcore.lexicon().fingerprint == load().fingerprint
    assert len(dpcore.lexicon("default", limit=10)) == 10
    tem = make("tem.v1")
    assert dpcore.audit(tem, epsilon=2) == audit_report(tem, 2)
    assert dpcore.audit(tem, 2, words=5, seed=3) == audit_report(tem, 2, words=5, seed=3)


# -- the ten lines


def test_the_ten_lines() -> None:
    dp = dpcore
    lex = dp.lexicon()
    tem = dp.mechanism("tem", lex)
    assert "\n" not in repr(tem)
    assert tem.replace("doctor", epsilon=5) in lex
    (word, probability), *others = tem.law("doctor", epsilon=5).top(3)
    assert (word, len(others)) == ("doctor", 2)
    assert 0.9988 < probability < 0.9989
    assert "proved" in repr(tem.guarantee(5))
    text = dp.read("The weather was terrible.", lex)
    assert dp.release(text, tem, epsilon=20).endswith(".")
    assert [len(rewrite.tokens) for rewrite in dp.draw(text, tem, seed=1).at(5, 20, 80)] == [5] * 3
    table = dp.deniability(tem, ["doctor"], [1, 2, 4]).to_pandas()
    assert table["word"].tolist() == ["doctor"] * 3
    assert dp.audit(tem, epsilon=5, words=5).label == "proved"


def test_mechanisms_take_their_parameters_by_name() -> None:
    tem: Any = dpcore.mechanism("tem", SMALL, beta=0.01)
    assert tem.beta == 0.01
    with pytest.raises(UnknownMechanismError, match="unknown mechanism 'term'"):
        dpcore.mechanism("term", SMALL)
    with pytest.raises(DpcoreError, match="has no parameter 'gamma'"):
        dpcore.mechanism("tem", SMALL, gamma=1)


def test_a_draw_at_several_epsilons_is_the_draw_at_each() -> None:
    _, tem, text = front_door()
    draw = dpcore.draw(text, tem, seed=1)
    several = draw.at(0.5, 3, 90)
    assert list(several.epsilons) == [0.5, 3, 90]
    assert len(several) == 3
    assert [reading.text for reading in several] == [draw.at(e).text for e in (0.5, 3, 90)]
    assert several[2] == draw.at(90)
    assert str(several).splitlines()[1] == f"ε = 3: {draw.at(3).text}"
    for wrong in (0, -1, np.nan, np.inf):
        with pytest.raises(EpsilonError, match="finite number > 0"):
            draw.at(1, wrong)


def test_a_release_is_bare_text_with_fresh_noise() -> None:
    lexicon, tem, _ = front_door()
    text = dpcore.read("doctor nurse rain the " * 20, lexicon)
    released = {dpcore.release(text, tem, epsilon=0.01) for _ in range(5)}
    assert all(type(output) is str for output in released)
    assert len(released) == 5  # two of 80 nearly uniform words agree with probability 5^−80


# -- words where indices are


@pytest.mark.slow
@every_mechanism
def test_words_are_taken_wherever_indices_are(key: str) -> None:
    mechanism = make(key)
    epsilon, word = typical(mechanism), SMALL.words[7]
    by_word, by_index = (mechanism.law(w, epsilon) for w in (word, 7))
    np.testing.assert_array_equal(by_word.probabilities, by_index.probabilities)
    assert by_word.probability(word) == by_word.probability(7)
    several: list[Any] = [[word, 3], np.array([7, 3]), np.array([word, SMALL.words[3]])]
    for words in several:
        outputs = mechanism.sample(np.random.default_rng(0), words, epsilon)
        np.testing.assert_array_equal(
            outputs, mechanism.sample(np.random.default_rng(0), np.array([7, 3]), epsilon)
        )
    assert mechanism.check_words(word).tolist() == [7]
    assert mechanism.replace(word, epsilon) in SMALL
    assert mechanism.replace(7, epsilon=epsilon) in SMALL


@every_mechanism
def test_an_unknown_word_is_named(key: str) -> None:
    mechanism = make(key)
    epsilon = typical(mechanism)
    for call in (
        lambda: mechanism.law("docter", epsilon),
        lambda: mechanism.replace("docter", epsilon),
        lambda: mechanism.check_words(["docter"]),
        lambda: mechanism.law(0, epsilon).probability("docter"),
        lambda: dpcore.deniability(mechanism, "docter", epsilon),
    ):
        with pytest.raises(UnknownWordError, match="'docter' is not in lexicon") as caught:
            call()
        assert isinstance(caught.value, ValueError)


def test_replace_has_fresh_noise_and_no_seed() -> None:
    tem = make("tem.v1")
    words = {tem.replace(0, epsilon=1e-6) for _ in range(60)}
    assert len(words) > 5  # of 40 nearly equal ones; fewer with a probability below 10⁻⁴⁰
    with pytest.raises(TypeError):
        tem.replace(0, epsilon=1, seed=1)  # type: ignore[call-arg]
    with pytest.raises(EpsilonError):
        tem.replace(0, epsilon=0)


def test_deniability_takes_words_indices_and_selections() -> None:
    tem, word = make("tem.v1"), SMALL.words[3]
    rows = dpcore.deniability(tem, [word, 5], [1, 2]).rows()
    assert [row["word"] for row in rows] == [word, word, SMALL.words[5], SMALL.words[5]]
    assert dpcore.deniability(tem, word, 1).rows() == rows[:1]
    selection = select_words(SMALL, [word])
    assert dpcore.deniability(tem, selection, [1, 2], runs=1000).rows() == rows[:2]
    with pytest.raises(DpcoreError, match="word indices must lie in"):
        dpcore.deniability(tem, [40], 1)


# -- what they show


@every_mechanism
def test_every_value_of_a_mechanism_is_one_line(key: str) -> None:
    mechanism = make(key)
    epsilon = typical(mechanism)
    for value in (
        mechanism,
        mechanism.lexicon,
        mechanism.law(0, [epsilon]),
        mechanism.guarantee(epsilon),
    ):
        assert "\n" not in repr(value)
        assert len(repr(value)) < 600
    for value in (mechanism.lexicon, mechanism.law(0, epsilon), mechanism.guarantee(epsilon)):
        checked(value._repr_html_())


def test_long_mechanisms_and_lexicons_are_short_lines() -> None:
    lexicon = load()
    for key in MECHANISMS:
        assert len(repr(create(key, lexicon))) < 200


def test_a_typed_text_is_not_in_a_line_that_a_log_may_hold() -> None:
    _, tem, text = front_door()
    for value in (text, dpcore.draw(text, tem, seed=1)):
        assert "\n" not in repr(value)
        assert "nurse" not in repr(value)
        checked(value._repr_html_())


def test_nothing_that_was_typed_becomes_html() -> None:
    lexicon, tem, text = front_door()
    draw = dpcore.draw(text, tem, seed=1)
    report = dpcore.audit(tem, epsilon=2)
    values = (
        lexicon, tem.law("doctor", [0.5, 1, 2, 3, 4]), tem.guarantee(2), text, draw,
        draw.at(2), draw.at(1, 2), dpcore.deniability(tem, [0, 1, 2], [1, 2]), report,
    )  # fmt: skip
    for value in values:
        shown = value._repr_html_()
        assert "<b>bold</b>" not in shown
        assert "<i>" not in shown
        checked(shown)


def test_a_law_shows_bars_of_its_likeliest_words() -> None:
    _, tem, _ = front_door()
    shown = tem.law("doctor", [0.5, 1, 2, 3, 4])._repr_html_()
    assert shown.count("ε = ") == 4
    assert "1 more ε are not shown" in shown
    assert "closed form (exact)" in shown
    share = tem.law("doctor", 0.5).top(1)[0][1]
    assert f"width:{100 * share:.4g}%" in shown
    assert "standard error up to" in make("madlib.v1").law(0, 2.0)._repr_html_()


def test_a_draw_shows_which_words_changed_and_a_text_which_are_protected() -> None:
    _, tem, text = front_door()
    rewrite = dpcore.draw(text, tem, seed=1).at(0.2)
    assert rewrite._repr_html_().count("<b ") == rewrite.changed > 0
    assert re.search(r"<b [^>]*>doctor</b>, ", text._repr_html_())
    assert "Not in the vocabulary: " in text._repr_html_()


def test_a_guarantee_shows_its_sentence_status_and_source() -> None:
    guarantee = make("tem.v1").guarantee(5)
    for shown in (repr(guarantee), html.unescape(guarantee._repr_html_())):
        for part in (guarantee.statement, str(guarantee.status), guarantee.source):
            assert part in shown


def test_a_long_table_says_what_it_leaves_out() -> None:
    shown = display.table(("a", "b"), [(number, None) for number in range(25)])
    assert shown.count("<tr>") == 21
    assert "5 more rows are not shown" in shown


def test_an_audit_shows_its_figures() -> None:
    _, tem, _ = front_door()
    report = dpcore.audit(tem, epsilon=2)
    assert "\n" not in repr(report)
    assert f"true ε = {report.epsilon_effective:.6g}" in repr(report)
    assert "Least protected: " in report._repr_html_()


def test_what_cannot_change_is_not_copied() -> None:
    _, tem, _ = front_door()
    assert copy.deepcopy(tem) is tem
    assert copy.deepcopy([tem.lexicon])[0] is tem.lexicon


def checked(shown: str) -> None:
    """HTML whose tags are those of `dpcore.display`, closed in order, without scripts or links."""
    parser = _Tags()
    parser.feed(shown)
    parser.close()
    assert not parser.open
    assert parser.seen <= {"div", "span", "b", "table", "thead", "tbody", "tr", "td", "th"}
    assert not re.search(r"https?:|javascript|url\(", html.unescape(shown))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


# -- the colours


@pytest.mark.parametrize("colour", [display._BLUE, display._ORANGE])
def test_colours_can_be_seen_on_white_and_on_black(colour: str) -> None:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = float(np.dot(linear, (0.2126, 0.7152, 0.0722)))  # WCAG 2.2, relative luminance
    assert 1.05 / (luminance + 0.05) >= 3
    assert (luminance + 0.05) / 0.05 >= 3
