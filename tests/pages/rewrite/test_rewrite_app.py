"""The Rewrite page under AppTest: what it shows, what it refuses, what it never renders."""

import contextlib
import functools
import io
import json
import math
import re
import shlex
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from dpcore.attack.trade.ground import GUESSED
from dpcore.papers.ours.tradeoff import recorded_curve
from pages.shared import link, session
from pages.shared.dial import GROUPS
from pages.shared.promised import promised_epsilon
from pages.shared.session import DEFAULT_MECHANISMS, DEFAULT_PRESET, PRESETS, first_bench
from pages.shared.sidebar import Choices
from tests.pages.app import (
    dials,
    grid,
    open_link,
    open_page,
    rows,
    strings_of,
    turn,
    unopened,
    written,
)  # fmt: skip

VIEWS = ["What is not protected", "One word: strip and odds", "100 draws", "A new sentence"]
FRAGMENTS = "rewrite_dials", "rewrite_grid", "rewrite_views"


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    return functools.partial(open_page, "rewrite")


def shown_text(test: AppTest) -> str:
    return " ".join(str(element.value) for element in test.text)


def test_opens_on_a_sentence_that_is_already_rewritten(opened: Callable[..., AppTest]) -> None:
    test = opened()
    drawn = rows(test)
    assert len(drawn) == len(DEFAULT_MECHANISMS) == 6
    source = "".join(token["gap"] + token["text"] for token in grid(test)["source"])
    assert source == PRESETS[DEFAULT_PRESET]
    assert any(token.get("changed") for token in drawn["madlib.v1"]["tokens"])
    assert len(grid(test)["groups"]) == 3


@pytest.mark.slow
def test_every_preset_is_rewritten(opened: Callable[..., AppTest]) -> None:
    test = opened()
    for name, text in PRESETS.items():
        test.session_state["preset"] = name
        test.session_state["text"] = text
        test.run()
        source = "".join(token["gap"] + token["text"] for token in grid(test)["source"])
        assert source == text


def test_the_dial_moves_the_words_and_the_views(opened: Callable[..., AppTest]) -> None:
    test = opened()
    low = rows(turn(test, GROUPS[0], 0.1, *FRAGMENTS))["madlib.v1"]
    high = rows(turn(test, GROUPS[0], 1000.0, *FRAGMENTS))["madlib.v1"]
    assert all(token["changed"] for token in low["tokens"] if "place" in token)
    words = sum("place" in token for token in low["tokens"])
    assert low["count"] == f"0 of {words} words stay as they are"
    assert written(high) == PRESETS[DEFAULT_PRESET]
    assert high["count"] == f"{words} of {words} words stay as they are"
    told = dials(test)["metric"]
    assert told["epsilons"][told["step"]] == 1000.0


def test_each_group_has_a_dial_and_an_old_link_shows_what_it_showed() -> None:
    test = open_link("rewrite", eps_metric="20", eps_log="8", eps_local="100")
    told = {name: dial["epsilons"][dial["step"]] for name, dial in dials(test).items()}
    assert told == pytest.approx({"metric": 20.0, "log": math.exp(8.0), "local": 100.0})
    assert [group["epsilon"] for group in grid(test)["groups"]] == [
        group.reading(told[group.name]) for group in GROUPS
    ]


def test_a_fresh_visit_begins_where_it_is_known_what_is_guessed(
    opened: Callable[..., AppTest],
) -> None:
    for dial in dials(opened()).values():
        about, value = dial["steps"][dial["step"]]["left"]
        assert about.startswith("% ")
        assert re.search(r"\d, near (≥\xa0)?\d", value)


def test_at_the_same_leakage_each_row_has_the_epsilon_of_its_curve() -> None:
    test = open_link("rewrite", compared="same leakage", level="50")
    (dial,) = dials(test).values()
    assert dial["steps"][dial["step"]]["left"] == [
        "Guessed by frequency",
        "50 of 100 content words",
    ]
    for key, row in rows(test).items():
        kind = session.mechanism(session.lexicon("default"), key)
        curve = recorded_curve(kind)
        assert curve is not None
        epsilon = curve.epsilon_at(GUESSED, 0.5)
        assert epsilon is not None
        assert curve.at_epsilon(GUESSED, epsilon) == pytest.approx(0.5)
        bench = first_bench(kind.lexicon, Choices("default").treatment)
        # One ε alone, as the command of the row draws it.
        drawn = bench.draw(kind, link.SEED, 0, (epsilon,)).at(epsilon)
        assert written(row) == drawn.text
        assert row["count"].startswith(f"{promised_epsilon(kind, epsilon)} · {drawn.stayed} of")
    assert {group["epsilon"] for group in grid(test)["groups"]} == {""}


