"""The class of machine that made a result, as a manifest says it."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np


def machine_facts() -> dict[str, Any]:
    """Cores, versions and kind of processor; nothing that names one machine."""
    return {
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.system(),
        "processor": platform.machine(),
    }
