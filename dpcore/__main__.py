"""`python -m dpcore`: the engine from a shell."""

import sys

from dpcore.cli.main import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModuleNotFoundError as absent:
        if absent.name not in {"numpy", "scipy", "faiss", "tqdm"}:
            raise
        sys.exit(f"error: the package {absent.name} is missing: pip install -r requirements.txt")
