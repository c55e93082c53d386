"""Every mechanism of the registry keeps the contract of `dpcore.testing`."""

from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.testing import MechanismContract
from tests.mechanisms.contract import needed

# What a mechanism does otherwise on purpose, with the reason.
TEM: dict[str, Any] = {"quiet_settings": {"beta": 1e-12}}  # it keeps β for other words for ever


def both_ways(_: MechanismContract, mechanism: Any, epsilon: float) -> FloatArray:
    """Exact laws on a line, from the two directions that there are."""
    n, unit = len(mechanism.lexicon), np.array([[1.0], [-1.0]])
    return np.stack([mechanism.law(w, [epsilon], unit=unit).dense(n)[0] for w in range(n)])


ON_PURPOSE: dict[str, dict[str, Any]] = {
    "tem.v1": TEM,
    "tem-calibrated.v1": TEM,
    # The second nearest word comes out with a probability of t.
    "vickrey.v1": {"quiet_settings": {"t": 0.5}, "on_a_line": False},
    "hyperbolic.v1": {"line_laws": both_ways},
    # A line has two directions alone: these refuse it.
    "vmf.v1": {"on_a_line": False},
    "purkayastha.v1": {"on_a_line": False},
    "neighbour-response.v1": {"quiet_settings": {"k": 1}},
    "truncated-gumbel.v1": {"quiet_epsilon": 1e200, "proves": False},
    # However small ε is, these tell two words apart: noise that stops growing, words that are not
    # sensitive, sets and boxes that are a word's own. On a line TrLaplace has tests of its own.
    "trlaplace.v1": {"quiet": "neither", "forgets": False, "on_a_line": False},
    "trlaplace-corrected.v1": {"on_a_line": False},
    "santext-plus.v1": {"quiet_settings": {"p": 0.0}, "forgets": False, "proves": False},
    "custext.v1": {"forgetting_settings": {"k": 5}, "forgets": False, "proves": False},
    "rantext.v1": {"proves": False},
    "wbb.v1": {"quiet": "leaves", "forgets": False, "proves": False},
}


def _contract(key: str) -> type[MechanismContract]:
    def settings(_: MechanismContract, lexicon: Lexicon) -> dict[str, Any]:
        return needed(key, lexicon)

    name = "Test" + "".join(part.capitalize() for part in key.replace(".", "-").split("-"))
    said = {"kind": MECHANISMS[key], "settings": settings, "__module__": __name__}
    return type(name, (MechanismContract,), said | ON_PURPOSE.get(key, {}))


for _key in MECHANISMS:
    _class = _contract(_key)
    globals()[_class.__name__] = _class


def test_every_mechanism_has_its_class_of_tests() -> None:
    kinds = {
        value.kind
        for name, value in globals().items()
        if name.startswith("Test") and issubclass(value, MechanismContract)
    }
    assert kinds == set(MECHANISMS.values())
    assert set(ON_PURPOSE) <= set(MECHANISMS)
