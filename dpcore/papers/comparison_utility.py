"""Paper against measurement for every recorded experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.papers.carvalho2021.comparison import carvalho_rows
from dpcore.papers.habernal2021.comparison import adept_rows
from dpcore.papers.huang2024.accuracy_comparison import accuracy_rows
from dpcore.papers.huang2024.autoencoder_comparison import autoencoder_rows
from dpcore.papers.huang2024.autoencoder_noise_comparison import noise_rows
from dpcore.papers.huang2024.rewriting_comparison import table_rows
from dpcore.papers.xu2021.training_comparison import training_rows

if TYPE_CHECKING:
    from dpcore.papers.row import Row
    from dpcore.study.experiment_results import RecordedExperiment


def compare_experiment(recorded: RecordedExperiment) -> tuple[Row, ...]:
    """The rows of a recorded experiment; empty for one that reproduces no paper.

    Raises:
        StudyError: the result lacks a curve or an ε that is compared.
    """
    name = recorded.entry.name
    if name.startswith("carvalho2021-"):
        return carvalho_rows(recorded)
    if name.startswith("huang2024-tables-"):
        return table_rows(recorded)
    if name.startswith("huang2024-autoencoder-noise-"):
        return noise_rows(recorded)
    if name.startswith("huang2024-autoencoder-"):
        return autoencoder_rows(recorded)
    if name.startswith("adept2021-"):
        return adept_rows(recorded)
    if name.startswith("huang2024-figure-4-"):
        return accuracy_rows(recorded)
    if name.startswith("xu2021-tables-"):
        return training_rows(recorded)
    return ()
