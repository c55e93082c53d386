"""What the tests of the Utility page choose there."""

from dpcore.papers.studies import EXPERIMENTS
from dpcore.study.recorded import read_bundled

OWN = "own"
THERE = {entry.name: entry for entry in read_bundled()}
NAMES = [name for name, plan in EXPERIMENTS.items() if plan.rewrites and name in THERE]
SMALL = {
    "use_source": OWN,
    "use_metric": ["madlib"],
    "use_texts": 100,
    "use_steps": 2,
    "use_trials": 2,
    "use_attack": False,
}


def with_curves() -> str:
    """An experiment with accuracy, attack and both kinds of mechanisms, if it is recorded."""
    return next(n for n in NAMES if n in {"teaching-corpus", "carvalho2021-figure-1"})
