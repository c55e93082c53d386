"""The Crowd page: what the board is given at every setting, and what the views below it say."""

import contextlib
import io
import json
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.trade.ground import GUESSED
from dpcore.crowd.bundled import CROWDS, crowd
from dpcore.crowd.planner import plan
from dpcore.crowd.queries import Queries, of_lists, of_words
from dpcore.crowd.shown import (
    against_the_rest,
    compare_words,
    content_words,
    draw_release,
    drawn_counts,
    k_ary,
    true_difference,
)
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.kinds import kinds_of
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_least, at_most
from dpcore.papers.lesson import TOGETHER_TEXTS, together
from dpcore.papers.ours.learning import TF_IDF, UNDONE, learning_curves
from dpcore.papers.ours.tradeoff import recorded_curves
from dpcore.study.recorded import read_recorded
from pages.crowd import scene
from pages.crowd.scene import AT_THE_DIALS, GROUPS, LEAKAGES, NAMES, REST, SIZES
from pages.crowd.views import KINDS
from tests.pages.app import component, dials, open_link, open_page, shown_text, table, unopened


def board(test: AppTest) -> dict[str, Any]:
    return component(test, "crowd")


@pytest.fixture(scope="module")
def first() -> AppTest:
    return open_page("crowd")


def engine(name: str, leakage: float, texts: int, group: int = 0, every: bool = False) -> Any:
    """Return the comparison of the engine alone, the truth and the lexicon."""
    lexicon = load(None)
    counts, epsilon = crowd(name, lexicon), recorded_curves()["k-ary"].epsilon_at(GUESSED, leakage)
    assert epsilon is not None
    law, p, q = k_ary(create("k-ary", lexicon), epsilon)
    _, every_group = draw_release(counts, law, texts, 2024, f"{leakage:g}")
    outputs = against_the_rest(every_group, group)
    among = None if every else content_words(lexicon)
    share = texts / int(counts.texts.sum())
    return compare_words(outputs, p, q, share, among), true_difference(counts, group), lexicon


def test_rows_are_those_of_the_engine(first: AppTest) -> None:
    data = board(first)
    assert len(data["cells"]) == len(LEAKAGES)
    assert {len(line) for line in data["cells"]} == {len(SIZES) + 1}
    for i, j in ((1, 4), (4, 5), (0, 0)):
        found, truth, lexicon = engine("imdb", LEAKAGES[i], SIZES[j])
        cell = data["cells"][i][j]
        sides = {"up": found.ranked(1).tolist(), "down": found.ranked(-1).tolist()}
        shown = sum(len(cell[side]) for side in sides)
        assert shown == min(20, int(found.differs.sum()))
        for side, places in sides.items():
            for (word, difference, half, true), place in zip(cell[side], places, strict=False):
                assert data["words"][word] == lexicon.words[place]
                expected = [1_000 * each[place] for each in (found.difference, found.half, truth)]
                assert [difference, half, true] == pytest.approx(expected, abs=6e-4)
        wrong = int((found.differs & (found.difference * truth <= 0)).sum())
        count = int(found.differs.sum())
        said = f"{SIZES[j]:,} texts: {count:,} words told apart, "
        missed = int((found.differs & (np.abs(found.difference - truth) > found.half)).sum())
        if count:
            how = f"{wrong} wrongly" if wrong else "none wrongly"
            misses = {0: "", 1: " 1 interval misses the truth."}
            ends = misses.get(missed, f" {missed} intervals miss the truth.")
            assert cell["finding"] == f"{said}{how}.{ends}"
        else:
            assert cell["finding"] == f"{SIZES[j]:,} texts: no word can be told apart."
            assert cell["more"].startswith("Add texts")


def test_more_texts_and_more_leakage_tell_more_with_shorter_intervals(first: AppTest) -> None:
    """The least and the greatest setting; between them one draw need not tell more than another."""
    data = board(first)
    least, most = data["cells"][0][0], data["cells"][-1][-1]
    assert least["up"] == least["down"] == []
    assert len(most["up"]) == len(most["down"]) == 10
    differences = [[len(c["up"]) + len(c["down"]) for c in line] for line in data["cells"]]
    assert all(line[0] <= line[-1] for line in differences)
    halves = {row[0]: row[2] for row in data["cells"][1][-1]["up"]}
    for word, _, half, _ in most["up"]:
        assert half < halves.get(word, np.inf)


