"""The recorded verdicts are those of the present code, and a file keeps what was found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dpcore.audit.settings import AuditSettings
from dpcore.errors import ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.papers.claims import CLAIMS, verdict
from dpcore.papers.overview import REPAIRS, USES, cost, headline, shown
from dpcore.papers.verdicts import bundled_file, keep, read_recorded
from tests.mechanisms import lexicons
from tests.shell import result, run, small_vectors

CHEAP = ("pixeldp-slides", "gaussian", "trlaplace-corrected", "adept-b", "xu-lemma-1")


def test_all_claims_are_recorded_on_the_bundled_lexicon() -> None:
    recorded = read_recorded()
    assert [verdict.key for verdict in recorded.verdicts] == list(CLAIMS)
    assert recorded.fingerprint == load().fingerprint
    assert recorded.settings == AuditSettings()
    assert recorded.command == "python -m dpcore audit --all"
    assert recorded.of("no-such-claim") is None


@pytest.mark.parametrize("key", CHEAP)
def test_a_verdict_is_the_recorded_one_when_computed_again(key: str) -> None:
    recorded: dict[str, Any] = read_recorded().of(key).to_dict()
    again: dict[str, Any] = verdict(key, load()).to_dict()
    for name in ("settings", "numbers"):
        kept, result = recorded.pop(name), again.pop(name)
        assert list(result) == list(kept)
        for figure, value in kept.items():
            close = value if isinstance(value, str) else pytest.approx(value, rel=1e-6, abs=1e-9)
            assert result[figure] == close, figure
    assert again == recorded


def test_a_file_keeps_a_table(tmp_path: Path) -> None:
    words, settings = lexicons.cloud(50, 6), AuditSettings(epsilon=2.0, seed=3)
    result = [verdict("pixeldp", words, settings), verdict("gaussian", words, settings)]
    place = tmp_path / "verdicts.json"
    keep(place, words, settings, result)
    read = read_recorded(place)
    assert list(read.verdicts) == result
    assert (read.lexicon, read.fingerprint) == (words.name, words.fingerprint)
    assert read.settings == settings
    assert read.command.endswith("--all --at epsilon=2.0 --at seed=3 --lexicon PATH-OF-THE-LEXICON")


@pytest.mark.parametrize(
    "damage",
    [
        lambda fields: fields.pop("command"),
        lambda fields: fields["settings"].update(delta=2),
        lambda fields: fields["settings"].update(unknown=2),
        lambda fields: fields["verdicts"][0].update(outcome="maybe"),
        lambda fields: fields["verdicts"].append(1),
    ],
)
def test_a_damaged_file_is_refused_with_the_way_out(
    tmp_path: Path, damage: Callable[..., Any]
) -> None:
    fields = json.loads(bundled_file().read_text(encoding="utf-8"))
    damage(fields)
    place = tmp_path / "verdicts.json"
    place.write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(ParameterError, match="audit --all --file"):
        read_recorded(place)
    with pytest.raises(ParameterError, match="audit --all --file"):
        read_recorded(tmp_path / "absent.json")


class _Asked(AuditSettings):
    """Settings that remember which of them a claim says it uses."""

    names: ClassVar[tuple[str, ...]] = ()

    def options(self: Any, lexicon: Lexicon, *names: Any) -> Any:
        object.__setattr__(self, "names", names)
        return super().options(lexicon, *names)


def test_the_settings_beside_a_claim_are_those_of_its_command() -> None:
    assert list(USES) == list(CLAIMS)
    words = lexicons.cloud(50, 6)
    for key in CLAIMS:
        settings = _Asked(words=4, draws=1000)
        verdict(key, words, settings)
        assert set(settings.names) == set(USES[key]), key


def test_every_recorded_verdict_has_its_headline_and_every_repair_its_cost() -> None:
    result = {verdict.key: verdict for verdict in read_recorded().verdicts}
    for row in result.values():
        name, value = headline(row)
        assert row.numbers[name] == value
        assert shown(value)
    assert headline(result["huang-theorem-3"])[0] == "true delta"
    assert shown(headline(result["adept-published"])[1]) == "5.66"
    for key, repairs in REPAIRS.items():
        assert key in result
        for repair in repairs:
            assert result[repair].outcome != "refuted"
            assert repair == "pixeldp" or cost(result[repair]) is not None
    assert cost(result["madlib"]) is None


@pytest.mark.slow
def test_only_the_whole_table_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    vectors = small_vectors(tmp_path / "small.vec")
    place = tmp_path / "out.json"
    options = ["--lexicon", str(vectors), "--file", str(place)]
    code, _, message = run(capsys, "audit", "--claim", "pixeldp", *options)
    assert code == 2
    assert "--file belongs to --all" in message
    assert not place.exists()
    few = ["--at", "words=4", "--at", "draws=1000"]
    printed = result(capsys, "audit", "--all", *few, *options)
    kept = read_recorded(place)
    assert [verdict.to_dict() for verdict in kept.verdicts] == printed["verdicts"]
    wrong = ["--file", str(tmp_path / "small.vec" / "out.json")]
    code, _, message = run(capsys, "audit", "--all", *few, "--lexicon", str(vectors), *wrong)
    assert code == 2
    assert "cannot write the verdicts" in message
