"""Command line of the engine: `python -m dpcore`."""

import os
import sys

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


if __name__ == "__main__":
    _open_standard_streams()
    try:
        from dpcore.cli.main import main

        sys.exit(main())
    except ModuleNotFoundError as absent:
        if absent.name not in _NEEDED:
            raise
        from dpcore.optional import install

        sys.exit(f"error: the package {absent.name} is missing: {install('engine')}")
