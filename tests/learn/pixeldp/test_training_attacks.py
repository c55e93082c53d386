"""Certificates of networks that were trained through their noise, against attacks that respect the
radius: random directions, directions of the first map, and the network's own gradient."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.learn.pixeldp.certified import (
    ABSTAINED,
    Bound,
    certified_size,
    certify,
    draw_scores,
    score_bounds,
    tight_size,
)
from dpcore.learn.pixeldp.digits import Digits, Place, digits
from dpcore.learn.pixeldp.noise_layer import Accounting, BoundedMap, NoiseLayer
from dpcore.learn.pixeldp.training import LossTask, added_noise, train_pixeldp
from dpcore.learn.tensors import array, torch_generator
from dpcore.learn.training import Training, fit
from tests.fixtures import MakeRng

ATTACKS = 10_000
PICTURES, CLASSES = 20, 3


class TinyNetwork:
    """Two numbers of a picture, noise on them, tanh units and a softmax of three classes: so small
    that its expected scores are an integral over the plane."""

    def __init__(
        self, accounting: Accounting, scale: float, generator: np.random.Generator
    ) -> None:
        import torch

        self.accounting, self.scale = accounting, scale
        self.noise = NoiseLayer(accounting, scale, accounting.norm, 2)
        self.first = BoundedMap(accounting.norm, accounting.norm)
        start = torch_generator(generator)
        shapes = {"first": (2, 64), "hidden": (12, 2), "last": (CLASSES, 12)}
        self.weights = {
            name: torch.randn(shape, generator=start).requires_grad_()
            for name, shape in shapes.items()
        }

    def scores(self, outputs: Any) -> Any:
        import torch

        hidden = torch.tanh(outputs @ self.weights["hidden"].T.to(outputs.dtype))
        return torch.softmax(hidden @ self.weights["last"].T.to(outputs.dtype), dim=-1)

    def train(self, data: Digits) -> NoiseLayer:
        import torch

        pictures = torch.from_numpy(data.train.astype(np.float32))
        labels = torch.from_numpy(data.train_labels.copy())

        def loss(rows: Any, rng: np.random.Generator) -> Any:
            clean = self.first.apply(self.first.bounded(self.weights["first"]), pictures[rows])
            chosen = self.scores(added_noise(self.noise, clean, rng))
            return -chosen[torch.arange(len(rows)), labels[rows]].log().mean()

        task = LossTask(self.weights, len(pictures), loss)
        fit(task, Training(epochs=60, batch=32, rate=0.02, threads=1))
        self.matrix = self.first.matrix(self.first.bounded(self.weights["first"]))
        return NoiseLayer(self.accounting, self.scale, self.accounting.norm, 64, self.matrix)

    def expected(self, pictures: Any, count: int) -> Any:
        """Expected scores by quadrature; gradients go to the pictures."""
        import torch

        nodes, weights = quadrature(self.accounting, count)
        points = self.scale * np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
        mass = torch.from_numpy(np.multiply.outer(weights, weights).ravel())
        clean = pictures @ torch.from_numpy(self.matrix).T
        return torch.einsum(
            "kqc,q->kc", self.scores(clean[:, None] + torch.from_numpy(points)), mass
        )


def quadrature(
    accounting: Accounting, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights for the mean over one coordinate of the noise at scale 1."""
    if accounting is not Accounting.LAPLACE:
        nodes, weights = np.polynomial.hermite_e.hermegauss(count)
        return nodes, weights / weights.sum()
    half, weights = np.polynomial.laguerre.laggauss(count // 2)
    return np.concatenate((-half, half)), np.concatenate((weights, weights)) / 2


def some_digits(classes: int = CLASSES, tested: int = PICTURES) -> Digits:
    data = digits()
    train, test = (y < classes for y in (data.train_labels, data.test_labels))
    return Digits(
        data.train[train],
        data.train_labels[train],
        data.test[test][:tested],
        data.test_labels[test][:tested],
    )


def of_length(directions: NDArray[np.float64], sizes: Any, norm: float) -> NDArray[np.float64]:
    """Scaled to a size each; of a gradient in norm 1 the best attack is its largest entry."""
    lengths = np.linalg.norm(directions, ord=norm, axis=-1, keepdims=True)
    return directions * sizes / np.maximum(lengths, 1e-300)


def steepest(gradient: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    if norm == 2:
        return gradient
    step = np.zeros_like(gradient)
    place = np.abs(gradient).argmax(axis=-1)[..., None]
    np.put_along_axis(step, place, np.sign(np.take_along_axis(gradient, place, -1)), -1)
    return step


def fixed_attacks(
    generator: np.random.Generator, matrix: NDArray[np.float64], count: int, norm: float
) -> NDArray[np.float64]:
    """Random directions, single pixels, and the directions that the first map stretches most."""
    attacks = generator.standard_normal((count, 64))
    sparse = generator.random((count // 2, 64)) < 0.05
    attacks[: count // 2] *= np.where(sparse.any(axis=1, keepdims=True), sparse, 1)
    stretched = np.linalg.svd(matrix)[2][:2]
    attacks[:4] = np.concatenate((stretched, -stretched))
    return of_length(attacks, 1.0, norm)


def margins(scores: NDArray[np.float64], classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Score of the class less the largest other one."""
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, classes] = -np.inf
    return scores[rows, classes] - others.max(axis=1)


@pytest.mark.full
@pytest.mark.parametrize("accounting", [Accounting.ANALYTIC, Accounting.LAPLACE])
def test_ten_thousand_attacks_on_exact_scores_change_nothing(
    rng: MakeRng, accounting: Accounting
) -> None:
    """Scores by quadrature, whose error is measured; 200 fixed attacks and 50 guided ones on each
    of twenty pictures, at just the size that PixelDP certifies and again at the tight one."""
    import torch

    generator, data, norm = rng(), some_digits(), accounting.norm
    network = TinyNetwork(accounting, 0.3, generator)
    layer = network.train(data)

    def scores(pictures: Any, count: int = 20) -> Any:
        with torch.no_grad():
            return array(network.expected(torch.from_numpy(pictures.copy()), count))

    clean = scores(data.test)
    error = 10 * np.abs(clean - scores(data.test, 40)).max()
    assert error < 0.02
    ordered = np.sort(clean, axis=1)
    low, high = ordered[:, -1] - error, ordered[:, -2] + error
    classes = clean.argmax(axis=1)
    assert (classes == data.test_labels).mean() > 0.8
    result = {"pixeldp": certified_size(layer, low, high), "tight": tight_size(layer, low, high)}
    assert (result["pixeldp"] > 0.05).sum() > PICTURES // 2

    def least(sizes: NDArray[np.float64], fixed: int, guided: Any) -> Any:
        """The smallest margin of each picture under attacks of its size, and how many there are."""
        everywhere = fixed_attacks(generator, network.matrix, fixed, norm)
        tried = data.test[:, None] + everywhere * sizes[:, None, None]
        owners = np.repeat(classes, fixed)
        worst = margins(scores(tried.reshape(-1, 64)), owners).reshape(PICTURES, -1).min(axis=1)
        count, starts = PICTURES * fixed, 10
        owners = np.repeat(classes, starts)
        long = np.repeat(sizes, starts)[:, None]
        middle = np.repeat(data.test, starts, axis=0)
        attack = of_length(generator.standard_normal(middle.shape), long, norm)
        for step in range(guided // starts):
            x = torch.from_numpy(middle + attack).requires_grad_()
            values = network.expected(x, 20)
            predicted = values[torch.arange(len(x)), torch.from_numpy(owners)]
            others = values.masked_fill(
                torch.nn.functional.one_hot(torch.from_numpy(owners), CLASSES).bool(), -1.0
            )
            lead = predicted - others.max(dim=1).values
            lead.sum().backward()
            worst = np.minimum(worst, array(lead).reshape(PICTURES, starts).min(axis=1))
            count += len(x)
            downhill = of_length(-steepest(array(x.grad), norm), long, norm)
            attack = of_length(attack + downhill / (1 + step / 3), long, norm)
        return worst, count

    total = 0
    for sizes in result.values():
        worst, count = least(sizes, 200, 50)
        total += count
        assert (worst[sizes > 0] > -error).all()
    assert total >= ATTACKS
    # What it would see: attacks of four times the tight size succeed.
    beyond, _ = least(4 * result["tight"], 10, 50)
    assert (beyond[result["tight"] > 0] < -error).mean() > 0.3


@pytest.mark.full
@pytest.mark.parametrize("place", Place)
def test_attacks_on_whole_networks_within_the_radius_never_win(rng: MakeRng, place: Place) -> None:
    """A third of ten thousand attacks for each place. Each is tried with a few draws of the noise;
    the one of each picture that comes nearest is tried again with 4,000 fresh draws, whose error
    is Hoeffding's: a false alarm has probability 1e-6, and 1e-9 by the certificate."""
    import torch

    generator = rng()
    data = some_digits(10, 30)
    settings: dict[str, Any] = {"place": place, "data": data, "channels": 4, "epochs": 40}
    model = train_pixeldp(Accounting.ANALYTIC, 0.3, 2, generator, **settings)
    layer = model.layer
    matrix = np.eye(64) if layer.matrix is None else layer.matrix
    drawn = draw_scores(model.scores, layer, data.test, 800, rng(1))
    certificates = certify(layer, score_bounds(drawn, 1e-9 / 30, Bound.CLOPPER_PEARSON))
    kept = np.flatnonzero(certificates.classes != ABSTAINED)
    assert kept.size >= 15
    assert (certificates.tight[kept] > 0.05).any()
    classes, sizes = certificates.classes[kept], certificates.tight[kept]

    def guided(starts: int, steps: int, factor: float) -> NDArray[np.float64]:
        """Gradient steps through a few fixed draws of the noise; all points on the way."""
        owners = torch.from_numpy(np.repeat(classes, starts))
        long = factor * np.repeat(sizes, starts)[:, None]
        middle = np.repeat(data.test[kept], starts, axis=0)
        first = torch.from_numpy(matrix.copy())
        noise = torch.from_numpy(layer.noisy(np.zeros((8, len(matrix))), generator))
        attack = of_length(generator.standard_normal(middle.shape), long, 2)
        points = []
        for _ in range(steps):
            points.append(middle + attack)
            x = torch.from_numpy(middle + attack).requires_grad_()
            outputs = (x @ first.T)[:, None] + noise
            logits = model._model.logits(outputs.flatten(0, 1).float())
            entropy: Any = torch.nn.functional.cross_entropy
            entropy(logits, owners.repeat_interleave(len(noise))).backward()
            attack = of_length(attack + of_length(array(x.grad), long, 2), long, 2)
        return np.stack(points, axis=1).reshape(kept.size, starts * steps, 64)

    def least(factor: float, fixed: int, starts: int, steps: int) -> Any:
        """Votes of the class less those of another, under the worst attack on each picture."""
        plain = fixed_attacks(generator, matrix, fixed, 2) * (factor * sizes[:, None, None])
        tried = np.concatenate((data.test[kept][:, None] + plain, guided(starts, steps, factor)), 1)
        few = draw_scores(model.scores, layer, tried.reshape(-1, 64), 24, generator)
        owners = np.repeat(classes, tried.shape[1])
        near = margins(few.means, owners).reshape(kept.size, -1).argmin(axis=1)
        worst = tried[np.arange(kept.size), near]
        again = draw_scores(model.scores, layer, worst, 4_000, generator)
        return margins(again.votes / again.draws, classes), tried.shape[0] * tried.shape[1]

    per = ATTACKS // 3 // kept.size + 1
    worst, count = least(1.0, per - 40, 8, 5)
    assert count >= ATTACKS // 3
    error = 2 * np.sqrt(np.log(2 * 30 * 1e6) / (2 * 4_000))
    assert (worst > -error).all()
    beyond, _ = least(6.0, 4, 8, 5)
    assert (beyond < -error).mean() > 0.3  # what it would see
