"""Pictures that the tests of noise on pictures choose."""

import numpy as np

from dpcore.learn.pixeldp.digits import Digits


def only(data: Digits, *classes: int) -> Digits:
    """The pictures of some digits."""
    train, test = (np.isin(y, classes) for y in (data.train_labels, data.test_labels))
    return Digits(
        data.train[train], data.train_labels[train], data.test[test], data.test_labels[test]
    )
