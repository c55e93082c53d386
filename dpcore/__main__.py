"""`python -m dpcore`: the engine from a shell."""

import sys

from dpcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
