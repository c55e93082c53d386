import pytest

from tests.shell import result, run, small_vectors


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny lexicon: most words of the corpus are outside of it."""
    return small_vectors(tmp_path_factory.mktemp("vectors") / "small.txt")


def test_certified_training_is_beside_the_plain_one(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    answer = result(
        capsys, "robust", "certify", "--lexicon", vectors, "--texts", "120", "--neighbours", "3"
    )
    plain, certified = answer["rows"]
    assert plain["worst_case_weight"] == 0.0
    assert certified["worst_case_weight"] == 1.0
    for row in answer["rows"]:
        assert 0 <= row["certified_accuracy"] <= row["clean_accuracy"] <= 1
    assert answer["settings"]["neighbours"] == 3
    code, out, _ = run(capsys, "robust", "certify", "--lexicon", vectors, "--texts", "120")
    assert code == 0
    assert "right whatever is substituted" in out


@pytest.mark.slow
def test_training_that_ends_in_one_answer_says_so_and_is_certified_for_its_share(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command of the manual: so many changes that nothing better than one answer is left."""
    options = ("robust", "certify", "--labels", "sentiment", "--neighbours", "2")
    plain, robust = result(capsys, *options)["rows"]
    assert not plain["constant"]
    assert robust["constant"]
    assert robust["clean_accuracy"] == robust["certified_accuracy"] == 0.5
    assert plain["certified_accuracy"] < robust["certified_accuracy"]
    _, out, _ = run(capsys, *options)
    assert "reads no word and always says" in out


def test_an_attack_names_the_words_that_it_changed(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    options = (
        *("robust", "attack", "--lexicon", vectors, "--texts", "300", "--share", "1"),
        *("--mechanism", "tem", "--epsilon", "0.5", "--text", "the weather was terrible doctor"),
    )
    answer = result(capsys, *options)
    assert answer["rows"][0]["old"] is None
    changed = [row["old"] for row in answer["rows"][1:]]
    assert set(changed) <= {"weather", "terrible", "doctor"}
    assert len(set(changed)) == len(changed)
    assert result(capsys, *options) == answer
    code, out, _ = run(capsys, *options)
    assert code == 0
    assert "read as" in out


@pytest.mark.slow
def test_digits_are_certified_by_both_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    answer = result(capsys, "robust", "digits", "--draws", "40", "--seed", "3")
    assert {row["bound"] for row in answer["rows"]} == {"hoeffding", "clopper-pearson"}
    for row in answer["rows"]:
        assert row["certified"] <= row["certified_tight"] <= 1 - row["abstained"]
    assert answer["rows"][-8]["certified"] > 0.5
    code, out, _ = run(capsys, "robust", "digits", "--draws", "10")
    assert code == 0
    assert "slides (unproved)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("certify", "--labels", "mood"), "'mood' is not one of 'sentiment', 'topic'"),
        (("certify", "--texts", "0"), "Invalid value for '--texts'"),
        (("certify", "--share", "2"), "share of words"),
        (("certify", "--robust", "nan"), "weight of the worst case"),
        (("certify", "--texts", "2"), "class"),
        (("certify", "--texts", "60", "--neighbours", "0"), "substitutes"),
        (("digits", "--noise", "salt"), "'salt' is not one of"),
        (("digits", "--place", "moon"), "'moon' is not one of"),
        (("digits", "--scale", "0"), "scale of the noise"),
        (("digits", "--draws", "0"), "draws of the noise"),
        (("digits", "--draws", "2", "--error", "0"), "error probability"),
        (("attack", "--mechanism", "tem", "--epsilon", "1", "--text", "…"), "nothing to attack"),
        (("attack", "--mechanism", "tem", "--epsilon", "0", "--text", "doctor"), "epsilon"),
        (
            ("attack", "--mechanism", "tem", "--epsilon", "1", "--text", "a", "--population", "1"),
            "population",
        ),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], vectors: str, arguments: tuple[str, ...], message: str
) -> None:
    where = () if arguments[0] == "digits" else ("--lexicon", vectors)
    code, out, err = run(capsys, "robust", *arguments, *where)
    assert code == 2
    assert message in err
    assert not out
    assert len(err.splitlines()) == 1
