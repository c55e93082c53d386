"""The shell, `python -m dpcore`, and the program `word-privacy-lab`, which opens the app too."""

import os
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

_NEEDED = {
    "click", "faiss", "filelock", "numpy", "packaging", "platformdirs", "randomgen", "scipy",
    "tqdm",
}  # fmt: skip


def _open_standard_streams() -> None:
    """Open closed standard streams on the null device.

    Otherwise the next file that is opened takes the number of the stream, and the output of a
    library or a worker is written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest number


def run() -> int:
    """Run a command of the shell; return its exit code, or end with one sentence."""
    _open_standard_streams()
    try:
        from dpcore.cli.main import main

        return main()
    except ModuleNotFoundError as absent:
        if absent.name not in _NEEDED:
            raise
        from dpcore.optional import install

        sys.exit(f"error: the package {absent.name} is missing: {install('engine')}")


def lab() -> int:
    """Run `word-privacy-lab`: alone it opens the app, with a command it is the shell.

    `word-privacy-lab app` takes the options of `streamlit run`, such as `--server.port 8600`.
    """
    if sys.argv[1:] and sys.argv[1] != "app":
        return run()
    if find_spec("streamlit") is None:
        from dpcore.optional import install

        sys.exit(f"error: the packages of the app are missing: {install('app')}")
    here = Path(__file__).resolve().parent
    # In a checkout the app stands beside the engine; an installed one has a copy in it.
    script = next(p for p in (here / "_app/app.py", here.parent / "app.py") if p.is_file())
    sys.argv = ["streamlit", "run", str(script), *sys.argv[2:]]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)  # the engine imports no app
    return 0


if __name__ == "__main__":
    sys.exit(run())
