"""Tests for authors of mechanisms and of rewriters.

The contract of every mechanism, as a class of tests to extend:

    from dpcore.testing import MechanismContract
    from my_package.noise import Mine


    class TestMine(MechanismContract):
        kind = Mine

`python -m pytest` runs it like any class of tests; nothing here needs pytest. Where pytest is, this
module is also a plugin with one fixture, `no_leak`, which replays the noise of a rewriter:

    pytest_plugins = ["dpcore.testing"]  # in the outermost conftest.py


    def test_rewriter(no_leak):
        no_leak(my_package.rewrite)
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

# Without this, pytest reports only that an `assert` here failed.
_pytest: Any = sys.modules.get("pytest")
if _pytest is not None:
    _pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in ("chance", "contract")))

from dpcore.audit.blackbox.replay import replay_function  # noqa: E402  # after the line above
from dpcore.audit.blackbox.report import Kind, ReplayReport  # noqa: E402
from dpcore.testing.contract import MechanismContract  # noqa: E402

__all__ = ["MechanismContract", "assert_no_leak"]


def assert_no_leak(
    function: Any, *, strict: bool = False, allow: Collection[str] = (), **options: Any
) -> ReplayReport:
    """Fail a test if replayed noise proves a leak of a rewriter.

    Args:
        function: text → text, or its name.
        strict: fail on dependences that are only to be looked at as well, and where not all
            randomness was seen.
        allow: subjects of findings that are known and accepted, such as "candidates".
        options: of `dpcore.audit.blackbox.replay.replay_function`.

    Returns:
        The report, for further tests.

    Raises:
        AssertionError: there is such a finding; the message is the report.
        ValueError: `allow` has a name that is no subject of findings.
    """
    allowed = {Kind(str(kind)) for kind in allow}
    report = replay_function(function, **options)
    findings = report.findings if strict else report.proved
    unseen = strict and not report.all_seen
    if unseen or any(finding.kind not in allowed for finding in findings):
        raise AssertionError(str(report))
    return report


if _pytest is not None:

    @_pytest.fixture  # type: ignore[untyped-decorator]  # pytest is Any here: it may be absent
    def no_leak() -> Any:
        """Return `assert_no_leak`: it fails the test on a leak that is proved."""
        return assert_no_leak
