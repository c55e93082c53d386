"""Colours as eyes see them: lightness, differences, and colour blindness."""

from collections.abc import Sequence

import numpy as np

from dpcore.arrays import FloatArray

# Machado, Oliveira and Fernandes 2009 (IEEE TVCG 15(6)), severity 1, for linear sRGB.
VISIONS: dict[str, FloatArray] = {
    "normal": np.eye(3),
    "protanopia": np.array([
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]),
    "deuteranopia": np.array([
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]),
    "tritanopia": np.array([
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ]),
}  # fmt: skip
# IEC 61966-2-1: linear sRGB to XYZ; its white is that of D65.
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colours: Sequence[str]) -> FloatArray:
    """Light of each hexadecimal colour in red, green and blue, from 0 to 1: shape (n, 3)."""
    values = [[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in colours]
    parts = np.array(values).reshape(-1, 3)
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colours: Sequence[str], vision: str = "normal") -> FloatArray:
    """CIE L*a*b* of each colour as such eyes see it: shape (n, 3)."""
    seen = np.clip(linear(colours) @ VISIONS[vision].T, 0.0, 1.0)
    ratios = seen @ _XYZ.T / _XYZ.sum(axis=1)
    roots = np.where(ratios > (6 / 29) ** 3, np.cbrt(ratios), ratios * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = roots.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def ciede2000(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the difference of colours (CIEDE2000; Sharma, Wu and Dalal 2005): 2 is just visible.

    Args:
        first: L*a*b*, shape (…, 3).
        second: likewise; both are broadcast.
    """
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = np.where(c1 * c2 > 0, (h2 - h1 + 180) % 360 - 180, 0.0)
    hue = np.where(c1 * c2 > 0, (h1 + h2 + 360 * (np.abs(h2 - h1) > 180)) / 2, h1 + h2)
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    cosines = ((0.17, 1, 30), (-0.24, 2, 0), (-0.32, 3, -6), (0.20, 4, 63))
    weight = 1 - sum(size * np.cos(np.radians(k * hue - at)) for size, k, at in cosines)
    d_l = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2))
    d_c = (c2 - c1) / (1 + 0.045 * chroma)
    d_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * weight)
    rotation = 60 * np.exp(-(((hue - 275) / 25) ** 2))
    mixed = 2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7)) * np.sin(np.radians(rotation))
    distance: FloatArray = np.sqrt(d_l**2 + d_c**2 + d_h**2 - mixed * d_c * d_h)
    return distance
