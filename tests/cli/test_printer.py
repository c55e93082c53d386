"""Answers: JSON for a program, lines and tables for a person, each only where it is asked for."""

from collections.abc import Iterator

import pytest

from dpcore.cli.printer import Answer, table


def test_heading_and_rows_have_the_widths_of_one_template() -> None:
    rows = [{"epsilon": 2.0, "word": "extraordinary", "share": 0.25, "end": "*"}]
    template = "{epsilon:>6.2g|ε}  {word:<8.7}{share:>7.1%} {end|}"
    lines = list(table(template, rows))
    assert lines == ["     ε  word      share ", "     2  extraor   25.0% *"]


def test_only_what_is_asked_for_is_computed(capsys: pytest.CaptureFixture[str]) -> None:
    def lines() -> Iterator[str]:
        yield from ()
        raise AssertionError("nobody reads this")

    assert Answer({"ε": 1.5}, lines(), ["a warning"], code=1).show(as_json=True) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ('{"ε": 1.5}\n', "")
    assert Answer({}, ["a", "b"], ["a warning"]).show(as_json=False) == 0
    assert tuple(capsys.readouterr()) == ("a\nb\n", "a warning\n")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_does_not_know_is_never_printed(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Answer({"x": value}).show(as_json=True)
