"""Is the noise new each time: in another call, and in another process?

A package that sets a seed when it is loaded gives everybody the same noise: whoever has the package
can take it away again. Within one process that does not show. So a list of words is handed to
several fresh processes. Were their noise independent, then whether two processes agree on a word
would be as likely as that two calls of one process do, and each word on which only one of the two
agreements holds would be a fair coin (McNemar 1947, as an exact test).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.audit.blackbox.function import Form, Refusal, WordFunction
from dpcore.errors import DpcoreError
from dpcore.jobs.executors import Processes

if TYPE_CHECKING:
    from dpcore.audit.blackbox.function import Output
    from dpcore.jobs.worker import Json

_FUNCTION = "dpcore.audit.blackbox.repeats:in_this_process"


@dataclass(frozen=True)
class Repeats:
    """How often two calls, and two processes, agree on the same words.

    Attributes:
        words: how many different words were handed over.
        in_one_process: words on which two calls of this process agree.
        in_two_processes: words on which the first calls of two fresh processes agree.
        only_processes: words on which those two agree, and the two calls do not.
        only_calls: the reverse.
        reacts: whether a third process, given other words, gave other outputs.
        error: probability with which either finding below may be wrong.
    """

    words: int
    in_one_process: int
    in_two_processes: int
    only_processes: int
    only_calls: int
    reacts: bool
    error: float

    @property
    def p_same(self) -> float:
        """Chance of so many agreements of processes alone, if each has noise of its own."""
        return _tail(self.only_processes, self.only_calls)

    @property
    def _processes_alike(self) -> bool:
        return self.p_same <= 0.5 * self.error  # the other half is for the other direction

    @property
    def same_noise(self) -> bool:
        """Whether every process has the same noise, and the words decide what comes out."""
        agree = self.in_two_processes == self.words
        return agree and self.reacts and self._processes_alike

    @property
    def partly_same(self) -> bool:
        """Whether processes agree more than two calls do, without having all noise in common."""
        return self._processes_alike and not self.same_noise

    @property
    def remembers(self) -> bool:
        """Whether the calls of one process depend on each other: they agree more than two do."""
        return _tail(self.only_calls, self.only_processes) <= 0.5 * self.error

    @property
    def fixed(self) -> bool:
        """Whether nothing but the word decided what came out, in every call and every process."""
        return self.words == self.in_one_process == self.in_two_processes and self.reacts

    @property
    def notable(self) -> bool:
        """Whether there is anything to be said but that nothing shows."""
        return self.same_noise or self.partly_same or self.remembers or self.fixed

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        words = f"{self.words:,} words"
        if self.same_noise:
            return (
                f"every fresh process has the same noise: two of them agree on all of {words}, two "
                f"calls of one process on {self.in_one_process:,}; whoever has the program can "
                "take the noise away"
            )
        if self.remembers:
            return (
                f"calls of one process are not independent: two of them agree on "
                f"{self.in_one_process:,} of {words}, fresh processes on {self.in_two_processes:,}"
            )
        if self.partly_same:
            return (
                f"fresh processes agree more than calls do: two of them on "
                f"{self.in_two_processes:,} of {words}, two calls of one process on "
                f"{self.in_one_process:,}; some noise is always the same, or the function changes "
                "while it is called"
            )
        if self.fixed:
            return f"no noise shows: two calls and two fresh processes agree on all of {words}"
        return (
            f"two fresh processes agree on {self.in_two_processes:,} of {words}, two calls of one "
            f"process on {self.in_one_process:,}: no sign that noise is used twice"
        )


def _tail(heads: int, tails: int) -> float:
    """P(at least so many heads of a fair coin)."""
    from scipy.stats import binom

    return float(binom.sf(heads - 1, heads + tails, 0.5))


def repeats(
    function: WordFunction, epsilon: float, words: Sequence[str], error: float
) -> Repeats | str:
    """Compare two calls of this process, and the first calls of three fresh ones.

    Returns:
        What was found, or a sentence that says why no fresh process could be asked.
    """
    if function.importable is None:
        return (
            "not tested: another process can import neither a function of a notebook nor one made "
            "inside another; name it as package.module:function"
        )
    once, again = function.outputs(words), function.outputs(words)
    # Rotated by one place: with the same noise, only what depends on the words differs.
    lists = [list(words), list(words), [*words[1:], *words[:1]]]
    answers = []
    for asked in lists:
        payload = {
            "function": function.importable,
            "form": str(function.form),
            "epsilon": epsilon,
            "words": asked,
        }
        try:
            with Processes(1, attempts=1) as fresh:
                ((_, result),) = fresh.run(_FUNCTION, [payload])
        except DpcoreError as problem:
            return f"not tested: a fresh process failed ({problem})"
        answers.append(result["outputs"])
    calls = [a == b for a, b in zip(_plain(once), _plain(again), strict=True)]
    processes = [a == b for a, b in zip(answers[0], answers[1], strict=True)]
    both = list(zip(calls, processes, strict=True))
    return Repeats(
        words=len(words),
        in_one_process=sum(calls),
        in_two_processes=sum(processes),
        only_processes=both.count((False, True)),
        only_calls=both.count((True, False)),
        reacts=answers[2] != answers[0],
        error=error,
    )


def in_this_process(payload: Json) -> Json:
    """The job of a fresh process: outputs of a named function for a list of words."""
    function = WordFunction(str(payload["function"]), float(payload["epsilon"]), payload["form"])
    if function.form is Form.AUTO:
        function.settle(payload["words"])
    return {"outputs": _plain(function.outputs(list(payload["words"])))}


def _plain(outputs: Sequence[Output]) -> list[str]:
    """As JSON has them."""
    return [str(output) if isinstance(output, Refusal) else output for output in outputs]
