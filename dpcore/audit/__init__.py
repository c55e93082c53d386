"""Audits of claimed guarantees: exact losses, privacy profiles, lower bounds, verdicts."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcore.audit.blackbox.function import Function
    from dpcore.audit.blackbox.report import FunctionReport, ReplayReport
    from dpcore.audit.report import AuditReport
    from dpcore.mechanisms.mechanism import Mechanism


class _CallableRoom(ModuleType):
    """Package that is also a callable of the public interface, as `dpcore.lexicon` is."""

    def __call__(
        self, subject: Mechanism | Function | str, epsilon: Any = None, **options: Any
    ) -> AuditReport | FunctionReport | ReplayReport:
        """Audit a mechanism or any function: `dpcore.audit.report.audit`."""
        # Not at the top: every module of this package would load all others.
        from dpcore.audit.report import audit

        return audit(subject, epsilon, **options)


sys.modules[__name__].__class__ = _CallableRoom
