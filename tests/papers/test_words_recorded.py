"""The results that come with the laboratory: complete, undamaged, and measured again."""

from pathlib import Path

import numpy as np
import pytest

from dpcore import __version__
from dpcore.lexicon.cache import sha256_of_file
from dpcore.measure import words as measured
from dpcore.measure.deniability import measure
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.papers.comparison import TRADE, drawing
from dpcore.papers.studies import STUDIES
from dpcore.study.recorded import MANIFEST, bundled_results, read_manifest, read_recorded
from dpcore.study.recording import Options, choose_words, provenance, undefined_sentence
from dpcore.study.vocabularies import CountedLexicon, load_vocabulary
from tests.chance import FALSE_ALARM, deviation

MOST_BYTES = 1_500_000
FOLDER = bundled_results()
ENTRIES = {entry.name: entry for entry in read_manifest(FOLDER)}


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def test_every_study_is_recorded_and_nothing_else_lies_there() -> None:
    assert set(ENTRIES) == set(STUDIES)
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir() if path.is_file()}
    assert set(files) == {MANIFEST, *(entry.file for entry in ENTRIES.values())}
    assert sum(files.values()) < MOST_BYTES


@pytest.mark.parametrize("name", STUDIES)
def test_a_recorded_study_is_what_its_definition_says(name: str) -> None:
    study, entry = STUDIES[name], ENTRIES[name]
    recorded = read_recorded(name)
    assert (entry.title, entry.source, entry.runs) == (
        study.title,
        study.source,
        dict(study.plan.options)["runs"],
    )
    assert entry.words == study.choice.count
    assert _version(entry.version) <= _version(__version__)
    assert set(entry.machine) == {"cores", "python", "numpy", "system", "processor"}
    assert {series["mechanism"] for series in entry.series} <= set(MECHANISMS)
    assert [series["name"] for series in entry.series] == [arm.name for arm in study.plan.arms]
    for arm in study.plan.arms:
        rows = recorded.table[recorded.table["series"] == arm.name]
        assert set(rows["epsilon"]) == set(arm.epsilons)
    for panel in study.panels:
        table = drawing(recorded, panel).table
        assert set(table["curve"]) == set(panel.curves)
        assert not table["nw" if panel.quantity == TRADE else "mean"].isna().any()
    assert any(entry.vocabulary["fingerprint"][:16] in line for line in provenance(entry))


def test_the_gap_of_the_published_condition_is_recorded_as_undefined() -> None:
    recorded = read_recorded("xu2021-figure-1-snli")
    rows = recorded.table[recorded.table["status"] == "undefined"]
    low = 2.0 * (1.0 + np.log(7446)) / recorded.entry.vocabulary["separation"]
    assert (rows["epsilon"] > low).any()  # the paper's own condition holds there
    assert "not defined at" in undefined_sentence(recorded)


def test_exact_means_on_the_bundled_lexicon_come_out_again() -> None:
    recorded = read_recorded("bundled-mechanisms")
    counted = load_vocabulary("bundled", None)
    assert counted.lexicon.fingerprint == recorded.entry.vocabulary["fingerprint"]
    chosen = choose_words(STUDIES[recorded.entry.name], counted, Options(seed=recorded.entry.seed))
    rows = recorded.rows("nw")
    rows = rows[rows["series"] == "tem"].iloc[[10, 25]]
    again = measure(create("tem", counted.lexicon), chosen, rows["epsilon"].tolist())
    assert np.allclose(chosen.weights @ again.figures.nw / chosen.weights.sum(), rows["mean"])


@pytest.fixture(scope="module")
def snli(data_dir: Path) -> CountedLexicon:
    return load_vocabulary("snli", data_dir)


@pytest.mark.slow
def test_the_vocabulary_of_snli_is_that_of_the_record(snli: CountedLexicon, data_dir: Path) -> None:
    entry = ENTRIES["xu2021-figure-1-snli"]
    assert snli.lexicon.fingerprint == entry.vocabulary["fingerprint"]
    assert snli.lexicon.extent.separation == pytest.approx(entry.vocabulary["separation"])
    assert entry.data == {name: sha256_of_file(data_dir / name) for name in entry.data}


@pytest.mark.parametrize("kind", ["madlib", "truncated-gumbel"])
def test_words_measured_again_agree_within_their_errors(snli: CountedLexicon, kind: str) -> None:
    """With other noise: Bernstein's bound on both means of R numbers in [0, 1]."""
    recorded = read_recorded("xu2021-figure-1-snli")
    table = recorded.table[(recorded.table["series"] == f"{kind}, words")]
    table = table[table["quantity"] == "nw"]
    epsilons = sorted(set(table["epsilon"]))[1:4]
    names = list(dict.fromkeys(table["word"]))
    assert len(names) >= 3
    chosen = measured.select_words(snli.lexicon, names)
    runs = recorded.entry.runs
    again = measure(create(kind, snli.lexicon), chosen, epsilons, runs=runs, seed=12345).figures
    before = table.pivot_table(index="word", columns="epsilon", values="mean").loc[names, epsilons]
    errors = table.pivot_table(index="word", columns="epsilon", values="standard_error")
    alarms = FALSE_ALARM / (2 * before.size)
    if kind == "madlib":
        slack = sum(
            deviation(runs, np.square(error) * runs, alarms)
            for error in (again.nw_error, errors.loc[names, epsilons].to_numpy())
        )
        # The test can fail: values of another ε would be refused.
        assert (np.abs(np.diff(before.to_numpy())).max(axis=1) > 2 * slack.max()).all()
    else:
        slack = 2e-6 * np.ones(before.shape)
    assert (np.abs(again.nw - before.to_numpy()) <= slack).all()