def test_a_row_without_an_epsilon_at_this_leakage_says_why() -> None:
    mechanisms: dict[str, str | list[str]] = {
        "metric": ["tem", "budget"], "log": "truncated-gumbel", "local": "neighbour-response"
    }  # fmt: skip
    opened = open_link("rewrite", compared="same leakage", level="40", **mechanisms)
    told = {key: row.get("problem", "") for key, row in rows(opened).items()}
    assert not told["tem.v1"]
    assert told["budget.v1"].startswith("What it gives away was not measured")
    assert told["truncated-gumbel.v1"] == "not measured below 47 of 100"
    assert told["neighbour-response.v1"] == "never gives away more than 38 of 100"


@pytest.mark.parametrize("level", ["", "nan", "-1", "1e9", "<b>", "33"])
def test_a_leakage_of_nonsense_is_a_step_of_the_dial(level: str) -> None:
    test = open_link("rewrite", compared="same leakage", level=level)
    (dial,) = dials(test).values()
    assert 0 <= dial["step"] < len(dial["steps"])
    assert len(rows(test)) == len(DEFAULT_MECHANISMS)


def test_the_commands_cover_every_row() -> None:
    for compared in ("same ε", "same leakage"):
        test = unopened("rewrite", seconds=240)
        test.session_state["taking"] = True
        test.query_params["compared"] = compared
        test.query_params["level"] = "50"
        test.run()
        (lines,) = [code.value for code in test.code if code.value.startswith("python -m dpcore")]
        said = [shlex.split(line) for line in lines.splitlines()]
        keys = [words[words.index("--mechanism") + 1] for words in said]
        assert keys == list(rows(test))
        assert len({words[words.index("--epsilon") + 1] for words in said}) == (
            3 if compared == "same ε" else 6
        )


@pytest.mark.slow
def test_a_chosen_word_is_shown_in_the_grid_and_below_it(opened: Callable[..., AppTest]) -> None:
    test = opened(view="One word: strip and odds")
    test.selectbox(key="place_box").set_value(5).run()
    test.selectbox(key="via_box").set_value("tem").run()
    assert (grid(test)["place"], grid(test)["mechanism"]) == (5, "tem.v1")


@pytest.mark.slow
def test_a_word_of_a_sentence_that_was_changed_is_not_chosen(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view="One word: strip and odds")
    before = grid(test)["place"]
    field = test.selectbox(key="place_box")
    field.options = [f"{place}. of another sentence" for place in range(len(field.options))]
    with pytest.MonkeyPatch.context() as patch:
        usual = vars(Selectbox)["index"]
        patch.setattr(
            Selectbox,
            "index",
            property(lambda self: 3 if self.key == "place_box" else usual.__get__(self)),
        )
        test.run()
    assert not test.exception
    assert grid(test)["place"] == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "link",
    [
        {"seed": "7", "draw": "2", "eps_metric": "14", "eps_local": "80"},
        {"unknown": "mask", "stop": "true", "preset": "contact", "metric": ["vickrey", "tem"]},
    ],
)
def test_the_python_cell_prints_every_row(link: dict[str, str | list[str]]) -> None:
    test = unopened("rewrite", seconds=240)
    test.session_state["taking"] = True
    for name, value in link.items():
        test.query_params[name] = value
    test.run()
    drawn = rows(test)
    (cell,) = [code.value for code in test.code if code.value.startswith("import ")]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(cell, {})
    assert len(drawn) > 1
    assert printed.getvalue() == "".join(
        f"{key.removesuffix('.v1')}: {written(row)}\n" for key, row in drawn.items()
    )


def test_the_link_holds_the_text_only_if_asked(opened: Callable[..., AppTest]) -> None:
    test = opened(taking=True, text="my own words & more")
    assert "own+words" not in test.code[0].value
    # The word in focus is the first one that is protected, which follows from the text.
    assert "seed=2024" in test.code[0].value
    assert "place=" not in test.code[0].value
    test.toggle(key="link_text").set_value(True).run()
    assert "text=my+own+words+%26+more" in test.code[0].value
    assert "contains your text" in test.warning[0].value


def test_what_all_words_give_away_together_is_said_where_it_is_less_than_the_sum(
    opened: Callable[..., AppTest],
) -> None:
    texts = {key: dict(row["promise"])["For this text"] for key, row in rows(opened()).items()}
    together = {key: "Together, for δ = 1e-06, " in text for key, text in texts.items()}
    assert together["gaussian.v1"]
    assert "(the plain sum is " in texts["gaussian.v1"]
    assert not together["truncated-gumbel.v1"]  # a refuted claim
    assert not together["madlib.v1"]  # the farthest words leave nothing to win


