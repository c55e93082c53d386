"""Contract of every mechanism, as tests for authors of new mechanisms.

    from dpcore.testing import MechanismContract
    from my_package.noise import Mine


    class TestMine(MechanismContract):
        kind = Mine

`python -m pytest` runs it like any class of tests; nothing here needs pytest.
"""

from __future__ import annotations

import sys
from typing import Any

# Without this, pytest reports only that an `assert` here failed.
_pytest: Any = sys.modules.get("pytest")
if _pytest is not None:
    _pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in ("chance", "contract")))

from dpcore.testing.contract import MechanismContract  # noqa: E402  # after the line above

__all__ = ["MechanismContract"]
