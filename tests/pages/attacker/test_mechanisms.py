"""Attacker page: every mechanism, the command of a view, links, and what a session keeps."""

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.game import Game
from dpcore.attack.output.channel import Channel, open_channel
from dpcore.cli.main import main
from dpcore.errors import DpcoreError, StudyError
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS
from pages.attacker import channels, sentence_view
from pages.attacker.believing import AROUND, LIST
from pages.attacker.board import BUDGET, OUTPUT, SENTENCE
from pages.attacker.game_view import OWN
from pages.attacker.scene import GAME
from tests.pages.app import forget, shown_text, table
from tests.pages.attacker.reading import believed


def take(test: AppTest) -> list[str]:
    """The command, if there is one, and the Python cell of the drawer."""
    test.session_state["taking"] = True
    test.run()
    return [code.value for code in test.code if code.value.startswith(("python", "from", "import"))]


@pytest.mark.slow
def test_every_mechanism_has_its_attacker(opened: Callable[..., AppTest]) -> None:
    test = opened()
    for kind in MECHANISMS.values():
        test.selectbox(key="attacked").set_value(kind.short).run()
        shown = shown_text(test)
        drawn = [element.proto.component_name for element in test.get("bidi_component")]
        if "defined at no ε" in shown:  # there are too few words for it
            assert not test.tabs
            continue
        assert any(name.endswith(".believed") for name in drawn) == kind.exact_law
        assert ("lower bound of what leaks" in shown) != kind.exact_law


@pytest.mark.slow
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
    line, cell = take(test)
    words = shlex.split(line)
    assert words[:3] == ["python", "-m", "dpcore"]
    capsys.readouterr()
    assert main([*words[3:], "--json"]) == 0
    (attack,) = json.loads(capsys.readouterr().out)["attacks"]
    printed = [(candidate["word"], candidate["posterior"]) for candidate in attack["candidates"]]
    assert [word for word, _ in printed] == rows["word"].tolist()
    assert [p for _, p in printed] == pytest.approx(rows["probability"].tolist())
    exec(cell, {})
    lines = [out.split() for out in capsys.readouterr().out.splitlines()]
    assert [word for word, *_ in lines] == rows["word"].tolist()[:5]
    assert [float(chance) for *_, chance in lines] == pytest.approx(rows["probability"][:5])


def test_the_command_of_a_mechanism_without_a_law_is_its_attacker(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(view=OUTPUT, attacked="madlib")
    line, cell = take(test)
    assert "--nearest" in line
    assert "nearest_success" in cell


@pytest.mark.parametrize("view", [SENTENCE, BUDGET])
def test_the_cells_of_other_views_print_what_they_show(
    opened: Callable[..., AppTest], capsys: pytest.CaptureFixture[str], view: str
) -> None:
    test = opened(view=view, eps_metric="3")
    *_, cell = take(test)
    capsys.readouterr()
    exec(cell, {})
    printed = capsys.readouterr().out.strip()
    assert len(printed) > 40
    if view == BUDGET:
        assert printed in shown_text(test)
    else:
        guessed = table(test, "written", "released", "reads the sentence")
        text, *lines = printed.splitlines()
        assert text in shown_text(test)
        for line, (_, row) in zip(lines, guessed.iterrows(), strict=True):
            written, released, *_, read = line.split()
            assert (written, released) == (row["written"], row["released"])
            assert read == row["reads the sentence"].removeprefix("✔ ")


def test_a_link_of_nonsense_shows_the_usual_view(opened: Callable[..., AppTest]) -> None:
    link = {"attacked": "nothing", "view": "nowhere", "eps_metric": "much", "seen": "<b>"}
    assert believed(opened(**link, prior="none"))["title"].startswith("“garage” came out of tem")
    game = {"view": GAME, "game_list": "x", "game_outputs": "-2", "seed": "y"}
    assert "Which word was it?" in shown_text(opened(**game))


@pytest.mark.slow
def test_a_missing_record_and_a_refusing_engine_are_said(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise StudyError("make it with a command")

    monkeypatch.setattr(sentence_view, "read_recorded_trial", missing)
    sentence_view._recorded.clear()
    assert "make it with a command" in shown_text(opened(view=SENTENCE))

    def refusing(*_: object, **__: object) -> None:
        raise DpcoreError("take another lexicon")

    monkeypatch.setattr(channels, "open_channel", refusing)
    forget()
    try:
        assert "take another lexicon" in shown_text(opened(beta="x"))
    finally:
        forget()


@pytest.mark.slow
def test_nothing_typed_enters_a_shared_cache(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    def watched(mechanism: Mechanism, *arguments: Any, **options: Any) -> Channel:
        seen.append((arguments, options))
        return open_channel(mechanism, *arguments, **options)

    monkeypatch.setattr(channels, "open_channel", watched)
    forget()
    test = opened(prior=LIST)
    test.text_area(key="prior_list").set_value("nurse=0.5, patient=0.5").run()
    assert set(table(test, "now", "before")["word"]) == {"nurse", "patient"}
    assert seen == []  # a list gets a channel of its own, in the session
    test = opened(view=GAME, game_list=OWN)
    assert isinstance(test.session_state["attack_dealt"].game, Game)
