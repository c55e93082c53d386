"""dpcore: the engine of Word Privacy Lab, a laboratory for word-level differential privacy.

    import dpcore as dp

    lex = dp.lexicon()                                  # the bundled words
    tem = dp.mechanism("tem", lex)
    tem.replace("doctor", epsilon=5)                    # a word to publish: fresh noise
    tem.law("doctor", epsilon=5).top(3)                 # what comes out, and how often
    tem.guarantee(5)                                    # the privacy guarantee, and why it holds
    text = dp.read("The weather was terrible.", lex)
    dp.release(text, tem, epsilon=20)                   # a text to publish: fresh noise
    dp.draw(text, tem, seed=1).at(5, 20, 80)            # one noise draw at three ε: for looking
    dp.deniability(tem, ["doctor"], [1, 2, 4]).to_pandas()
    dp.audit(tem, epsilon=5)                            # is the guarantee true?
    dp.audit("my_package:replace", epsilon=5)           # the same for any function of yours
    dp.audit(rewrite, replay=True)                      # which of its draws depend on the text?
    dp.redact("Call Ann on 555-010-9999.").named        # what a redactor would do: no guarantee
    dp.write("My back hurts.", epsilon=40)              # a new sentence by a language model
    dp.count(texts, kary, 8, ["great", "bad"], by=labels).to_pandas()  # what many say together
    dp.plan(kary, error=0.2, leakage=0.1, words=["great"]).sentence    # how many texts that takes
    dp.leak(tem, 2.2).sentence                          # what someone who knows English guesses
    dp.repeated_leak(kary, 8, 16).sentence              # the same after up to 16 releases of a word
    dp.meter(lex, [1, 1.5]).to_pandas()                 # what any mechanism can give away
    dp.least_distance(lex, [1, 1.5]).to_pandas()        # how near to the words any can stay
    dp.tradeoff(tem, [2, 2.4]).to_pandas()              # what this one does, and what it leaves

Importing the package loads numpy and nothing heavier: each name is imported on first use.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "1.0.0"

# Origin of each public name. The names are strings because every package of the project imports
# this one: a subpackage may ask it for the version without loading the subpackages above.
# `lexicon` and `audit` are packages that can also be called.
_FRONT_DOOR = {
    "audit": "dpcore.audit",
    "count": "dpcore.crowd.counting:count",
    "deniability": "dpcore.front:deniability",
    "draw": "dpcore.rewrite.sentence:draw",
    "leak": "dpcore.attack.leak:leak",
    "least_distance": "dpcore.attack.bounds.least_distance:least_distance",
    "lexicon": "dpcore.lexicon",
    "map_batch": "dpcore.rewrite.documents:map_batch",
    "mechanism": "dpcore.front:mechanism",
    "meter": "dpcore.attack.bounds.meter:meter",
    "plan": "dpcore.crowd.planner:plan",
    "privatize_column": "dpcore.rewrite.documents:privatize_column",
    "read": "dpcore.rewrite.sentence:prepare",
    "redact": "dpcore.rewrite.redact.redaction:redact",
    "release": "dpcore.front:release",
    "repeated_leak": "dpcore.attack.budget:repeated_leak",
    "tradeoff": "dpcore.attack.trade.tradeoff:tradeoff",
    "write": "dpcore.rewrite.write.writers:write",
}

__all__ = [*_FRONT_DOOR]


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562)."""
    if name not in _FRONT_DOOR:
        raise AttributeError(f"module 'dpcore' has no attribute {name!r}")
    module, _, member = _FRONT_DOOR[name].partition(":")
    value = import_module(module)
    value = getattr(value, member) if member else value
    globals()[name] = value  # the next look-up does not call this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