def test_everything_drawn_is_inside_the_axis(first: AppTest) -> None:
    data = board(first)
    low, high = data["axis"]["low"], data["axis"]["high"]
    ticks = [tick for tick, _ in data["axis"]["ticks"]]
    assert 0 in ticks
    assert (ticks[0], ticks[-1]) == (low, high)
    for cell in (cell for line in data["cells"] for cell in line):
        for _, difference, half, truth in (*cell["up"], *cell["down"]):
            assert low <= difference - half <= difference + half <= high
            assert low <= truth <= high


def test_private_texts_are_ours_and_nothing_of_the_corpora(first: AppTest) -> None:
    data, ours = board(first), teaching_corpus()
    assert len(data["written"]) == 3
    assert set(data["written"]) <= set(ours.texts)
    for text in data["written"]:
        assert not ours.spans[ours.texts.index(text)]  # nothing private
    assert len(data["texts"]) == len(LEAKAGES)
    for texts in data["texts"]:
        assert len(texts) == 3
        assert not set(texts) & set(data["written"])


@pytest.mark.slow
def test_a_group_of_several_is_compared_with_the_rest() -> None:
    test = open_link("crowd", crowd="agnews", group="1", guessed="33", texts="all")
    data = board(test)
    found, _, lexicon = engine("agnews", 0.33, 24_270, 1)
    cell = data["cells"][3][-1]
    names = [data["words"][row[0]] for row in cell["up"]]
    assert names == [lexicon.words[place] for place in found.ranked(1)[:10]]
    assert data["sides"] == ["more in sports", "more in the rest"]
    assert data["at"] == [3, len(data["cells"][0]) - 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", CROWDS)
def test_every_corpus_is_drawn(name: str) -> None:
    data = board(open_link("crowd", crowd=name, function="true"))
    found, _, lexicon = engine(name, 0.5, 1_000, every=True)
    names = [data["words"][row[0]] for row in data["cells"][-1][2]["up"]]
    assert names == [lexicon.words[place] for place in found.ranked(1)][: len(names)]


def test_all_names_can_be_translated() -> None:
    lexicon = load(None)
    assert set(NAMES) == set(CROWDS)
    assert {group for name in CROWDS for group in crowd(name, lexicon).groups} == set(GROUPS)
    assert REST not in GROUPS


@pytest.mark.parametrize(
    ("link", "at"),
    [
        ({}, (1, 4)),
        ({"guessed": "20", "texts": "300"}, (2, 1)),
        ({"guessed": "19", "texts": "all"}, (2, 6)),
        ({"guessed": "nan", "texts": "-5"}, (1, 4)),
        ({"guessed": "1e9", "texts": "1e9"}, (4, 6)),
        ({"crowd": "nothing", "group": "9"}, (1, 4)),
    ],
)
def test_a_link_sets_the_dials_and_nonsense_does_not(
    link: dict[str, str], at: tuple[int, int]
) -> None:
    test = open_link("crowd", **link)
    assert board(test)["at"] == list(at)
    guessed, texts = dials(test)["crowd_guessed"], dials(test)["crowd_texts"]
    assert (guessed["step"], texts["step"]) == at
    assert guessed["shares"] == list(LEAKAGES)
    assert texts["steps"][-1]["left"][1] == "49,582"


def test_the_numbers_below_are_those_of_the_dials_and_the_python_cell_repeats_them() -> None:
    test = unopened("crowd")
    test.session_state["taking"] = True
    for name, value in {"guessed": "20", "texts": "3000", "part": "In numbers"}.items():
        test.query_params[name] = value
    test = test.run()
    numbers = table(test, "word", "truth")
    found, truth, lexicon = engine("imdb", 0.2, 3_000)
    assert len(numbers) == found.differs.sum() > 3
    for row in numbers.itertuples():
        place = lexicon.index(row.word)
        assert row.difference == pytest.approx(1_000 * found.difference[place])
        assert row.high - row.low == pytest.approx(2_000 * found.half[place])
        assert row.truth == pytest.approx(1_000 * truth[place])
    assert np.all(np.diff(np.abs(numbers["z"])) <= 0)
    (cell,) = [code.value for code in test.code if "import" in code.value]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(cell, {})
    for word in numbers["word"]:
        assert f"'{word}'" in printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "label", "way", "texts"),
    [
        ({}, "k-ary", TF_IDF, 10_000),
        ({"learned_by": "tem", "learned_from": "Estimated counts"}, "tem", UNDONE, 10_000),
        ({"learned_by": "madlib", "learned_from": "Estimated counts"}, "madlib", TF_IDF, 10_000),
        (
            {"learned_by": "<b>", "learned_from": "nonsense", "texts": "all"},
            "k-ary",
            TF_IDF,
            50_000,
        ),
    ],
)
def test_a_classifier_learns_as_it_is_recorded(
    link: dict[str, str], label: str, way: str, texts: int
) -> None:
    test = open_link("crowd", **{"part": "In numbers", "crowd": "yelp", "guessed": "10"} | link)
    assert not test.exception
    curves = learning_curves(read_recorded("learning-yelp"), way)
    clean, own = curves[0], [curve for curve in curves if curve.label == label]
    at = clean.sizes.index(texts)
    right, best = (100 * curve.accuracy[at].mean for curve in (own[1], clean))
    said = shown_text(test)
    assert f"taught by {texts:,} private texts (10 of 100 content words guessed)" in said
    assert f"reads {right:.0f} of 100 clean texts correctly" in said
    assert f"taught by clean ones, {best:.0f}." in said
    (figure,) = test.get("plotly_chart")
    drawn = [trace for trace in json.loads(figure.proto.spec)["data"] if "error_y" in trace]
    names = [f"{100 * curve.level:.0f} of 100 guessed" for curve in own if curve.level]
    assert [trace["name"] for trace in drawn] == ["without privacy", *names]
    for trace, curve in zip(drawn, [clean, *own], strict=True):
        assert trace["y"] == pytest.approx([100 * mean.mean for mean in curve.accuracy])
        assert trace["x"] == list(curve.sizes)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("How is this computed?", ("Benjamini", "docs/crowd.md", "python -m dpcore count")),
        (
            "Privacy of one person",
            ("weakens no guarantee", "one person", "Membership"),
        ),  # an older link
    ],
)
def test_what_is_said_below(part: str, words: tuple[str, ...]) -> None:
    said = shown_text(open_link("crowd", part=part))
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("state", "runs"),
    [
        ({}, False),
        ({"part": "How is this computed?"}, False),
        *(({"part": part}, True) for part in ("In numbers", "Count a word")),
        ({"taking": True}, True),
    ],
)
def test_below_runs_what_shows_the_place_of_the_dials(
    monkeypatch: pytest.MonkeyPatch, state: dict[str, Any], runs: bool
) -> None:
    among: list[str] = []
    monkeypatch.setattr(scene, "run_parts", lambda *parts: among.extend(parts))
    monkeypatch.setattr("pages.shared.link.write", lambda *_: None)
    monkeypatch.setattr("streamlit.session_state", state)
    scene._rested("guessed", LEAKAGES, 3)
    assert state["crowd_guessed"] == "33"
    assert (scene.VIEWS in among) == runs
    scene._rested("texts", (100, 300, 555), 2)
    assert state["crowd_texts"] == "all"


