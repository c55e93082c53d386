"""The command `calibrate`: the certificate of a mechanism on a lexicon."""

from __future__ import annotations

from click import option

from dpcore import __version__
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command
from dpcore.errors import ParameterError
from dpcore.mechanisms.registry import create, resolve

_TABLE = "{epsilon:>10.5g|ε} {strength:>10.5g} {proved_strength:>10.5g|proved}"


@command("calibrate")
@shared.mechanism_options
@option("--again", is_flag=True, help="compute it even if it is known")
@shared.file("--file", "also enter the certificate in this file", metavar="JSON")
def calibrate_command(options: Options) -> Answer:
    """Compute with how little noise a mechanism keeps its ε on a lexicon."""
    resolve(options.mechanism)  # a wrong name is said before a large lexicon is read
    asked = create(options.mechanism, shared.lexicon(options), options.set)
    mechanism = asked.calibrated
    if mechanism is None:
        raise ParameterError(
            f"{asked.short} has no certificate; tem-calibrated, optimal and "
            "truncated-gumbel-repaired have one"
        )
    lexicon = mechanism.lexicon
    known = mechanism.certificate if mechanism.is_known and not options.again else None
    certificate = known or mechanism.calibrate(options.progress)
    if options.file is not None:
        provenance = {
            "lexicon": lexicon.name,
            "command": f"{mechanism.calibrate_command} --again",
            "columns": ["certified epsilon", "strength in 1/distance"],
            "version": __version__,
        }
        mechanism.write(options.file, certificate, provenance)
    rows = [
        {
            "epsilon": epsilon,
            "strength": strength,
            "proved_strength": mechanism.proved_strength(epsilon),
        }
        for epsilon, strength in certificate.to_json()
    ]
    return Answer(
        shared.mechanism_fields(mechanism) | {"certificate": rows},
        [f"{mechanism.title} on {lexicon.name}: noise certified at ε", *table(_TABLE, rows)],
    )
