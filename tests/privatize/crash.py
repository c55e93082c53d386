"""A run of `privatize` killed at every file operation, and later runs on the remains.

    python -m tests.privatize.crash KIND WORKERS [release]

An audit hook counts the operations on files below one folder, and kills the process before the
k-th; k grows until a run ends by itself. All runs are forks of this process, which has imported
everything. After every kill the same order is given again, then (each on a
copy of what the kill has left) one with another ε, one with another input, and one with another ε
after what was published has been moved away. A refusal is followed to the letter, and must then be
over. With two workers, which are forks as well, it is also each of their operations, in each of
their jobs: killed alone, when the run must not notice, and with all other processes.

The secret is injected, so outputs are compared to the bit though they are releases; ids are
counted, so that two kills which leave the same files, byte for byte, are followed only once. With
`release` the secret is the system's as in life, and a text betrays its ε: the words stay as they
are (10⁶; that one of the few thousand does not has a probability below 10⁻⁷), or do not (0.05; that
all 14 stay has one below 10⁻¹²). The last line printed is a JSON object: how many points were
tried, how many different states they left, and every failure.
"""

import hashlib
import itertools
import json
import mmap
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dpcore.errors import DpcoreError
from dpcore.jobs import executors, worker
from dpcore.mechanisms.registry import create
from dpcore.privatize import run as privatizing
from dpcore.privatize.order import Order
from dpcore.privatize.run import privatize
from dpcore.tables.detection import format_of
from tests.mechanisms import lexicons
from tests.privatize.corpora import order, write

WATCHED = {
    "open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink",
    "os.truncate", "fcntl.flock", "shutil.rmtree", "shutil.copyfile", "tempfile.mkstemp",
    "tempfile.mkdtemp",
}  # fmt: skip
TEXTS = ["W1 w2, unheard", "w3 w4", "w5 w6 w7", "w8", "w9 w10", "w11 Unheard", "w12 w13"]
OTHER = ["w3 w4 w5", "w1", "w1 w2", "w20 w21", "w7"]
SPAN_BYTES = 30
TEM = create("tem", lexicons.cloud(60, 3), {"beta": 1e-12})
ORDERS = {"same": (2.0, TEXTS), "epsilon": (0.05, TEXTS), "input": (2.0, OTHER)}
REVEALING = {
    name: (
        1e6 if epsilon > 1 else epsilon,
        [text.lower().replace("unheard", "w9") for text in texts],
    )
    for name, (epsilon, texts) in ORDERS.items()
}
UNCHANGED = {
    "".join(f"{text}\n" for text in texts).encode().hex() for _, texts in REVEALING.values()
}


class Clock:
    """Counts this process's operations below a folder, and kills before the k-th."""

    def __init__(self, folder: Path, stop: Any, kill: Any) -> None:
        self.folder, self.stop, self.kill, self.count = str(folder), stop, kill, 0
        sys.addaudithook(self)
        # It is the process that dies here, not the machine.
        os.fsync = lambda handle: self.tick()  # type: ignore[assignment]

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in WATCHED:
            return
        path = arguments[0] if arguments else None
        if event == "fcntl.flock":
            self.tick()
        elif isinstance(path, str | os.PathLike):
            # What is deleted within a tree has a name relative to an open folder.
            name = os.fspath(path)
            if not os.path.isabs(name) or name.startswith(self.folder):  # noqa: PTH117
                self.tick()

    def tick(self) -> None:
        self.count += 1
        if self.count == self.stop:
            self.kill()


def kill_alone() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_all() -> None:
    os.killpg(os.getpgid(0), signal.SIGKILL)


class Spare:
    """A worker that was forked before it is needed, with the handles of a `Popen`."""

    def __init__(self, others: Any, start: Any) -> None:
        requests, self.pipes = os.pipe(), []
        answers = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            for pipe in (requests[1], answers[0], *(p for other in others for p in other.pipes)):
                os.close(pipe)  # or a worker would not see that its parent has gone
            os.dup2(requests[0], 0)
            os.dup2(answers[1], 1)
            sys.stdin = os.fdopen(0, encoding="utf-8")
            try:
                start()
                worker.main()
            finally:
                os._exit(9)
        os.close(requests[0])
        os.close(answers[1])
        self.pipes = [requests[1], answers[0]]
        self.stdin = os.fdopen(requests[1], "w", encoding="utf-8")
        self.stdout = os.fdopen(answers[0], encoding="utf-8")

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        os.waitpid(self.pid, 0)


