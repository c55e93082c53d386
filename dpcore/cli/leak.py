"""Command `leak`: how often a stranger guesses a word, before and after they see its output."""

from __future__ import annotations

from typing import Any

from click import Choice, option

from dpcore.attack.language.context import BIGRAM, READERS
from dpcore.attack.leak import GAINS, NEAR, STRANGERS, leak
from dpcore.attack.output.prior import Prior, prior_from_file
from dpcore.cli import fields, flags
from dpcore.cli.construction import build_mechanism, epsilons_of_each
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command
from dpcore.limits import MAX_ATTACK_OUTPUTS
from dpcore.noise.streams import check_seed


@command("leak")
@flags.one_mechanism
@option(
    "--epsilon",
    required=True,
    metavar="A,B,C",
    help=f"one ε, or several, computed in one pass: {flags.EPSILON_VALUES}",
)
@option(
    "--stranger",
    default=STRANGERS[0],
    metavar="WHO",
    help="counts: knows how common content words are; counts-all: function words too; equal: all "
    "words equally likely; reads: reads on through a text; or a list such as monday=0.5,garage=0.5",
)
@flags.file(
    "--counts-file",
    "a stranger of your own in place of --stranger: in each line a word, a comma or a tab, and how "
    "often it occurs; words outside the vocabulary are left out",
)
@option(
    "--gain",
    default=GAINS[0],
    metavar="WHAT",
    help=f"word: the very word; near: the word or one of the {NEAR - 1} nearest to it; kind: its "
    "kind in WordNet; pair=a,b: which of two words",
)
@option(
    "--reader", type=Choice(READERS), default=BIGRAM, help="of --stranger reads: who reads the text"
)
@flags.number(
    "--draws",
    None,
    "outputs to draw where not all can be summed; texts to read for --stranger reads",
    least=2,
    most=10 * MAX_ATTACK_OUTPUTS,
)
@flags.seed("of what is drawn")
def leak_command(options: Options) -> Answer:
    """Say how many words a stranger guesses, before and after they see the output."""
    check_seed(options.seed)
    mechanism = build_mechanism(options)
    lexicon = mechanism.lexicon
    stranger: str | Prior = options.stranger
    if options.counts_file is not None:
        stranger = prior_from_file(lexicon, options.counts_file)
    rows = leak(
        mechanism,
        epsilons_of_each([options.epsilon], [mechanism])[0],
        stranger,
        options.gain,
        **fields.some(options, "reader draws seed progress"),
    )
    records = [row.to_dict() | fields.of_settings(mechanism) for row in rows]
    answer: dict[str, Any] = records[0] if len(records) == 1 else {"rows": records}
    return Answer(
        answer | fields.of_lexicon(lexicon),
        [f"ε = {row.epsilon:g}: {row.sentence}" for row in rows],
    )
