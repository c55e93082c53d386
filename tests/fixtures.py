"""Types of fixtures, for the signatures of tests."""

from collections.abc import Callable

import numpy as np

MakeRng = Callable[..., np.random.Generator]  # `rng()`, `rng(3)`
Uninstall = Callable[[str], None]
