"""What the tests of the Utility page choose there."""

SMALL = {
    "use_metric": ["madlib"],
    "use_texts": 100,
    "use_steps": 2,
    "use_trials": 2,
    "use_attack": False,
}
