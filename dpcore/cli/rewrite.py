"""The command `rewrite`: a sentence or a file under a mechanism."""

from __future__ import annotations

import numpy as np
from click import option

from dpcore.audit.composition import Composition, composition, group_compositions
from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.lexicon.approximate import ApproximateIndex
from dpcore.limits import MAX_DRAWS, MAX_FILE_CHARACTERS, MAX_FILE_TOKENS
from dpcore.noise.streams import generator
from dpcore.rewrite.policy import Treatment
from dpcore.rewrite.rewritten import Rewrite
from dpcore.rewrite.sentence import Sentence, draw, prepare, release

EXPERIMENT_NOTE = "an experiment with a fixed seed: do not release this text"


def counted(sentence: Sentence, rewritten: Rewrite) -> list[str]:
    """Return how many words stayed, and how many the vocabulary does not hold."""
    lines = [f"{rewritten.stayed:,} of {sentence.protected:,} words stayed"]
    if sentence.caution:
        return [*lines, f"warning: {sentence.caution}"]
    if sentence.unknown_words:
        lines.append(
            f"{sentence.unknown_words:,} of {sentence.read_words:,} words are not in the vocabulary"
        )
    return lines


def promises(composed: Composition, seed: int | None) -> list[str]:
    """What is promised of a word and of its text, and whether the text may be released."""
    guarantee = composed.guarantee
    lines = [
        f"{guarantee.status}: {guarantee.statement}",
        guarantee.for_tokens(composed.words),
        composed.statement,
    ]
    return lines if seed is None else [*lines, EXPERIMENT_NOTE]


@command("rewrite")
@shared.mechanism_options
@shared.epsilon_option
@one_of(
    {
        "--text": {"help": "the text itself"},
        "--file": {"help": "a UTF-8 text file; - reads standard input"},
    }
)
@shared.seed_option(
    "makes the run an experiment that can be repeated; never release its output", None
)
@shared.number("--draw", 0, "which draw of the seed", least=0, most=MAX_DRAWS)
@shared.rewriting_options
@option(
    "--approximate-search",
    is_flag=True,
    help="release through an approximate index: faster on large lexicons, and refused where it "
    "would break the guarantee",
)
def rewrite_command(options: Options) -> Answer:
    """Rewrite a text under a mechanism."""
    treatment = Treatment(options.unknown, options.keep_stop_words, options.case)
    mechanism = shared.build(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    sentence = prepare(
        shared.read_text(options.file) if options.text is None else options.text,
        mechanism.lexicon,
        treatment,
        max_characters=MAX_FILE_CHARACTERS,
        max_tokens=MAX_FILE_TOKENS,
    )
    # A seed makes noise that anybody can draw again: such a text is never a release.
    experiment = options.seed is not None
    if experiment and options.approximate_search:
        raise ParameterError(
            "--approximate-search is for releasing; a run with --seed searches exactly"
        )
    if experiment:
        drawn = draw(sentence, mechanism, options.seed, options.draw, epsilons=np.array([epsilon]))
        rewritten = drawn.at(epsilon)
    else:
        index = None
        if options.approximate_search:
            mechanism.check_search(exact=False)  # before an index is built that is not allowed
            index = ApproximateIndex(mechanism.lexicon)
        rewritten = release(sentence, mechanism, epsilon, generator(None), index=index)
    composed = composition(mechanism, epsilon, sentence.protected)
    guarantee = composed.guarantee
    groups = group_compositions(mechanism, epsilon, sentence.protected, guarantee=guarantee)
    return Answer(
        shared.mechanism_fields(mechanism)
        | {
            "epsilon": epsilon,
            "tokens": [
                {
                    **shared.fields(token, "input output changed in_vocabulary"),
                    "role": str(token.role),
                }
                for token in rewritten.tokens
            ],
            "text": rewritten.text,
            "guarantee": guarantee.to_dict(),
            "protected_words": sentence.protected,
            "stayed": rewritten.stayed,
            "words": sentence.read_words,
            "not_in_vocabulary": sentence.unknown_words,
            "whole_text": guarantee.for_tokens(sentence.protected),
            "composed": composed.to_dict(),
            "composed_groups": {name: part.to_dict() for name, part in groups.items()},
            "unknown_words": str(treatment.unknown_words),
            "released": list(treatment.released(sentence.encoding.language)),
            "experiment": experiment,
        },
        [rewritten.text],
        [*counted(sentence, rewritten), *promises(composed, options.seed)],
    )
