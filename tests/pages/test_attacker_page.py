"""The Attacker page under AppTest: the odds card, every prior, the game, sentences, nonsense."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.game import Game
from dpcore.cli import main
from dpcore.errors import DpcoreError, StudyError
from dpcore.lexicon import catalogue
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import MECHANISMS
from pages.attacking import channels, recorded_view
from pages.attacking.believing import AROUND, LIST
from pages.attacking.board import BUDGET, EXPOSED, GAME, OUTPUT, SENTENCE
from pages.attacking.listing import ANY, LISTS, NEAR, OWN
from pages.shared import resources
from tests.mechanisms import lexicons
from tests.needs import ROOT

FEW = tuple(
    "garage monday doctor hospital city my in the said that sister needs a new heart medicine "
    "cancer flu asthma diabetes depression pneumonia kitchen was nurse patient".split()
)


def small() -> Lexicon:
    """A lexicon of which all words are weighed at once: nothing has to be prepared."""
    return Lexicon("few", FEW, lexicons.cloud(len(FEW), 5).vectors)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., AppTest]]:
    monkeypatch.setattr(catalogue, "load", lambda *_, **__: small())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    resources.lexicon.clear()

    def make(**link: str) -> AppTest:
        test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        test.switch_page("pages/attacker.py")
        for name, value in link.items():
            test.query_params[name] = value
        return test.run()

    yield make
    resources.lexicon.clear()


def said(test: AppTest) -> str:
    assert not test.exception, test.exception
    parts = (
        *test.text, *test.markdown, *test.subheader, *test.code, *test.error, *test.info,
        *test.warning,
    )  # fmt: skip
    return " ".join(str(element.value) for element in parts)


def metrics(test: AppTest) -> dict[str, str]:
    return {m.label: m.value for m in test.metric}


def table(test: AppTest, *columns: str) -> Any:
    return next(d.value for d in test.dataframe if set(columns) <= set(d.value.columns))


def type_word(test: AppTest, key: str, word: str) -> AppTest:
    """Type a word that is not offered, which `AppTest` does not know by itself."""
    box = test.selectbox(key=key)
    box.options.append(word)
    return box.set_value(word).run()


def test_it_opens_with_the_odds_card(opened: Callable[..., AppTest]) -> None:
    test = opened()
    shown = said(test)
    assert "“garage” came out of tem at ε = 2.5" in shown
    assert "Seen “garage”:" in shown
    assert "Before it was seen: 4 in 100" in shown
    assert "At most, by the promise:" in shown
    assert "Of 100 cases in which “garage” is seen:" in shown
    rows = table(test, "now", "before")
    assert rows["probability"].is_monotonic_decreasing
    assert len(test.get("plotly_chart")) == 2


def test_a_step_of_the_slider_moves_the_posterior(opened: Callable[..., AppTest]) -> None:
    test = opened()
    weak, strong = [], []
    for epsilon, held in ((0.1, weak), (20.0, strong)):
        test.select_slider(key="eps_metric").set_value(epsilon).run()
        held += table(test, "now", "before")["probability"].tolist()
    assert weak[0] < 0.1
    assert strong[0] > 0.99


def test_another_output_is_chosen_by_typing(opened: Callable[..., AppTest]) -> None:
    test = opened()
    type_word(test, "find_seen", "DOCTOR")
    assert "“doctor” came out of tem" in said(test)
    assert test.query_params["seen"] in ("doctor", ["doctor"])


@pytest.mark.parametrize("nonsense", ["zzqq!!", "<b>x</b>", "**", "$x$"])
def test_an_unknown_word_is_refused_and_changes_nothing(
    opened: Callable[..., AppTest], nonsense: str
) -> None:
    test = opened()
    marked = [m.value for m in test.markdown]
    for key in ("find_seen", "find_word", "find_other_word"):
        type_word(test, key, nonsense)
        shown = said(test)
        assert "This word could not be chosen" in shown
        assert f"{nonsense!r} is not among the {len(FEW)} words" in shown
        assert "“garage” came out" in shown
        assert [m.value for m in test.markdown] == marked
        assert "could not be chosen" not in said(test.run())


def test_a_typed_list_is_the_prior(opened: Callable[..., AppTest]) -> None:
    test = opened()
    test.segmented_control(key="prior").set_value(LIST).run()
    assert set(table(test, "now", "before")["word"]) == {"garage", "kitchen", "monday"}
    assert "summed over all" in said(test)
    test.text_area(key="prior_list").set_value("doctor=0.75, nurse=0.25").run()
    rows = table(test, "now", "before")
    assert set(rows["before"]) == {"75 in 100", "25 in 100"}
    assert "nurse" not in str(test.query_params)
    test.text_area(key="prior_list").set_value("doctor nurse").run()
    assert "is not of the form" in said(test)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("garage=0.5, monday=0.4", "must sum to 1, got 0.9"),
        ("garage=0.5, zzqq=0.5", "zzqq"),
        ("garage=1.5, monday=-0.5", "from 0 to 1"),
        ("garage=nan", "not of the form"),
        ("<b>x</b>", "not of the form"),
        ("", "holds 1 to"),
    ],
)
def test_a_list_that_is_no_prior_is_refused(
    opened: Callable[..., AppTest], text: str, message: str
) -> None:
    test = opened(prior=LIST)
    test.text_area(key="prior_list").set_value(text).run()
    shown = said(test)
    assert "The attacker cannot work with this." in shown
    assert message in shown
    assert not test.get("plotly_chart")


def test_success_over_all_outputs_is_computed_when_asked_for(
    opened: Callable[..., AppTest],
) -> None:
    test = opened()
    assert "The best guess is right in" not in said(test)
    test.button(key="attack_overall").click().run()
    shown = said(test)
    assert f"summed over all {len(FEW)} outputs" in shown
    assert "is right in 4 in 100" in shown  # blind: one of 26 words
    test.select_slider(key="eps_metric").set_value(3.0).run()
    assert "The best guess is right in" not in said(test)


def test_the_words_around_are_a_prior(opened: Callable[..., AppTest]) -> None:
    test = opened(prior=AROUND)
    before = table(test, "now", "before")
    test.text_input(key="prior_before").set_value("zzqq!!").run()
    test.text_input(key="prior_after").set_value("").run()
    assert list(table(test, "now", "before")["before"]) != list(before["before"])


def test_the_slider_mixes_in_how_common_words_are(opened: Callable[..., AppTest]) -> None:
    test = opened(eps_metric="0.1")
    test.slider(key="prior_common").set_value(100).run()
    assert table(test, "now", "before")["word"].iloc[0] == "the"
    test.slider(key="prior_common").set_value(50).run()
    assert "50%" in said(test)


def test_the_same_word_twice_has_no_odds(opened: Callable[..., AppTest]) -> None:
    test = opened(word="garage", other="monday")
    assert "times more likely than" in said(test)
    test.selectbox(key="find_other_word").set_value("garage").run()
    assert "times more likely than" not in said(test)


def play(test: AppTest, place: int) -> AppTest:
    return test.button(key=f"guess_{place}").click().run()


def test_a_round_of_the_game_is_played_and_scored(opened: Callable[..., AppTest]) -> None:
    test = opened(view=GAME)
    assert {b.label for b in test.button if b.key.startswith("guess_")} == set(
        LISTS["Illnesses"].split()
    )
    assert metrics(test)["You"] == "0"
    play(test, 0)
    shown = said(test)
    assert "It was “" in shown
    assert "You said “asthma”" in shown
    assert "Bayes said “" in shown
    assert "In the long run Bayes is right in" in shown
    assert all(b.disabled for b in test.button if b.key.startswith("guess_"))
    first = table(test, "rounds", "you", "attacker", "chance").iloc[0]
    assert first["rounds"] == 1
    test.button(key="game_next").click().run()
    assert "Round 2." in said(test)
    play(test, 1)
    assert table(test, "rounds")["rounds"].tolist() == [2]
    test.button(key="game_forget").click().run()
    assert metrics(test)["You"] == "0"
    assert not any("rounds" in d.value.columns for d in test.dataframe)


def test_a_guess_is_right_exactly_when_the_secret_is_named(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=GAME)
    for _ in range(3):
        dealt = test.session_state["attack_dealt"]
        play(test, dealt.dealt.secret)
        assert f"You said “{dealt.names[dealt.dealt.secret]}”: ✔ right" in said(test)
        test.button(key="game_next").click().run()
    dealt = test.session_state["attack_dealt"]
    play(test, (dealt.dealt.secret + 1) % len(dealt.names))
    assert "✘ wrong" in said(test)
    assert metrics(test)["You"] == "3"


def test_a_played_round_cannot_be_played_again(opened: Callable[..., AppTest]) -> None:
    test = opened(view=GAME)
    play(test, 0)
    test.select_slider(key="eps_metric").set_value(3.0).run()
    assert not test.button(key="guess_0").disabled
    play(test, 0)
    assert len(table(test, "rounds")) == 2  # each ε has a score of its own
    test.select_slider(key="eps_metric").set_value(2.5).run()
    assert test.button(key="guess_0").disabled
    assert table(test, "rounds")["rounds"].sum() == 2


@pytest.mark.parametrize("title", [ANY, NEAR, OWN])
def test_every_list_can_be_played(opened: Callable[..., AppTest], title: str) -> None:
    test = opened(view=GAME, game_list=title, game_outputs="3")
    play(test, 1)
    assert "You said" in said(test)
    assert {"output 1", "output 2", "output 3"} <= set(metrics(test))


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("zzqq!! <b>x</b>", "are not in lexicon"),
        ("doctor", "2 to 12 different words, got 1"),
        ("", "the list of words is empty"),
        (" ".join(FEW[:13]), "got 13"),
    ],
)
def test_a_list_without_a_game_is_refused(
    opened: Callable[..., AppTest], typed: str, message: str
) -> None:
    test = opened(view=GAME, game_list=OWN)
    test.text_input(key="game_words").set_value(typed).run()
    shown = said(test)
    assert "There is nothing to guess from." in shown
    assert message in shown
    assert typed not in str(test.query_params) or not typed


def test_the_nearest_word_attacker_plays_where_there_is_no_law(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=GAME, attacked="madlib")
    play(test, 2)
    shown = said(test)
    assert "The nearest-word attacker said" in shown
    assert "A better one may exist" in shown
    assert "Nearest" in metrics(test)


def test_a_sentence_is_attacked_by_three(opened: Callable[..., AppTest]) -> None:
    test = opened(view=SENTENCE, eps_metric="20")
    shown = said(test)
    assert "Released by tem at ε = 20" in shown
    rows = table(test, "written", "released", "reads the sentence")
    assert len(rows) == 15
    assert rows["reads the sentence"].str.startswith("✔").mean() > 0.9
    assert metrics(test)["words"] == "15"
    assert "Recorded by:" in shown
    assert "reads the sentence:" in shown


@pytest.mark.parametrize("view", [SENTENCE, BUDGET])
@pytest.mark.parametrize("text", ["", "zzqq!! <b>x</b>", "!!!"])
def test_a_sentence_without_known_words_is_refused(
    opened: Callable[..., AppTest], view: str, text: str
) -> None:
    test = opened(view=view)
    test.text_area(key="text").set_value(text).run()
    shown = said(test)
    assert "cannot be attacked" in shown or "nothing to add up" in shown
    assert "<b>" not in " ".join(str(m.value) for m in test.markdown)


def test_the_budget_adds_up_and_grows_with_releases(opened: Callable[..., AppTest]) -> None:
    test = opened(view=BUDGET)
    test.toggle(key="table_budget").set_value(True).run()
    once = table(test, "word", "places", "loss")
    assert once.set_index("word").loc["my", "places"] == 2
    test.number_input(key="releases").set_value(3).run()
    thrice = table(test, "word", "places", "loss")
    assert thrice["loss"].to_numpy() == pytest.approx(3 * once["loss"].to_numpy())
    assert "For two texts of the same 45 protected words" in said(test)


def test_the_least_protected_have_names(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=EXPOSED)
    test.button(key="find_extremes").click().run()
    shown = said(test)
    assert f"Of {len(FEW)} words “" in shown
    rows = table(test, "stays", "believed then")
    assert len(rows) == 10


@pytest.mark.parametrize("view", [GAME, SENTENCE, BUDGET, EXPOSED])
def test_every_view_opens_for_every_kind_of_mechanism(
    opened: Callable[..., AppTest], view: str
) -> None:
    test = opened(view=view)
    for short in ("truncated-gumbel", "madlib", "trlaplace", "tem-calibrated"):
        test.selectbox(key="attacked").set_value(short).run()
        assert said(test)


def test_every_mechanism_has_its_attacker(opened: Callable[..., AppTest]) -> None:
    test = opened()
    for kind in MECHANISMS.values():
        test.selectbox(key="attacked").set_value(kind.short).run()
        shown = said(test)
        if "defined at no ε" in shown:  # there are too few words for it
            assert not test.tabs
            continue
        assert ("Seen “garage”:" in shown) == kind.exact_law
        assert ("lower bound of what leaks" in shown) != kind.exact_law


@pytest.mark.parametrize(
    ("link", "typed"),
    [
        ({}, {}),
        ({"prior_common": "30"}, {}),
        ({"prior_common": "100", "attacked": "tem-calibrated"}, {}),
        ({"prior": LIST}, {"prior_list": "nurse=0.5, doctor=0.5"}),
        ({"prior": AROUND}, {"prior_before": "my"}),
        ({"attacked": "truncated-gumbel", "prior": LIST}, {"prior_list": "flu, cancer"}),
    ],
)
def test_the_command_prints_the_numbers_of_the_page(
    opened: Callable[..., AppTest],
    capsys: pytest.CaptureFixture[str],
    link: dict[str, str],
    typed: dict[str, str],
) -> None:
    test = opened(seen="doctor", eps_metric="3", **link)
    for key, value in typed.items():
        box = test.text_area if key == "prior_list" else test.text_input
        box(key=key).set_value(value).run()
    rows = table(test, "now", "before")
    line = test.code[-1].value
    words = shlex.split(line)
    assert words[:3] == ["python", "-m", "dpcore"]
    capsys.readouterr()
    assert main([*words[3:], "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["attacks"]
    printed = [(one["word"], one["posterior"]) for one in found["candidates"]]
    assert [word for word, _ in printed] == rows["word"].tolist()
    assert [p for _, p in printed] == pytest.approx(rows["probability"].tolist())


def test_the_command_of_a_mechanism_without_a_law_is_its_attacker(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=OUTPUT, attacked="madlib")
    assert "--nearest" in test.code[-1].value


@pytest.mark.parametrize(
    "link",
    [
        {"attacked": "nothing", "view": "nowhere"},
        {"eps_metric": "much", "seen": "<b>", "prior": "none"},
        {"view": GAME, "game_list": "x", "game_outputs": "-2", "seed": "y"},
    ],
)
def test_a_link_of_nonsense_shows_the_usual_view(
    opened: Callable[..., AppTest], link: dict[str, str]
) -> None:
    shown = said(opened(**link))
    assert "garage" in shown or "Which word was it?" in shown


def test_a_missing_record_and_a_refusing_engine_are_said(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise StudyError("make it with a command")

    monkeypatch.setattr(recorded_view, "recorded", missing)
    recorded_view._recorded.clear()
    assert "make it with a command" in said(opened(view=SENTENCE))

    def refusing(*_: object, **__: object) -> None:
        raise DpcoreError("take another lexicon")

    monkeypatch.setattr(channels, "open_channel", refusing)
    channels._opening.clear()
    try:
        assert "take another lexicon" in said(opened(beta="x"))
    finally:
        channels._opening.clear()


def test_nothing_typed_enters_a_shared_cache(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    real = channels.open_channel
    monkeypatch.setattr(
        channels, "open_channel", lambda m, *a, **k: (seen.append((a, k)), real(m, *a, **k))[1]
    )
    channels._opening.clear()
    test = opened(prior=LIST)
    test.text_area(key="prior_list").set_value("nurse=0.5, patient=0.5").run()
    assert set(table(test, "now", "before")["word"]) == {"nurse", "patient"}
    assert seen == []  # a list gets a channel of its own, in the session
    test = opened(view=GAME, game_list=OWN)
    assert isinstance(test.session_state["attack_dealt"].game, Game)
