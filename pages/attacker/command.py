"""Command lines and Python cells that print the numbers of the Attacker page."""

from __future__ import annotations

from collections.abc import Sequence

from pages.attacker.believing import AROUND, LIST, Belief
from pages.attacker.scene import AttackerScene
from pages.shared import link
from pages.shared.taking import command_line, mechanism_words, python_beginning


def posterior_command(scene: AttackerScene, seen: str, belief: Belief, count: int) -> str:
    """Return the command that prints the posterior after one output.

    Args:
        scene: mechanism and ε.
        seen: the output.
        belief: the prior.
        count: number of listed words.
    """
    words = ["--output", seen, "--prior", _prior(belief)]
    if belief.kind == AROUND:
        before, after = belief.around
        # "_" is the place of the word; a side that is not known leaves the end of the sentence.
        words += ["--sentence", f"{before} _ {after}".strip()]
    # Without an exact law the nearest-word attacker draws noise, so the seed belongs to the
    # numbers.
    if not scene.mechanism.exact_law:
        words += ["--nearest", "--seed", str(link.SEED)]
    return command_line("attack", *_attacked(scene), *words, "--top", str(count))


def python_cell(scene: AttackerScene, seen: str, belief: Belief) -> str:
    """Return a Python cell that prints the same posterior.

    Args:
        scene: mechanism and ε.
        seen: the output.
        belief: the prior.
    """
    imported, prior = _prior_cell(belief)
    return "\n".join(
        (
            imported,
            "from dpcore.attack.output.channel import open_channel",
            "from dpcore.attack.output.posterior import posterior",
            *python_beginning(scene.mechanism, scene.lexicon),
            f"prior = {prior}",
            "channel = open_channel(mechanism)",
            f"likelihood = channel.seen(lexicon.index({seen!r})).at({scene.epsilon!r})",
            "for word in posterior(likelihood, prior).top(5):",
            "    print(lexicon.words[word.word], word.prior, word.posterior)",
        )
    )


def nearest_cell(scene: AttackerScene, belief: Belief, words: int) -> str:
    """Return a Python cell that prints the success rate of the nearest-word attacker.

    Args:
        scene: mechanism and ε.
        belief: the prior.
        words: number of words that are tried.
    """
    imported, prior = _prior_cell(belief)
    return "\n".join(
        (
            imported,
            "from dpcore.attack.output.nearest import nearest_success",
            *python_beginning(scene.mechanism, scene.lexicon),
            f"prior = {prior}",
            f"tried = nearest_success(mechanism, prior, [{scene.epsilon!r}], words={words}, "
            f"seed={link.SEED})",
            "print(tried.value, tried.low, tried.high)",
        )
    )


def sentence_cell(scene: AttackerScene, text: str, seed: int, reader: str) -> str:
    """Return a Python cell that prints the released sentence and the attackers' guesses."""
    return "\n".join(
        (
            "import numpy as np",
            "from dpcore.attack.language.recovered import recover",
            "from dpcore.attack.output.channel import open_channel",
            *python_beginning(scene.mechanism, scene.lexicon),
            f"text, epsilon = dp.read({text!r}, lexicon), {scene.epsilon!r}",
            f"drawn = dp.draw(text, mechanism, seed={seed})",
            "outputs = drawn.paths.at(np.array([epsilon]))[:, 0]",
            "channel = open_channel(mechanism)",
            f"guessed = recover(channel, text, outputs, epsilon, reader={reader!r})",
            "print(drawn.at(epsilon).text)",
            "for word in guessed.rows():",
            '    print(word["written"], word["released"], word["frequency"], word["context"])',
        )
    )


def person_cell(scene: AttackerScene, text: str, facts: Sequence[str]) -> str:
    """Return a Python cell that prints what is left and guessed of each fact in a text."""
    return "\n".join(
        (
            "import json",
            "from dpcore.attack.persons import facts_left",
            "from dpcore.rewrite.redact.spans import parse_facts",
            *python_beginning(scene.mechanism, scene.lexicon),
            f"facts = {list(facts)!r}",
            'keywords = [{"tag": f"{i:02}", "keyword": fact} for i, fact in enumerate(facts)]',
            f'text = parse_facts({text!r}, json.dumps([{{"facts": keywords}}]))',
            f"(found,) = facts_left([text], lexicon, mechanism, [{scene.epsilon!r}])",
            "for fact in found.tags[1:]:",
            "    if fact.left is not None:",
            "        print(facts[int(fact.tag)], fact.left.value, fact.guessed.value)",
        )
    )


def budget_cell(scene: AttackerScene, text: str, releases: int) -> str:
    """Return a Python cell that prints the guarantee for a text that is released several times."""
    return "\n".join(
        (
            "from dpcore.attack.budget import budget",
            *python_beginning(scene.mechanism, scene.lexicon),
            f"text = dp.read({text!r}, lexicon)",
            "words = [int(word) for word in text.words if word >= 0]",
            f"spent = budget(mechanism, words, {scene.epsilon!r}, releases={releases})",
            "print(spent.statement)",
        )
    )


def _prior_cell(belief: Belief) -> tuple[str, str]:
    """Return an import and the call that makes the prior."""
    if belief.kind == AROUND:
        before, after = (word or None for word in belief.around)
        call = f"context_prior(lexicon, {before!r}, {after!r})"
        return "from dpcore.attack.language.context import context_prior", call
    call = f"parse_prior(lexicon, {_prior(belief)!r})"
    return "from dpcore.attack.output.prior import parse_prior", call


def sentence_command(scene: AttackerScene, text: str, seed: int, reader: str) -> str:
    """Return the command that prints the released sentence and the attackers' guesses."""
    words = [*_attacked(scene), "--seed", str(seed), "--reader", reader, "--text", text]
    return command_line("attack", *words)


def repeated_cell(scene: AttackerScene, releases: int) -> str:
    """Return a Python cell that prints what is guessed after r releases of a word."""
    return "\n".join(
        (
            "from dpcore.attack.budget import repeated_leak",
            *python_beginning(scene.mechanism, scene.lexicon),
            f"leaked = repeated_leak(mechanism, {scene.epsilon!r}, {releases})",
            "print(leaked.rows[-1])",
        )
    )


def repeated_command(scene: AttackerScene, releases: int) -> str:
    """Return the command that prints what is guessed after 1 to r releases of a word."""
    return command_line("leak", *_attacked(scene), "--releases", str(releases))


def _attacked(scene: AttackerScene) -> list[str]:
    """Return the options for mechanism, ε and lexicon."""
    return [*mechanism_words(scene.mechanism, scene.epsilon), "--lexicon", scene.lexicon]


def _prior(belief: Belief) -> str:
    # On one line: the list may be typed on several, and a command is one.
    if belief.kind == LIST:
        return " ".join(belief.text.split())
    if belief.kind == AROUND:
        return "context"
    return {0: "uniform", 100: "frequency"}.get(belief.share, f"frequency:{belief.share / 100:g}")
