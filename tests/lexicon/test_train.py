"""The trainer, part by part, on corpora small enough to work out by hand."""

import dataclasses
import json
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dpcore.errors import LexiconError, MissingPackageError, ParameterError
from dpcore.lexicon.train import combine, counts, encoder, packages, vocabulary, wordnet
from dpcore.lexicon.train.corpus import split_form, tokenise
from dpcore.lexicon.train.plan import TrainingPlan
from dpcore.lexicon.train.pmi import factorise, positive_pmi
from dpcore.lexicon.train.run import train
from dpcore.lexicon.train.sources import Source
from dpcore.lexicon.train.wanted import WANTED

# Tokens


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("Paris", ("paris",)),
        ("Emperor's", ("emperor",)),
        ("It’s", ("it's",)),
        ("don't", ("don't",)),
        ("e-mail", ("e-mail",)),
        ("Kyoto-born", ("kyoto", "born")),
        ("café", ("cafe",)),
        ("20th", ("20th",)),
    ],
)
def test_a_form_becomes_words(form, words):
    assert split_form(form, frozenset({"e-mail"})) == words


def test_tokens_keep_their_segment_document_and_case():
    corpus = tokenise(
        [[["The cat sat.", "Ice-cold cat!"]], [["see www.cat.com or a@cat.org &lt;cat&gt;"]]]
    )
    text = [corpus.forms[i] for i in corpus.ids]
    assert text == ["the", "cat", "sat", "ice", "cold", "cat", "see", "or", "cat"]
    assert corpus.segments.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert corpus.documents.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert corpus.capitals.tolist() == [True, False, False, True, True, False, False, False, False]
    assert corpus.bounds.tolist() == [0, 6, 9]
    assert not corpus.ids.flags.writeable


# Counts


def plain_cooccurrences(ids, segments, size, window):
    """The definition, token by token."""
    table = np.zeros((size, size))
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j and ids[i] >= 0 and ids[j] >= 0 and segments[i] == segments[j]:
                table[ids[i], ids[j]] += (window + 1 - abs(i - j)) / window
    return table


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("window", [1, 2, 5])
def test_counts_equal_the_plain_loop(rng, monkeypatch, window, chunk):
    monkeypatch.setattr(counts, "_CHUNK", chunk)
    draw = rng(window, chunk)
    ids = draw.integers(-1, 6, size=200).astype(np.int32)
    segments = np.sort(draw.integers(0, 30, size=200)).astype(np.int32)
    found = counts.cooccurrences(ids, segments, 6, window)
    np.testing.assert_allclose(
        found.toarray(), plain_cooccurrences(ids, segments, 6, window), rtol=1e-12
    )


def test_counts_refuse_a_window_of_zero():
    none = np.zeros(0, np.int32)
    with pytest.raises(ParameterError, match="window must be at least 1, got 0"):
        counts.cooccurrences(none, none, 1, 0)


# PMI and its factorisation


@pytest.mark.parametrize(("exponent", "shift"), [(1.0, 0.0), (1.0, 0.5), (0.75, 0.2)])
def test_pmi_is_its_formula(rng, exponent, shift):
    table = rng(int(10 * shift)).integers(0, 5, size=(7, 7)).astype(float)
    found = positive_pmi(sp.csr_array(table), exponent, shift).toarray()
    total = table.sum()
    context = table.sum(axis=0) ** exponent
    context /= context.sum()
    for w in range(7):
        for c in range(7):
            expected = 0.0
            if table[w, c]:
                joint = table[w, c] / total
                expected = max(0.0, math.log(joint / (table[w].sum() / total * context[c])) - shift)
            assert found[w, c] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
def test_factorisation_weights_the_left_singular_vectors(rng, power):
    matrix = sp.csr_array(rng().random((30, 20)))
    found = factorise(matrix, 4, power, seed=0)
    left, values, _ = np.linalg.svd(matrix.toarray())
    expected = left[:, :4] * values[:4] ** power
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)
    largest = found[np.argmax(np.abs(found), axis=0), np.arange(4)]
    assert (largest > 0).all()


def test_factorisation_does_not_depend_on_the_start_vector_beyond_rounding(rng):
    matrix = sp.csr_array(rng().random((30, 30)))
    np.testing.assert_allclose(
        factorise(matrix, 5, 0.25, seed=1), factorise(matrix, 5, 0.25, seed=2), atol=1e-5
    )


# Joining


