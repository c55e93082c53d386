"""`write`: the fields of its JSON, its output for people, and its refusals."""

import pytest

from dpcore import __version__
from tests.rewrite.write import tiny
from tests.shell import result, run

ARGUMENTS = ("write", "--mechanism", "dp-prompt", "--epsilon", "4", "--text", "a bad face")


@pytest.fixture(autouse=True)
def tiny_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcore.rewrite.write.writers.load_model", tiny.model)


def test_the_json_holds_the_text_and_its_guarantee(capsys: pytest.CaptureFixture[str]) -> None:
    answer = result(capsys, *ARGUMENTS, "--tokens", "5", "--seed", "3")
    assert answer["version"] == __version__
    assert answer["tokens"] == answer["composed"]["words"] == 5
    assert answer["guarantee"]["epsilon"] <= answer["epsilon"] == 4.0
    draw = answer["draw"]
    assert draw["temperature"] == pytest.approx(2 * (draw["high"] - draw["low"]) / 4.0)
    assert answer["composed"]["sum"] == pytest.approx(5 * answer["guarantee"]["epsilon"])
    assert answer["experiment"]
    assert answer["law"] is answer["losses"] is None
    assert draw["vocabulary"] == len(tiny.NAMES)


def test_laws_and_losses_are_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    answer = result(capsys, *ARGUMENTS, "--tokens", "5", "--law", "--against", "fed")
    assert len(answer["law"]) == len(answer["losses"]) == 5
    assert all(abs(loss) <= answer["guarantee"]["epsilon"] for loss in answer["losses"])
    assert not answer["experiment"]
    code, out, err = run(capsys, *ARGUMENTS, "--tokens", "5", "--law", "--against", "fed")
    assert code == 0
    assert len(out.splitlines()) >= 7
    assert "times as likely after this text" in err
    assert "for looking" in err


def test_a_person_reads_the_text_and_what_is_guaranteed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *ARGUMENTS, "--tokens", "5")
    assert code == 0
    assert "proved: Whatever token comes out in a place, any two texts" in err
    assert "the factor of all 5 tokens" in err
    assert "experiment" not in err
    assert len(out.splitlines()) >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tokens", "0"], "--tokens"),
        (["--form", "greedy"], "--form"),
        (["--epsilon", "0"], "finite number > 0"),
        (["--epsilon", "nan"], "finite number > 0"),
        (["--text", " "], "empty"),
        (["--file", "x"], "exclude each other"),
        (["--mechanism", "tem"], "dp-prompt"),
    ],
)
def test_what_is_refused_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, *ARGUMENTS, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
