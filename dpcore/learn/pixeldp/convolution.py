"""A convolution as the matrix that it is, so that its sensitivity is that of a linear layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]


def unrolled(kernel: ArrayLike, height: int, width: int) -> FloatArray:
    """The matrix of a convolution of stride 1 with zeros around the picture.

    As `torch.nn.functional.conv2d` with padding "same" (a cross-correlation); a picture of c
    channels is read row by row, channel after channel.

    Args:
        kernel: shape (o, c, a, b), a and b odd.
        height: of the picture, in pixels.
        width: of the picture.

    Returns:
        Shape (o·height·width, c·height·width).

    Raises:
        ParameterError: the kernel is no such array, or a picture has no pixel.
    """
    found = np.asarray(kernel, dtype=np.float64)
    if not (found.ndim == 4 and found.size and found.shape[2] % 2 and found.shape[3] % 2):
        raise ParameterError(
            "a kernel has shape (outputs, channels, rows, columns) with odd rows and columns, got "
            f"shape {found.shape}"
        )
    if not (height >= 1 and width >= 1):
        raise ParameterError(f"a picture has at least one pixel, got {height} x {width}")
    outputs, channels, rows, columns = found.shape
    matrix = np.zeros((outputs, height, width, channels, height, width))
    for y in range(height):
        for x in range(width):
            for i in range(rows):
                for j in range(columns):
                    v, u = y + i - rows // 2, x + j - columns // 2
                    if 0 <= v < height and 0 <= u < width:
                        matrix[:, y, x, :, v, u] = found[:, :, i, j]
    return matrix.reshape(outputs * height * width, channels * height * width)
