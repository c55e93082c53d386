"""The command `distribution`: the law of one word."""

from __future__ import annotations

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command

_SHOWN = 20


@command("distribution")
@shared.mechanism_options
@shared.epsilon_option
@shared.word_option
@shared.number("--top", None, "print only the N most likely")
@shared.number("--draws", 1000, "directions or draws of an estimate")
@shared.seed_option("of an estimated distribution  [default: 0]")
def distribution_command(options: Options) -> Answer:
    """The probability of each output of a word."""
    from dpcore.mechanisms.law import Effort
    from dpcore.noise.streams import generator

    shared.check_count(options.draws, 2, "--draws")
    if options.top is not None:
        shared.check_count(options.top, 1, "--top")
    mechanism = shared.build(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    law = mechanism.law(
        options.word,
        epsilon,
        rng=generator(options.seed or 0, "distribution", mechanism.key),
        effort=Effort(directions=options.draws),
    )
    outputs = law.top(options.top or law.outputs.size)
    exactness = "exact" if law.exact else f"estimated, standard error up to {law.error:.2g}"
    heading = f"{mechanism.title}, ε = {epsilon:g}, {options.word!r}: {law.method} ({exactness})"
    shown = outputs[: options.top or _SHOWN]
    return Answer(
        shared.mechanism_fields(mechanism)
        | {
            "epsilon": epsilon,
            "word": options.word,
            "exact": law.exact,
            "error": law.error,
            "method": law.method,
            "words": [word for word, _ in outputs],
            "probabilities": [probability for _, probability in outputs],
            "guarantee": mechanism.guarantee(epsilon).to_dict(),
        },
        [heading, *(f"{probability:10.6f}  {word}" for word, probability in shown)],
    )
