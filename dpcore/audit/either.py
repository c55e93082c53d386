"""One door for all audits: a mechanism has a law, of a function only the outputs are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from dpcore.errors import ParameterError
from dpcore.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from dpcore.audit.blackbox.function import Form, Function
    from dpcore.audit.blackbox.report import FunctionReport
    from dpcore.audit.report import AuditReport
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.metric import Metric
    from dpcore.lexicon.progress import Progress


@overload
def audit(
    subject: Mechanism,
    epsilon: float,
    *,
    words: int | None = ...,
    pairs: int | None = ...,
    seed: int = ...,
    progress: Progress = ...,
) -> AuditReport: ...
@overload
def audit(
    subject: Function | str,
    epsilon: float,
    *,
    lexicon: Lexicon | None = ...,
    metric: str | Metric = ...,
    delta: float = ...,
    samples: int = ...,
    seed: int = ...,
    error: float = ...,
    form: Form | str = ...,
    progress: Progress = ...,
) -> FunctionReport: ...
def audit(subject: Any, epsilon: float, **options: Any) -> AuditReport | FunctionReport:
    """Is a claim of ε true?

    Args:
        subject: a mechanism, whose law is compared (`dpcore.audit.report.audit_report`); or any
            function from words to words, or its name `package.module:function`, of which nothing
            but outputs is known (`dpcore.audit.blackbox.audit.audit_function`).
        epsilon: the claimed ε.
        options: what the one or the other takes beside it.

    Raises:
        ParameterError: neither of them.
    """
    if isinstance(subject, Mechanism):
        from dpcore.audit.report import audit_report

        return audit_report(subject, epsilon, **options)
    if not (callable(subject) or isinstance(subject, str)):
        raise ParameterError(
            "an audit needs a mechanism, a function from words to words, or the name of one, got "
            f"a value of type {type(subject).__name__}"
        )
    from dpcore.audit.blackbox.audit import audit_function

    return audit_function(subject, epsilon, **options)