def test_the_same_seed_and_draw_show_the_same_words(opened: Callable[..., AppTest]) -> None:
    first, second = opened(), opened()
    assert rows(first) == rows(second)
    first.button(key="again").click().run()
    assert first.number_input(key="draw").value == 1
    assert rows(first) != rows(second)
    second.number_input(key="draw").set_value(1).run()
    assert rows(first) == rows(second)
    second.number_input(key="seed").set_value(7).run()
    assert rows(first) != rows(second)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("word " * 5000, "2,000"),
        ("a b " * 150, "200"),
        ("secretword \x00 zero", "character"),
    ],
)
def test_a_bad_text_gets_a_clear_refusal(
    opened: Callable[..., AppTest], text: str, reason: str
) -> None:
    test = opened(text=text)
    assert not test.exception
    assert len(test.error) == 1
    assert reason in shown_text(test)
    drawn = [element.proto.component_name for element in test.get("bidi_component")]
    assert not [name for name in drawn if name.endswith(".grid")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)> <script>alert(2)</script>",
        "![x](http://example.org/pixel.png) [link](javascript:alert(1))",
        "**bold** :red[colour] $x^2$ :material/bug_report:",
        "Grüße aus Zürich 👩‍👩‍👧 и שלום עולם",
    ],
)
def test_typed_text_is_data_and_never_markup(opened: Callable[..., AppTest], text: str) -> None:
    test = opened(text=text)
    source = "".join(token["gap"] + token["text"] for token in grid(test)["source"])
    assert source == text
    for view in VIEWS:
        test.session_state["view"] = view
        test.run()
        assert not test.exception
        rendered = [e.value for kind in (test.markdown, test.error, test.info) for e in kind]
        for piece in ("onerror", "http://example", "**bold**", "javascript:", "Zürich", "שלום"):
            assert not any(piece in str(value) for value in rendered)