def counted(leakage: float, query: Queries, name: str = "imdb") -> list[dict[str, Any]]:
    lexicon = load(None)
    epsilon = recorded_curves()["k-ary"].epsilon_at(GUESSED, leakage)
    assert epsilon is not None
    texts = crowd(name, lexicon)
    sizes = (*SIZES, int(texts.texts.sum()))
    response = create("k-ary", lexicon)
    return drawn_counts(response, texts, query, epsilon, sizes, 2024, f"{leakage:g}")


def plotted(test: AppTest) -> dict[str, Any]:
    figure, _ = test.get("plotly_chart")
    spec: dict[str, Any] = json.loads(figure.proto.spec)
    return spec


def test_a_word_is_counted_in_more_and_more_texts_as_by_the_engine() -> None:
    test = open_link("crowd", part="Count a word", count="worst", guessed="20", texts="3000")
    rows = counted(0.2, of_words(load(None), ["worst"]))
    here = {row["group"]: row for row in rows if row["texts"] == 3_000}
    low, high, truth = (
        1_000 * here["praise"][name] / here["praise"]["words"] for name in ("low", "high", "truth")
    )
    said = shown_text(test)
    sentence = f"of 1,000 words in praise, {at_least(low, 3)} to {at_most(high, 3)} are “worst”."
    assert f"3,000 texts: {sentence} The truth is {truth:.3g}." in said
    marks = [trace for trace in plotted(test)["data"] if trace["name"] == "blame"]
    own = [row for row in rows if row["group"] == "blame"]
    ends = [1_000 * row["high"] / row["words"] for row in own]
    bar_ends = [y + up for y, up in zip(marks[0]["y"], marks[0]["error_y"]["array"], strict=True)]
    assert bar_ends == pytest.approx(ends)


