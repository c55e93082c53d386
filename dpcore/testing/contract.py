"""All of the contract, as one class to extend."""

from __future__ import annotations

from dpcore.testing.drawing import DrawingContract
from dpcore.testing.guarantees import GuaranteeContract
from dpcore.testing.laws import LawContract
from dpcore.testing.refusals import RefusalContract


class MechanismContract(DrawingContract, RefusalContract, LawContract, GuaranteeContract):
    """What every mechanism keeps to, whatever it does inside.

    A class below it names the mechanism as `kind`; the other attributes of
    `dpcore.testing.base.Contract` are for what a mechanism does otherwise on purpose.
    """
