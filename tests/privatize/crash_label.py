"""The command `privatize --label` killed at every file operation after the copy is there.

    python -m tests.privatize.crash_label

After every kill the same command is given again, and must write the label from the record without
touching the copy. The last line printed is a JSON object: how many points were tried, and every
failure. All runs are forks of this process, as in `tests.privatize.crash`.
"""

import contextlib
import io
import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import dpcore.cli.privatize  # noqa: F401 - before the forks
from dpcore.cli.main import main
from tests.privatize.crash import Clock, forked, kill_all
from tests.shell import small_vectors


class After(Clock):
    """Counts from the moment at which the copy has its name."""

    def __init__(self, folder: Path, stop: int) -> None:
        self.out = str(folder / "out.txt")
        super().__init__(folder, stop, kill_all)

    def tick(self) -> None:
        if os.path.lexists(self.out):
            super().tick()


def command(base: Path, folder: Path) -> list[str]:
    return [
        "privatize", str(base / "in.txt"), "--out", str(folder / "out.txt"), "--mechanism", "tem",
        "--epsilon", "2", "--lexicon", str(base / "small.vec"),
        "--label", str(folder / "label.json"),
    ]  # fmt: skip


def run(base: Path, folder: Path, stop: int = 0) -> Any:
    """Exit code and standard error of the command; None if it was killed."""

    def once() -> list[Any]:
        if stop:
            After(folder, stop)
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            return [main(command(base, folder)), errors.getvalue()]

    return forked(once)


def fault(base: Path, folder: Path) -> str:
    """Return the fault after the same command was given again; empty if there is none."""
    copy, record = (folder / name for name in ("out.txt", "out.txt.run.json"))
    before = copy.read_bytes(), record.read_bytes()
    label = folder / "label.json"
    if not label.exists():
        code, said = run(base, folder)
        if code or "no ε was spent" not in said:
            return f"exit code {code}: {said}"
    if before != (copy.read_bytes(), record.read_bytes()):
        return "the copy or its record is another one"
    if json.loads(label.read_text("utf-8"))["run"] != json.loads(before[1])["run"]:
        return "the label is of another run"
    left = {path.name for path in folder.iterdir()} - {copy.name, record.name, label.name}
    # A label that was killed under its temporary name, and a lock that no one holds.
    return f"left {left}" if any("unfinished" in name or "scrap" in name for name in left) else ""


def all_points() -> dict[str, Any]:
    points, failures = 0, []
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        os.environ["DPCORE_CACHE"] = str(base / "cache")
        small_vectors(base / "small.vec")
        (base / "in.txt").write_text("terrible weather\nthe doctor\n", encoding="utf-8")
        for stop in itertools.count(1):
            folder = base / f"at-{stop}"
            folder.mkdir()
            answer = run(base, folder, stop)
            if answer is not None:
                if answer[0]:
                    failures.append(f"{stop}: exit code {answer[0]}: {answer[1]}")
                return {"points": points, "failures": failures}
            points += 1
            if found := fault(base, folder):
                failures.append(f"{stop}: {found}")
            shutil.rmtree(folder)
    raise AssertionError


if __name__ == "__main__":
    print(json.dumps(all_points()))
