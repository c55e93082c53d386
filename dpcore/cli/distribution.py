"""The command `distribution`: the law of one word."""

from __future__ import annotations

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command
from dpcore.limits import MAX_DRAWS
from dpcore.mechanisms.law import Effort
from dpcore.noise.streams import generator

_SHOWN = 20


@command("distribution")
@shared.mechanism_options
@shared.epsilon_option
@shared.word_option
@shared.number("--top", None, "print only the N most likely", least=1, most=MAX_DRAWS)
@shared.number("--draws", 1000, "directions or draws of an estimate", least=2, most=MAX_DRAWS)
@shared.seed_option("of an estimated distribution")
def distribution_command(options: Options) -> Answer:
    """The probability of each output of a word."""
    mechanism = shared.build(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    rng = generator(options.seed, "distribution", mechanism.key)
    law = mechanism.law(options.word, epsilon, rng=rng, effort=Effort(directions=options.draws))
    outputs = law.top(options.top or law.outputs.size)
    exactness = "exact" if law.exact else f"estimated, standard error up to {law.error:.2g}"
    heading = f"{mechanism.title}, ε = {epsilon:g}, {options.word!r}: {law.method} ({exactness})"
    shown = outputs[: options.top or _SHOWN]
    return Answer(
        shared.mechanism_fields(mechanism)
        | {
            "epsilon": epsilon,
            "word": options.word,
            **shared.fields(law, "exact error method"),
            "words": [word for word, _ in outputs],
            "probabilities": [probability for _, probability in outputs],
            "guarantee": mechanism.guarantee(epsilon).to_dict(),
        },
        [heading, *(f"{probability:10.6f}  {word}" for word, probability in shown)],
    )