@pytest.mark.slow
def test_a_word_outside_the_vocabulary_is_marked_and_has_no_law(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(text="hello qqzzyyxx", view="One word: strip and odds")
    assert [token["role"] for token in grid(test)["source"]] == ["known", "unknown"]
    test.session_state["place"] = 1
    test.session_state["looked_at"] = ("tem.v1", 1)
    test.run()
    (likely,) = grid(test)["likely"]
    assert likely["outputs"] == []
    assert "not in the vocabulary" in " ".join(element.value for element in test.info)


def test_the_card_of_an_exact_mechanism_is_exact(opened: Callable[..., AppTest]) -> None:
    test = opened(looked_at=("tem.v1", 5))
    (likely,) = grid(test)["likely"]
    assert likely["id"] == "tem.v1/5"
    assert likely["note"].startswith("exact")
    probabilities = [probability for _, probability, _ in likely["outputs"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert len(probabilities) == 5
    assert likely["outputs"][0][0] == "hospital"
    assert likely["outputs"][0][2] == 0.0
    test.session_state["looked_at"] = ("madlib.v1", 5)
    test.run()
    (likely,) = grid(test)["likely"]
    assert likely["note"].startswith("estimated")


def test_out_of_its_domain_a_mechanism_says_why(opened: Callable[..., AppTest]) -> None:
    test = opened(local=["trlaplace", "gaussian"])
    row = rows(test)["trlaplace.v1"]
    assert "tokens" not in row
    assert "epsilon of trlaplace must be <" in row["problem"]
    turn(test, GROUPS[2], 5.0, *FRAGMENTS)
    row = rows(test)["trlaplace.v1"]
    assert row["status"]["kind"] == "refuted"
    assert "problem" not in row


def test_no_mechanism_is_a_hint_and_no_error(opened: Callable[..., AppTest]) -> None:
    test = opened(metric=[], log=[], local=[])
    assert not test.exception
    assert "Choose at least one mechanism" in test.info[0].value


def test_a_single_group_has_a_single_dial(opened: Callable[..., AppTest]) -> None:
    test = opened(metric=["tem"], log=[], local=[])
    assert list(dials(test)) == ["metric"]
    assert list(rows(test)) == ["tem.v1"]


def test_the_options_reach_the_engine(opened: Callable[..., AppTest]) -> None:
    test = opened(text="the qqzzyyxx of it", stop=True, unknown="mask")
    tokens = rows(test)["tem.v1"]["tokens"]
    assert [t["text"] for t in tokens if t.get("role") == "released"] == ["the", "of", "it"]
    assert [t["text"] for t in tokens if t.get("role") == "unknown"] == ["[…]"]
    test = opened(text="the qqzzyyxx", unknown="reject")
    assert "choose another policy" in shown_text(test)


@pytest.mark.slow
@pytest.mark.parametrize("text", [*(PRESETS[name] for name in ("hospital", "contact")), "... !?"])
def test_every_view_opens(opened: Callable[..., AppTest], text: str) -> None:
    for view in VIEWS:
        test = opened(text=text, view=view)
        assert not test.exception, (view, test.exception)


@pytest.mark.slow
def test_nothing_typed_enters_a_shared_cache(opened: Callable[..., AppTest]) -> None:
    secret = "unmistakablesecretword"
    test = opened(text=f"hello {secret}", view="One word: strip and odds")
    assert secret in json.dumps(grid(test)["source"])
    assert strings_of(session.lexicon("default"))
    words = session.lexicon("default")
    first = first_bench(words, Choices("default").treatment)
    shared = [words, session.directions(words.fingerprint), first]
    shared += [session.mechanism(words, key) for key in rows(test)]
    for thing in (*shared, session.lexicon_names()):
        assert not any(secret in text for text in strings_of(thing))


def test_a_refused_setting_leaves_out_one_mechanism(opened: Callable[..., AppTest]) -> None:
    test = opened(tem_beta=0.0)
    assert "beta of tem must be > 0" in shown_text(test)
    assert "tem.v1" not in rows(test)
    assert len(rows(test)) == 5
    test.number_input(key="tem_beta").set_value(0.01).run()
    assert not test.error
    assert "tem.v1" in rows(test)


def test_a_setting_reaches_its_mechanism(opened: Callable[..., AppTest]) -> None:
    test = opened(vickrey_t=0.0)
    plain_noise = rows(test)["vickrey.v1"]
    test.number_input(key="vickrey_t").set_value(1.0).run()
    assert rows(test)["vickrey.v1"]["strip"] != plain_noise["strip"]
    assert written(rows(test)["vickrey.v1"]) != written(plain_noise)


def test_a_rule_for_budgets_is_typed_into_the_settings_and_stands_in_the_link() -> None:
    test = open_link(
        "rewrite", metric=["tem", "budget"], budget_rule="noun.person:0.2,rank>20000:0.5"
    )
    assert test.text_input(key="budget_rule").value == "noun.person:0.2,rank>20000:0.5"
    assert "budget.v1" in rows(test)
    test.text_input(key="budget_rule").set_value("tfidf:0.5").run()
    assert not test.exception
    assert "budget.v1" not in rows(test)
    assert "'tfidf' is no public fact about a word" in shown_text(test)


@pytest.mark.slow
def test_hyperbolic_noise_has_words_of_its_own_and_says_so_elsewhere() -> None:
    shown = open_link("rewrite", lexicon="hyperbolic", metric=["hyperbolic", "tem"], eps_metric="5")
    row = rows(shown)["hyperbolic.v1"]
    assert any("place" in token for token in row["tokens"])
    # On the default words there is no such noise at this ε.
    elsewhere = open_link("rewrite", metric=["hyperbolic", "tem"], eps_metric="5")
    assert not elsewhere.exception
    assert "299" in json.dumps(rows(elsewhere)["hyperbolic.v1"])


def test_redactors_stand_beside_the_mechanisms_when_they_are_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    test = open_link("rewrite", redactors=["rules"], preset="letter")
    before = rows(test)["redactor-rules"]
    blocks = [token["text"] for token in before["tokens"] if token["role"] == "block"]
    assert blocks == ["name", "name", "date"]
    assert "".join(t["text"] for t in before["tokens"] if t["role"] != "block") == (
        "Anna  moved to  on  and works for a small bank there."
    )
    assert before["count"] == "11 of 16 words stay as they are"
    assert before["status"]["label"] == "no guarantee"
    assert grid(test)["groups"][-1]["epsilon"] == "no ε: nothing is guaranteed about what stays"
    monkeypatch.setattr("pages.rewrite.redactors.is_installed", lambda: False)
    test.run()
    assert test.pills(key="redactors").options == ["rules"]
    (said,) = (m.value for m in test.sidebar.markdown if "optional packages" in str(m.value))
    assert "requirements-redact.txt" in said


def test_no_redactor_is_read_for_the_first_view(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.shared.session.redact", lambda *_: pytest.fail("it was read"))
    assert not any(key.startswith("redactor") for key in rows(opened()))