def pool(count: int, start: Callable[[int], object] = lambda number: None) -> Any:
    """An executor whose workers are forks; `start` is called in each with its number."""
    if count == 1:
        return executors.of(1)
    spares: list[Any] = []
    for number in range(2 * count):  # the second half takes over from those that are killed
        spares.append(Spare(spares, lambda number=number: start(number)))

    def started(self: Any) -> Any:
        with self._lock:
            if self._process is None and not self._stopped:
                self._process = spares.pop(0)
            return self._process

    executors._Worker._started = started  # type: ignore[method-assign]
    return executors.of(count)


def orders(base: Path, kind: str, folder: Path) -> dict[str, Order]:
    """The orders, by name, of one output."""
    return {
        name: order(
            base / f"{'other' if name == 'input' else 'in'}.{kind}",
            folder / f"out.{kind}",
            mechanism=TEM,
            epsilon=epsilon,
            seed=None,
        )
        for name, (epsilon, _) in ORDERS.items()
    }


def forked(work: Callable[[], Any]) -> Any:
    """Return the result of `work` in a fork of this process, as JSON; None if it was killed."""
    ends = os.pipe()
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        os.close(ends[0])
        try:
            answer = work()
        except BaseException:
            answer = {"failed": traceback.format_exc()}
        with os.fdopen(ends[1], "w") as file:
            json.dump(answer, file)
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0]) as file:
        answer = file.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return None
    result = json.loads(answer)
    if isinstance(result, dict) and "failed" in result:
        raise RuntimeError(result["failed"])
    return result


def published(asked: Order) -> list[Any]:
    """The output and the record, as text; the run's id is of no run else."""
    output = asked.out.read_bytes().hex() if asked.out.exists() else ""
    if output and ORDERS == REVEALING:
        output = output if output in UNCHANGED else "noise"
    record = {}
    if asked.record.exists():
        record = json.loads(asked.record.read_text(encoding="utf-8"))
        assert len(record.pop("run")) == 16
    return [output, record]


def tidy(asked: Order) -> bool:
    return sorted(path.name for path in asked.out.parent.iterdir()) == [
        asked.out.name, asked.record.name,
    ]  # fmt: skip


def wrong(asked: Order, expected: Any, before: Any, workers: int, same: Any) -> str:
    """Give an order on what a kill has left; what is wrong with what comes of it, if anything."""
    over = asked.out.exists()
    for _ in range(4):
        try:
            with pool(workers) as executor:
                privatize(asked, executor=executor, span_bytes=SPAN_BYTES)
        except DpcoreError as error:
            message = str(error)
            now = published(asked)
            if (now[0] and now != before) or (now[1] and now[1] != before[1]):
                return f"refused ({message}), and what is published is false"
            if same and not over:
                return f"refused to go on ({message})"
            if "exists already: move it away" in message:
                Path(message.split(" exists already")[0]).unlink()
            elif "or delete that folder" in message or "delete that folder and begin" in message:
                shutil.rmtree(asked.folder)
            else:
                return f"a refusal without advice: {message}"
            continue
        if published(asked) != expected:
            return "the output or the record is not that of an undisturbed run"
        return "" if tidy(asked) else f"left {[p.name for p in asked.out.parent.iterdir()]}"
    return "refused again and again"


def aftermath(
    base: Path, kind: str, folder: Path, expected: dict[str, Any], workers: int
) -> list[str]:
    """All failures of later orders on what a kill has left."""
    failures = []
    left = orders(base, kind, folder)["same"]
    if left.out.exists() and list(folder.glob("**/secret")):
        failures.append("the output is there and the secret as well")
    if left.out.exists() and published(left) != expected["same"]:
        failures.append("what the kill has left is false")
    # Without an output there is nothing to move away.
    names = ("same", "epsilon", "input", *(("moved",) if left.out.exists() else ()))
    for name in names:
        copy = folder.with_name(f"{folder.name}-{name}")
        shutil.copytree(folder, copy)
        asked = orders(base, kind, copy)["epsilon" if name == "moved" else name]
        if name == "moved":
            for path in (asked.out, asked.record):
                path.unlink(missing_ok=True)
        truth = expected["epsilon" if name == "moved" else name]
        # Only the order that was killed is done by as many workers: the others are mostly refused.
        same = name == "same"
        faults = wrong(asked, truth, expected["same"], workers if same else 1, same)
        failures += [f"then {name}: {faults}"] if faults else []
        shutil.rmtree(copy)
    return failures


