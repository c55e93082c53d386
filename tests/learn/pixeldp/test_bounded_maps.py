import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.noise_layer import BoundedMap, sensitivity
from tests.fixtures import MakeRng

NORMS = [(1, 1), (1, 2), (1, math.inf), (2, 2)]


def tensor(array: Any) -> Any:
    import torch

    return torch.from_numpy(np.array(array)).requires_grad_()


def plainly(kernel: NDArray[np.float64], picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """A convolution by its definition, one output after the other."""
    outputs, _, rows, columns = kernel.shape
    result = np.zeros((outputs, *picture.shape))
    for o, y, x in np.ndindex(result.shape):
        for i, j in np.ndindex(rows, columns):
            v, u = y + i - rows // 2, x + j - columns // 2
            if 0 <= v < len(picture) and 0 <= u < len(picture):
                result[o, y, x] += kernel[o, 0, i, j] * picture[v, u]
    return result


@pytest.mark.parametrize(
    ("shape", "side"), [((2, 1, 3, 3), 5), ((3, 1, 5, 5), 3), ((1, 1, 1, 1), 1)]
)
def test_the_matrix_of_a_map_is_its_weights(
    rng: MakeRng, shape: tuple[int, ...], side: int
) -> None:
    kernel, picture = rng().standard_normal(shape), rng(1).standard_normal((side, side))
    matrix = BoundedMap(1, 1, side).matrix(tensor(kernel))
    assert np.allclose(matrix @ picture.ravel(), plainly(kernel, picture).ravel(), atol=1e-12)
    assert set(matrix.ravel()) <= {0.0, *kernel.ravel()}  # to the last bit
    assert matrix.flags.c_contiguous
    dense = rng().standard_normal((3, 5))
    assert np.array_equal(BoundedMap(2, 2).matrix(tensor(dense)), dense)


@pytest.mark.parametrize(("attack", "noise"), NORMS)
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("side", [5, 8])
def test_a_convolution_is_never_more_sensitive_than_its_bound(
    rng: MakeRng, attack: int, noise: float, kernel: int, side: int
) -> None:
    """Against the exact sensitivity of the unrolled matrix, for twenty kernels."""
    generator = rng()
    bounded = BoundedMap(attack, noise, side)
    for _ in range(20):
        weight = generator.standard_normal((3, 1, kernel, kernel))
        exact = sensitivity(bounded.matrix(tensor(weight)), attack, noise)
        bound = float(bounded.reach(tensor(weight)).detach())
        assert exact <= bound * (1 + 1e-9)
        if attack == 1 or kernel == 1:
            assert exact == pytest.approx(bound, rel=1e-9)
        else:
            assert exact > 0.5 * bound  # a bound that is worth something


@pytest.mark.parametrize(("attack", "noise"), NORMS)
def test_a_dense_layer_has_exactly_its_bound(rng: MakeRng, attack: int, noise: float) -> None:
    weight = rng().standard_normal((6, 9))
    result = float(BoundedMap(attack, noise).reach(tensor(weight)).detach())
    assert result == pytest.approx(sensitivity(weight, attack, noise), rel=1e-9)


@pytest.mark.parametrize("side", [0, 4])
@pytest.mark.parametrize(("attack", "noise"), NORMS)
def test_no_attack_moves_a_bounded_map_by_more_than_its_length(
    rng: MakeRng, attack: int, noise: float, side: int
) -> None:
    generator = rng()
    weight = generator.standard_normal((3, 1, 3, 3) if side else (5, 16))
    layer = BoundedMap(attack, noise, side)
    bounded = layer.bounded(tensor(weight))
    attacks = generator.standard_normal((2_000, 16))
    attacks[:16] = np.eye(16)
    attacks[16:32] = np.linalg.svd(layer.matrix(bounded))[2]  # the worst directions for p = 2
    lengths = np.linalg.norm(attacks, ord=attack, axis=1)
    moved = layer.apply(bounded, tensor(attacks)).detach().numpy()
    assert (np.linalg.norm(moved, ord=noise, axis=1) <= lengths * (1 + 1e-9)).all()
    assert np.allclose(moved, attacks @ layer.matrix(bounded).T)


@pytest.mark.parametrize("side", [0, 4])
@pytest.mark.parametrize(("attack", "noise"), NORMS)
def test_the_gradient_goes_through_the_division(
    rng: MakeRng, attack: int, noise: float, side: int
) -> None:
    """Against central differences of a linear function of the bounded weights."""
    generator = rng()
    weight = generator.standard_normal((3, 1, 3, 3) if side else (5, 16))
    direction = generator.standard_normal(weight.shape)
    bounded = BoundedMap(attack, noise, side)

    def value(array: Any) -> float:
        return float((bounded.bounded(tensor(array)) * tensor(direction)).sum().detach())

    leaf = tensor(weight)
    (bounded.bounded(leaf) * tensor(direction)).sum().backward()
    step = 1e-6
    for _ in range(10):
        change = generator.standard_normal(weight.shape)
        slope = (value(weight + step * change) - value(weight - step * change)) / (2 * step)
        assert float((leaf.grad.numpy() * change).sum()) == pytest.approx(slope, abs=1e-6)
    assert float((leaf.grad.numpy() * weight).sum()) == pytest.approx(0.0, abs=1e-9)  # scale-free


@pytest.mark.parametrize(("attack", "noise"), [(2, 1), (math.inf, 1), (math.inf, 2)])
def test_norms_that_need_a_maximum_over_signs_are_refused(attack: float, noise: int) -> None:
    with pytest.raises(ParameterError, match="maximum over signs in every step"):
        BoundedMap(attack, noise)
