"""Is a claimed guarantee true? Exact losses, privacy profiles, lower bounds, and verdicts."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcore.audit.report import AuditReport
    from dpcore.mechanisms.mechanism import Mechanism


class _CallableRoom(ModuleType):
    """This package, which is also a name of the front door, as `dpcore.lexicon` is."""

    def __call__(self, mechanism: Mechanism, epsilon: float, **options: Any) -> AuditReport:
        """Audit a mechanism: `dpcore.audit.report.audit_report`, which says what `options` are."""
        from dpcore.audit.report import audit_report

        return audit_report(mechanism, epsilon, **options)


sys.modules[__name__].__class__ = _CallableRoom
