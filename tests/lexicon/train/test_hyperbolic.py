"""Points of hyperbolic space: the hierarchy of a toy dictionary, training, and selection."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.arrays import FloatArray
from dpcore.errors import LexiconError, ParameterError
from dpcore.lexicon.cache import hyperbolic_folder
from dpcore.lexicon.catalogue import load, read_manifest, read_stored
from dpcore.lexicon.hyperbolic import distances
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.train import poincare
from dpcore.lexicon.train.poincare import HyperbolicPlan, embed, reconstruction, train_hyperbolic
from dpcore.lexicon.train.wordnet import Hypernyms, hypernyms

SYNSETS = [
    # synset, class, members, hypernyms
    ("1-n", "noun.Tops", "entity", ""),
    ("2-n", "noun.Tops", "animal|beast", "1-n"),
    ("3-n", "noun.animal", "Dog|domestic dog", "2-n"),
    ("4-n", "noun.animal", "poodle", "3-n"),
    ("5-n", "noun.person", "dog", "6-n"),
    ("6-n", "noun.person", "person", "1-n"),
    ("7-n", "noun.animal", "dog", "2-n|9-n"),
    ("8-v", "verb.motion", "run", "10-v"),
    ("10-v", "verb.motion", "move", "8-v"),
    ("11-a", "adj.all", "big", ""),
]
VOCABULARY = ("entity", "dog", "animal", "poodle", "poodles", "person", "run", "move", "big", "the")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "toy.parquet"
    columns = ["synset", "lexfile", "members", "hypernyms"]
    pd.DataFrame(SYNSETS, columns=columns).to_parquet(path)
    return path


def named(hierarchy: Hypernyms) -> dict[str, set[str]]:
    result: dict[str, set[str]] = {}
    for word, above in hierarchy.pairs.tolist():
        result.setdefault(hierarchy.words[word], set()).add(hierarchy.words[above])
    return result


def test_a_word_stands_below_what_is_above_the_senses_of_its_kind(table: Path) -> None:
    hierarchy = hypernyms(table, VOCABULARY)
    assert named(hierarchy) == {
        "animal": {"entity"},
        # Of three senses two are animals: "person" is left out, and a parent that is not there.
        "dog": {"animal", "entity"},
        "poodle": {"dog", "animal", "entity"},
        # A regular inflection is below its stem.
        "poodles": {"poodle", "dog", "animal", "entity"},
        "person": {"entity"},
        # A circle ends.
        "run": {"move"},
        "move": {"run"},
    }
    # Words without a place are left out; the others keep their order.
    assert hierarchy.words == tuple(w for w in VOCABULARY if w not in {"big", "the"})
    assert (np.diff(hierarchy.pairs[:, 0]) >= 0).all()


def test_a_vocabulary_without_a_hierarchy_is_refused(table: Path) -> None:
    with pytest.raises(LexiconError, match="no word of this vocabulary above another"):
        hypernyms(table, ("big", "the"))


# -- training --------------------------------------------------------------------------------------


def tree(depth: int = 4, branches: int = 3) -> Hypernyms:
    """A tree with all pairs of a node and one above it."""
    parents = [-1]
    level = [0]
    for _ in range(depth - 1):
        level = [len(parents) + i for i in range(len(level) * branches)]
        parents += [-1] * len(level)
        for i, node in enumerate(level):
            parents[node] = level[0] - len(level) // branches + i // branches
    pairs = []
    for node in range(len(parents)):
        above = parents[node]
        while above >= 0:
            pairs.append((node, above))
            above = parents[above]
    return Hypernyms(tuple(f"w{i}" for i in range(len(parents))), np.array(sorted(pairs)))


PLAN = HyperbolicPlan(dimensions=3, epochs=150, batch=16, rate=0.3)


def test_a_tree_is_found_again() -> None:
    hierarchy = tree()
    vectors = embed(hierarchy, PLAN)
    assert vectors.shape == (40, 3)
    assert vectors.dtype == np.float32
    kept = reconstruction(hierarchy, vectors)
    begun = reconstruction(hierarchy, embed(hierarchy, replace(PLAN, epochs=1)))
    assert kept.average_precision > 0.9
    assert begun.average_precision < 0.5
    # The root lies in the middle, and leaves far out.
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths[0] < lengths[1:].min()
    assert lengths[13:].mean() > 1.5 * lengths[1:4].mean()


def test_the_same_plan_gives_the_same_bytes() -> None:
    plan = replace(PLAN, epochs=3)
    first = embed(tree(), plan)
    np.testing.assert_array_equal(first, embed(tree(), plan))
    assert not np.array_equal(first, embed(tree(), replace(plan, seed=1)))


def loss(points: FloatArray, word: int, others: list[int]) -> float:
    """−ln of the share of the first of the others, by their hyperbolic distances."""
    inner = points[others, 1:] @ points[word, 1:] - points[others, 0] * points[word, 0]
    away = np.arccosh(-inner)
    return float(away[0] + np.log(np.exp(-away).sum()))


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_step_goes_down_the_steepest_slope(moved: int) -> None:
    """Against slopes along two geodesics by differences."""
    rng = np.random.default_rng(4)
    points = np.zeros((3, 3))
    points[:, 1:] = rng.normal(0, 1, (3, 2))
    poincare._lift(points)
    before, rate = points.copy(), 1e-4
    pair, drawn = np.array([[0, 1]]), np.array([[2]])
    poincare._step(points, pair, drawn, np.array([0 * 3 + 1]), rate, 12.0)
    x = before[moved]
    # Two orthonormal directions along the surface.
    axes: list[FloatArray] = []
    for row in np.eye(3)[1:]:
        axis = row + (x[1:] @ row[1:] - x[0] * row[0]) * x
        for other in axes:
            axis = axis - (axis[1:] @ other[1:] - axis[0] * other[0]) * other
        axes.append(axis / np.sqrt(axis[1:] @ axis[1:] - axis[0] ** 2))
    slopes, h = [], 1e-5
    for axis in axes:
        sides = []
        for sign in (1, -1):
            trial = before.copy()
            trial[moved] = np.cosh(h) * x + sign * np.sinh(h) * axis
            sides.append(loss(trial, 0, [1, 2]))
        slopes.append((sides[0] - sides[1]) / (2 * h))
    step = points[moved] - x
    along = [float(step[1:] @ axis[1:] - step[0] * axis[0]) for axis in axes]
    np.testing.assert_allclose(along, -rate * np.array(slopes), rtol=1e-3, atol=1e-9)


def test_a_word_above_is_never_drawn_against() -> None:
    points = np.zeros((3, 3))
    points[:, 1:] = [[0.5, 0.0], [0.0, 0.5], [-0.5, 0.0]]
    poincare._lift(points)
    known = np.array([0 * 3 + 1, 0 * 3 + 2])  # both are above the first
    first, second = points.copy(), points.copy()
    poincare._step(first, np.array([[0, 1]]), np.array([[2, 0]]), known, 0.1, 12.0)
    np.testing.assert_allclose(first, second, atol=1e-12)  # no slope: nothing to tell it from


def test_ranks_are_those_of_a_plain_loop() -> None:
    hierarchy, rng = tree(3, 3), np.random.default_rng(2)
    vectors = rng.normal(0, 1, (13, 2)).astype(np.float32)
    table = distances(vectors, vectors)
    ranks, precisions = [], []
    for word in range(13):
        above = hierarchy.pairs[hierarchy.pairs[:, 0] == word, 1].tolist()
        if not above:
            continue
        others = [v for v in range(13) if v != word and v not in above]
        own = sorted(1 + sum(table[word, v] < table[word, a] for v in others) for a in above)
        ranks += own
        precisions.append(np.mean([(i + 1) / (rank + i) for i, rank in enumerate(own)]))
    kept = reconstruction(hierarchy, vectors)
    assert (kept.words, kept.pairs) == (12, len(hierarchy.pairs))
    assert kept.mean_rank == pytest.approx(np.mean(ranks))
    assert kept.median_rank == np.median(ranks)
    assert kept.average_precision == pytest.approx(np.mean(precisions))


@pytest.mark.parametrize(
    "change",
    [{"dimensions": 1}, {"dimensions": 101}, {"epochs": 0}, {"rate": 0.0}, {"longest": np.inf},
     {"negatives": 0}, {"batch": 0}],
)  # fmt: skip
def test_a_plan_that_cannot_be_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(change))):
        HyperbolicPlan(**change)  # type: ignore[arg-type]


def test_the_trainer_writes_a_lexicon(table: Path, tmp_path: Path) -> None:
    vocabulary = Lexicon("toy", VOCABULARY, np.eye(10, dtype=np.float32))
    seen: list[tuple[str, int, int]] = []
    plan = HyperbolicPlan(dimensions=2, epochs=2, batch=4)
    out = tmp_path / "out"
    manifest = train_hyperbolic(table, vocabulary, out, plan, lambda *step: seen.append(step))
    lexicon = read_stored(out)
    assert lexicon.words == hypernyms(table, VOCABULARY).words
    assert lexicon.vectors.dtype == np.float32
    assert manifest.facts["vocabulary"]["words"] == 10
    assert manifest.facts["sources"][0]["licence"] == "CC-BY-4.0"
    assert manifest.facts["fingerprint"] == lexicon.fingerprint
    assert ("epochs", 2, 2) in seen


# -- what is bundled -------------------------------------------------------------------------------


def test_the_bundled_points_are_of_words_of_the_default_lexicon() -> None:
    lexicon, default = load("hyperbolic"), load()
    assert len(lexicon) == 16140
    assert lexicon.dimension == 5
    assert set(lexicon.words) <= set(default.words)
    places = default.indices(lexicon.words)
    assert (np.diff(places) > 0).all()
    facts = read_manifest(hyperbolic_folder()).facts
    assert facts["vocabulary"]["fingerprint"] == default.fingerprint
    # What is general lies nearer to the middle than what is below it.
    length = dict(zip(lexicon.words, np.linalg.norm(lexicon.vectors, axis=1), strict=True))
    for above, word in (("entity", "object"), ("animal", "poodle"), ("fruit", "apple")):
        if word in length:
            assert length[above] < length[word]


@pytest.mark.slow
def test_they_are_of_the_hierarchy_and_keep_what_the_manifest_says(data_dir: Path) -> None:
    """Ranks of every fortieth word; those of all are in the manifest."""
    facts = read_manifest(hyperbolic_folder()).facts
    lexicon = load("hyperbolic")
    hierarchy = hypernyms(data_dir / "oewn_synsets.parquet", load().words)
    assert hierarchy.words == lexicon.words
    assert len(hierarchy.pairs) == facts["quality"]["pairs"]
    some = hierarchy.pairs[hierarchy.pairs[:, 0] % 40 == 0]
    kept = reconstruction(replace(hierarchy, pairs=some), lexicon.vectors)
    assert kept.average_precision == pytest.approx(facts["quality"]["average_precision"], abs=0.05)
