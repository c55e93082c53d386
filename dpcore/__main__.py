"""`python -m dpcore`: the engine from a shell."""

import sys

if __name__ == "__main__":
    try:
        from dpcore.cli.main import main

        sys.exit(main())
    except ModuleNotFoundError as absent:
        if absent.name not in {"click", "numpy", "scipy", "faiss", "tqdm"}:
            raise
        sys.exit(f"error: the package {absent.name} is missing: pip install -r requirements.txt")