def test_principal_components_keep_all_distances_at_full_rank(rng):
    points = rng().standard_normal((40, 6))
    found = combine.principal_components(points, 6)
    for i, j in [(0, 1), (3, 30), (12, 39)]:
        expected = np.linalg.norm(points[i] - points[j])
        assert np.linalg.norm(found[i] - found[j]) == pytest.approx(expected, rel=1e-5)


def test_principal_components_are_those_of_the_singular_value_decomposition(rng):
    points = rng().standard_normal((50, 8)) * np.arange(1, 9)
    centred = points - points.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    found = combine.principal_components(points, 3)
    np.testing.assert_allclose(np.abs(found), np.abs(left[:, :3] * values[:3]), rtol=1e-4)


@pytest.mark.parametrize("dimensions", [0, 6])
def test_principal_components_refuse_too_few_or_many(dimensions):
    with pytest.raises(ParameterError, match="dimensions must be between 1 and 5"):
        combine.principal_components(np.eye(5), dimensions)


def test_joined_rows_have_length_one_and_weigh_as_told(rng):
    first, second = rng(0).standard_normal((30, 4)), rng(1).standard_normal((30, 4))
    joined = combine.side_by_side([first, second], (1.0, 1e-6), 4)
    np.testing.assert_allclose(np.linalg.norm(joined, axis=1), 1.0, rtol=1e-6)
    alone = combine.side_by_side([first], (1.0,), 4)
    np.testing.assert_allclose(np.abs(joined), np.abs(alone), atol=1e-4)