def disturbed(
    base: Path, kind: str, folder: Path, workers: int, stop: int, job: Any, kill: Any
) -> tuple[Any, bool]:
    """A run that is killed at an operation, of this process or of a worker."""
    hit = mmap.mmap(-1, 1)

    def killed() -> None:
        hit[0] = 1
        kill()

    def start(number: int) -> None:
        if job is None or number >= workers:  # who takes over lives
            return
        perform = worker.perform
        clock = Clock(folder, 0, killed)

        def watched(request: dict[str, Any], tell: Any = None) -> Any:
            function = request["function"].rpartition(":")[2]
            if (function, request["payload"]["number"]) == job:
                clock.count, clock.stop = 0, stop
            answer = perform(request, tell)
            clock.stop = 0
            return answer

        worker.perform = watched

    def run() -> list[Any]:
        executor = pool(workers, start)
        if job is None:
            Clock(folder, stop, killed)
        with executor:
            asked = orders(base, kind, folder)["same"]
            privatize(asked, executor=executor, span_bytes=SPAN_BYTES)
        return published(asked)

    answer = forked(run)
    return answer, bool(hit[0])


def state(folder: Path) -> tuple[Any, ...]:
    """Files left by a kill: names without their random parts, modes, and bytes."""
    return tuple(
        sorted(
            (
                re.sub(r"-[a-z0-9_]{8}(\.part)?(?=/|$)", "-*", str(path.relative_to(folder))),
                path.stat().st_mode,
                hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            )
            for path in folder.rglob("*")
        )
    )


def tried(
    base: Path, kind: str, workers: int, expected: dict[str, Any], spans: int
) -> dict[str, Any]:
    """Every point: how many there are of each kind, the different states, and all failures."""
    points = {"run": 0, "worker": 0, "worker with all": 0}
    failures: list[str] = []
    jobs: list[tuple[str, int] | None] = [None]
    seen: set[Any] = set()
    if workers > 1:
        jobs += [("compute_laws", 0), *(("rewrite_span", number) for number in range(spans))]
    killed: list[Any] = [(None, kill_all)]
    killed += itertools.product(jobs[1:], (kill_alone, kill_all))
    for job, kill in killed:
        who = "run" if job is None else "worker" if kill is kill_alone else "worker with all"
        for stop in itertools.count(1):
            folder = base / f"{who.replace(' ', '-')}-{job[1] if job else job}-{stop}"
            folder.mkdir()
            answer, hit = disturbed(base, kind, folder, workers, stop, job, kill)
            if answer is not None and answer != expected["same"]:
                failures.append(f"{who}, {job}, {stop}: the run ended with something else")
            if answer is None and (left := state(folder)) not in seen:
                seen.add(left)
                faults = forked(partial(aftermath, base, kind, folder, expected, workers))
                failures += [f"{who}, {job}, {stop}: {failure}" for failure in faults]
            shutil.rmtree(folder)
            if not hit:
                break
            points[who] += 1
    return {"points": points, "states": len(seen), "failures": failures}


def undisturbed(base: Path, kind: str) -> tuple[dict[str, Any], int]:
    """Results of every order when nothing happens, and the number of spans."""
    for name, asked in (("in", "same"), ("other", "input")):
        path = write(base / f"{name}.{kind}", ORDERS[asked][1])
        if kind == "parquet":  # a span lies in one row group
            import pyarrow.parquet as pq

            pq.write_table(pq.read_table(path), path, row_group_size=3)
    expected = {}
    for name in ORDERS:
        folder = base / f"whole-{name}"
        folder.mkdir()
        whole = orders(base, kind, folder)[name]
        privatize(whole, span_bytes=SPAN_BYTES)
        assert tidy(whole)
        expected[name] = published(whole)
    source = base / f"in.{kind}"
    return expected, len(list(format_of(source, typed=["text"]).spans(source, SPAN_BYTES)))


def main(kind: str, workers: int, release: str = "") -> None:
    numbers = itertools.count()
    if release:
        ORDERS.update(REVEALING)
    else:
        secrets.token_bytes = lambda size: b"\x07" * size  # type: ignore[assignment, misc]
    secrets.token_hex = lambda size: f"{next(numbers):0{2 * size}x}"  # type: ignore[assignment, misc]
    os.fsync = lambda handle: None  # type: ignore[assignment]
    privatizing.SHARED_BYTES = 0  # so that laws are shared as well
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        expected, spans = undisturbed(base, kind)
        assert len({json.dumps(answer) for answer in expected.values()}) == len(ORDERS)
        print(json.dumps(tried(base, kind, workers, expected, spans)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
