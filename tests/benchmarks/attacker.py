"""What an output tells about 25,000 words: columns from the spectrum against all laws.

Run from the repository root: python -m tests.benchmarks.attacker
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dpcore.attack.language.context import Place, context_attack
from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.posterior import posterior
from dpcore.attack.output.prior import frequency
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from tests.benchmarks.exact_laws import seconds

LAWS = 40  # of the baseline, which needs one for each of the n words
SETTINGS = (("tem", 2.5), ("truncated-gumbel-repaired", 6.0), ("truncated-gumbel", 100.0))


def main() -> None:
    """Print one line for each mechanism."""
    lexicon = load()
    n = len(lexicon)
    prior = frequency(lexicon)
    output = lexicon.index("garage")
    for name, epsilon in SETTINGS:
        mechanism = create(name, lexicon)
        opened = seconds(partial(open_channel, mechanism), 1)
        channel = open_channel(mechanism)
        prepared = seconds(partial(channel.seen, output))
        seen = channel.seen(output)
        # Another ε each time, as a slider asks for it.
        steps = iter(np.linspace(epsilon, 1.1 * epsilon, 5))

        def one_step(seen: Any = seen, steps: Iterator[Any] = steps) -> object:
            return posterior(seen.at(float(next(steps))), prior)

        step = seconds(one_step, 5)

        def laws(mechanism: Mechanism = mechanism, epsilon: float = epsilon) -> None:
            for word, ranking in enumerate(rank(lexicon.vectors, lexicon.vectors[:LAWS])):
                mechanism.law(word, [epsilon], ranking=ranking)

        plain = seconds(laws, 1) * n / LAWS
        print(
            f"{name}: opened in {opened:.2f} s, an output in {1e3 * prepared:.0f} ms, a step of "
            f"epsilon {1e3 * step:.1f} ms; all laws {plain:.0f} s (from {LAWS}), "
            f"ratio {plain / step:.0f}"
        )
    channel = open_channel(create("tem", lexicon))
    words = lexicon.indices("the weather in the city was terrible".split())
    places = [Place(int(word)) for word in words]
    whole = seconds(lambda: context_attack(channel, places, 2.5))
    print(f"context attack: {1e3 * whole / len(places):.0f} ms a word, exact over {n:,} words")


if __name__ == "__main__":
    main()