def test_a_zero_row_has_no_direction():
    with pytest.raises(LexiconError, match="1 rows have no direction"):
        combine.unit_rows(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_nearest_distances_equal_brute_force(rng, monkeypatch):
    monkeypatch.setattr(combine, "_BLOCK", 7)
    points = rng().standard_normal((50, 3))
    table = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(table, np.inf)
    np.testing.assert_allclose(combine.nearest_distances(points), table.min(axis=1), rtol=1e-5)


# Words


SYNSETS = [
    ("cat|true cat", "a small animal", "noun.animal"),
    ("hop", "move fast", "verb.motion"),
    ("zesty", "good to eat", "adj.all"),
    ("Lima", "a city", "noun.location"),
    ("zork", "(ethnic slur) offensive term for a person from nowhere", "noun.person"),
    ("well-known", "known to many", "adj.all"),
]


def test_wordnet_knows_words_inflections_names_and_insults():
    known = wordnet.collect(SYNSETS)
    assert all(known.knows(word) for word in ("cat", "cats", "hopping", "zestier", "zestily"))
    assert not known.knows("lima")
    assert not known.knows("dog")
    assert known.proper == {"lima"}
    assert known.compounds == {"well-known"}
    assert known.insult("zork")
    assert known.insult("zorks")
    assert not known.insult("cat")
    assert known.chatty("zestier")
    assert not known.chatty("cat")


@pytest.mark.parametrize("word", ["a", "i", "cat", "don't", "e-mail", "7", "31st", "1999", "six"])
def test_words_are_well_formed(word):
    assert vocabulary.well_formed(word)


@pytest.mark.parametrize(
    "word",
    [
        *("b", "", "4711", "mp3", "nbsp", "px", "www", "soooo", "dcdcdc", "xviii"),
        *("-cat", "cat's-", "don't'", "Cat", "naïve", "кот", "http", "a" * 21),
    ],
)
def test_junk_is_not(word):
    assert not vocabulary.well_formed(word)


def toy_source(**changes):
    fields = {"name": "toy", "file": "toy.parquet", "licence": "CC0-1.0", "credit": "nobody"}
    fields |= {"used": "all", "weight": 1.0, "lower_only": False, "read": one_document_a_row}
    return Source(**(fields | changes))


def one_document_a_row(frame):
    for text in frame["text"]:
        yield [text]


def test_statistics_weigh_sources_and_leave_caseless_ones_out_of_the_rest():
    corpus = tokenise([[["Cat cat"], ["cat"]], [["cat dog"]]])
    sources = [toy_source(weight=2.0), toy_source(weight=10.0, lower_only=True)]
    found = vocabulary.statistics(corpus, sources)
    assert corpus.forms == ("cat", "dog")
    assert found.balanced.tolist() == [16.0, 10.0]
    assert found.documents.tolist() == [2, 0]
    assert found.lower_share.tolist() == [pytest.approx(2 / 3), 1.0]


def test_selection_ranks_admits_and_cuts():
    documents = [["cat hop zork zesty"]] * 4 + [["cat"]] * 3 + [["Lima"]] * 6 + [["unheard"]] * 9
    corpus = tokenise([[*documents, ["password"]]])
    found = vocabulary.statistics(corpus, [toy_source()])
    rule = vocabulary.Selection(words=5)

    def chosen(**changes):
        picked = vocabulary.select(
            corpus, found, wordnet.collect(SYNSETS), dataclasses.replace(rule, **changes)
        )
        return [corpus.forms[form] for form in picked]

    # No "zork" (insult) and no "unheard" (no dictionary word in fewer than 15 documents);
    # "password" is wanted although it is rare. Order is that of frequency.
    assert chosen() == ["cat", "lima", "hop", "zesty", "password"]
    # Everyday words count three times and names half when room is short.
    assert chosen(words=3) == ["cat", "zesty", "password"]
    assert chosen(words=3, everyday_factor=1.0) == ["cat", "hop", "password"]
    assert chosen(min_documents_unknown=9)[0] == "unheard"


def test_wanted_words_are_well_formed():
    assert all(vocabulary.well_formed(word) for word in WANTED)


# The whole run


@pytest.fixture
def texts(tmp_path, rng):
    """A folder with a toy text and a toy dictionary, and the sources that read it."""
    draw = rng()
    words = [
        f"{a}{b}" for a in ("ba", "do", "ki", "mu", "re") for b in ("fan", "gol", "lin", "ted")
    ]
    lines = [" ".join(draw.choice(words, size=12)) for _ in range(300)]
    pd.DataFrame({"text": lines}).to_parquet(tmp_path / "toy.parquet")
    pd.DataFrame({"members": words, "gloss": "a word", "lexfile": "noun.act"}).to_parquet(
        tmp_path / "words.parquet"
    )
    dictionary = toy_source(name="oewn", file="words.parquet", read=lambda frame: iter(()))
    return tmp_path, (toy_source(), dictionary)


def small_plan(**changes):
    plan = TrainingPlan(
        name="toy",
        selection=vocabulary.Selection(words=15),
        dimensions=4,
        svd_dimensions=6,
        shift=0.0,
        encoder=False,
        nearest_distance=2.5,
    )
    return dataclasses.replace(plan, **changes)


def test_a_run_is_complete_scaled_and_the_same_twice(texts):
    folder, sources = texts
    stages = Counter()
    manifest = train(
        small_plan(),
        folder,
        folder / "a",
        lambda stage, done, total: stages.update([stage]),
        sources=sources,
    )
    train(small_plan(), folder, folder / "b", sources=sources)
    names = {"vectors.npy", "words.txt", "manifest.json"}
    assert {path.name for path in (folder / "a").iterdir()} == names
    for name in names:
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()

    words = (folder / "a" / "words.txt").read_text().split("\n")
    vectors = np.load(folder / "a" / "vectors.npy", allow_pickle=False)
    assert manifest == json.loads((folder / "a" / "manifest.json").read_text())
    assert (len(words), vectors.shape, vectors.dtype) == (15, (15, 4), np.float16)
    assert manifest["median_nearest_distance"] == pytest.approx(2.5, rel=1e-3)
    assert manifest["plan"]["window"] == 5
    assert set(stages) == {
        "reading texts",
        "choosing words",
        "counting",
        "factorising",
        "joining",
    } - {"reading texts"}  # a text this short is read between two reports


def test_an_absent_text_is_named(texts):
    folder, sources = texts
    (folder / "toy.parquet").unlink()
    with pytest.raises(LexiconError, match=r"the training text toy\.parquet"):
        train(small_plan(), folder, folder / "a", sources=sources)


def test_a_missing_package_is_named_with_the_command(texts, monkeypatch):
    folder, sources = texts
    monkeypatch.setattr(encoder, "PACKAGE", "no_such_package")
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements-train\.txt"):
        train(small_plan(encoder=True), folder, folder / "a", sources=sources)
    assert not (folder / "a").exists()


def test_versions_hold_what_is_installed():
    assert packages.versions()["numpy"] == np.__version__


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": 0}, "window must be at least 1, got 0"),
        ({"encoder_weight": math.nan}, "encoder_weight must be a finite number > 0, got nan"),
        ({"nearest_distance": math.inf}, "nearest_distance must be a finite number > 0, got inf"),
        ({"shift": math.nan}, "shift must be finite, got nan"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"selection": vocabulary.Selection(words=1)}, "words must be at least 2, got 1"),
        ({"encoder": False, "dimensions": 301}, "at most svd_dimensions"),
    ],
)
def test_a_plan_out_of_range_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        TrainingPlan(**changes)