def test_a_list_is_counted_and_enters_no_link() -> None:
    test = open_link("crowd", part="Count a word", counted="A list", guessed="50", texts="all")
    test.text_area(key="crowd_list").set_value("Worst, awful;worst xyzzy\n<b>").run()
    query = of_lists(load(None), {"A list": ["worst", "awful"]})
    (row, _) = [row for row in counted(0.5, query) if row["texts"] == 49_582]
    said = shown_text(test)
    assert "2 of 5 words are not in the vocabulary and are left out." in said
    assert f"The truth is {1_000 * row['truth'] / row['words']:.3g}." in said
    assert "are words on the list" in said
    address = str(test.query_params).lower()
    assert not [word for word in ("xyzzy", "awful", "worst") if word in address]
    test.text_area(key="crowd_list").set_value("xyzzy").run()
    assert "Type a word of the vocabulary" in shown_text(test)


def test_every_kind_has_a_name_in_plain_words() -> None:
    assert set(kinds_of(load(None)).names) == set(KINDS)


@pytest.mark.slow
def test_a_kind_is_counted_in_every_group() -> None:
    link = {"counted": "A kind", "kind": "noun.food", "crowd": "agnews"}
    test = open_link("crowd", part="Count a word", **link)
    assert "words of the kind food (noun.food)" in shown_text(test)
    names = [trace["name"] for trace in plotted(test)["data"]]
    assert names == ["world", "truth", "sports", "truth", "business", "truth",
                     "science and technology", "truth"]  # fmt: skip


@pytest.mark.parametrize(("error", "texts"), [("10", "12,000"), ("nonsense", "12,000")])
def test_the_planner_says_how_many_texts_it_takes(error: str, texts: str) -> None:
    said = shown_text(open_link("crowd", part="Count a word", error=error))
    assert f"Counting “great” within 10 % takes {texts} texts of 219 words" in said
    lexicon, counts = load(None), crowd("imdb", load(None))
    epsilon = recorded_curves()["k-ary"].epsilon_at(GUESSED, 0.1)
    words = int(counts.words.sum())
    planned = plan(
        create("k-ary", lexicon),
        error=0.1,
        epsilon=epsilon,
        words="great",
        share=int(counts.counts[:, lexicon.index("great")].sum()) / words,
        words_per_text=words / int(counts.texts.sum()),
    )
    assert planned.texts is not None
    assert 11_900 < planned.texts <= 12_000
    assert "python -m dpcore plan --mechanism k-ary" in said


def test_start_and_the_lesson_say_what_the_page_opens_with() -> None:
    lexicon = load(None)
    sentence = scene.first_told(lexicon)
    told = together(lexicon).told[TOGETHER_TEXTS]
    assert f"{TOGETHER_TEXTS:,} film reviews" in sentence
    assert f"{told.words.size} words in all" in sentence
    for sign in (1, -1):
        assert all(f"“{word}”" in sentence for word in told.clearest(lexicon, sign, 4))
    opened = component(open_link("crowd"), "crowd")
    leakage, size = opened["at"]
    cell = opened["cells"][leakage][size]
    assert cell["finding"].startswith(f"{TOGETHER_TEXTS:,} texts: {told.words.size} words told")
    best = [opened["words"][row[0]] for row in cell["up"][:4]]
    assert best == told.clearest(lexicon, 1, 4)


def test_an_interval_that_misses_its_truth_is_seen_as_that(first: AppTest) -> None:
    """The opening view has one: the group is correct, and the difference is estimated too large."""
    data = board(first)
    cell = data["cells"][data["at"][0]][data["at"][1]]
    assert cell["finding"].endswith(", none wrongly. 1 interval misses the truth.")
    first.session_state["part"] = AT_THE_DIALS
    shown = table(first.run(), "truth", "inside", "right")
    outside = (shown["truth"] < shown["low"]) | (shown["truth"] > shown["high"])
    assert outside.sum() == 1
    assert shown["inside"].tolist() == (~outside).tolist()
    assert shown["right"].all()
