"""Benchmark of all mechanisms: remaining utility at equal leakage.

Leakage is equal in three senses, each at three levels:

- *guessed*: a stranger who knows the mechanism guesses 5, 10 or 25 words of 100: content words, if
  they know how common words are (`counts`), or words of the lexicon, if they take all for equally
  likely (`equal`). ε is found by measuring (`attack.trade.levels`), and the share guessed there is
  measured again with other noise.
- *membership*: the AUC of the stronger attacker, who infers which texts a classifier learned from,
  is .55, .60 or .70. Read between the measured ε (`board`).
- *promised*: the same ε is proved, or certified on the lexicon; for metric privacy per unit of
  Euclidean distance, for local privacy between any two words. These are two senses of ε and never
  share an axis. The levels are the largest ε under which no such stranger guesses more than 5, 10
  or 25 words of 100, whatever the mechanism (`attack.bounds`): equal guarantees, in the same unit
  as the first sense.

Utility: words of texts that stay; their meaning by a sentence encoder; the accuracy of a classifier
that learns from them; and, on the lexicon, the mean nearness of an output to its word. Cost:
processor time per word, relative to that of randomised response measured in the same minute.

All mechanisms of the registry take part with their default settings, with `VARIANTS` beside them:
a mechanism that is registered later needs no line here. Each that cannot take part gives a reason.
"""
