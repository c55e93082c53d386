import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import ParameterError
from dpcore.learn.pixeldp.convolution import unrolled
from tests.fixtures import MakeRng


def plainly(kernel: NDArray[np.float64], picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of its definition, one output after the other."""
    outputs, channels, rows, columns = kernel.shape
    _, height, width = picture.shape
    found = np.zeros((outputs, height, width))
    for o, y, x in np.ndindex(found.shape):
        for c, i, j in np.ndindex(channels, rows, columns):
            v, u = y + i - rows // 2, x + j - columns // 2
            if 0 <= v < height and 0 <= u < width:
                found[o, y, x] += kernel[o, c, i, j] * picture[c, v, u]
    return found


@pytest.mark.parametrize(
    ("shape", "height", "width"),
    [((2, 1, 3, 3), 4, 5), ((1, 2, 3, 1), 3, 3), ((3, 1, 5, 5), 2, 3), ((1, 1, 1, 1), 1, 1)],
)
def test_the_matrix_does_what_the_convolution_does(
    rng: MakeRng, shape: tuple[int, int, int, int], height: int, width: int
) -> None:
    generator = rng()
    kernel = generator.standard_normal(shape)
    picture = generator.standard_normal((shape[1], height, width))
    found = unrolled(kernel, height, width) @ picture.ravel()
    assert np.allclose(found, plainly(kernel, picture).ravel(), atol=1e-12)


def test_torch_means_the_same_convolution(rng: MakeRng) -> None:
    import torch

    kernel = rng().standard_normal((4, 2, 3, 3))
    pictures = rng(1).standard_normal((5, 2, 6, 7))
    theirs = torch.nn.functional.conv2d(
        torch.from_numpy(pictures), torch.from_numpy(kernel), padding="same"
    ).flatten(1)
    assert np.allclose(pictures.reshape(5, -1) @ unrolled(kernel, 6, 7).T, theirs, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (1, 1, 2, 3), (1, 0, 3, 3)])
def test_what_is_no_kernel_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="a kernel has shape"):
        unrolled(np.ones(shape), 4, 4)
    with pytest.raises(ParameterError, match="at least one pixel"):
        unrolled(np.ones((1, 1, 3, 3)), 0, 4)
