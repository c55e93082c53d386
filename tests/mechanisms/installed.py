"""A tiny package with mechanisms, installed by pip into a folder, as anyone's would be."""

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

MINE = """
from dataclasses import dataclass

from dpcore.guarantee import EpsilonMeaning, MetricPrivacy, Status
from dpcore.mechanisms.exact import ExactMechanism
from dpcore.mechanisms.settings import parameter
from scipy.special import log_softmax


@dataclass(frozen=True, eq=False, kw_only=True)
class Mine(ExactMechanism):
    key, short, title = "mine.v1", "mine", "A mechanism of mine"
    summary = "Chooses a word with a probability that falls exponentially with its distance"
    source = "tiny-noise 0.3"
    meaning = EpsilonMeaning.METRIC

    share: float = parameter(1.0, help="of what is allowed", low=0.1, high=1.0)

    def log_law(self, word, epsilon, *, ranking=None):
        exponent = 0.5 * self.share * self.check_epsilon(epsilon)
        return log_softmax(-exponent * self.distances(word, ranking))

    def guarantee(self, epsilon):
        return MetricPrivacy(
            epsilon=self.check_epsilon(epsilon),
            status=Status.PROVED,
            reason="Weight and normaliser each change by a factor of at most e^(ε·d/2).",
            source=self.source,
        )
"""


def install(
    folder: Path, modules: Mapping[str, str], entries: Mapping[str, str], name: str = "tiny-noise"
) -> Path:
    """Install a package by pip, without a network, into a folder, and return that.

    Args:
        folder: for the wheel, and what is installed.
        modules: names of modules to their source.
        entries: entry points of the group `dpcore.mechanisms`.
        name: of the distribution.
    """
    place = name.replace("-", "_")
    facts = f"{place}-0.3.dist-info"
    wheel = folder / f"{place}-0.3-py3-none-any.whl"
    listed = "\n".join(f"{key} = {value}" for key, value in entries.items())
    files = {f"{module}.py": source for module, source in modules.items()} | {
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3\n",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{facts}/entry_points.txt": f"[dpcore.mechanisms]\n{listed}\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{facts}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, text in (files | {f"{facts}/RECORD": record}).items():
            archive.writestr(file, text)
    target = folder / "installed"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run(
        [*pip, "--no-deps", "--no-index", "--upgrade", "--target", str(target), str(wheel)],
        check=True,
        capture_output=True,
    )
    return target
