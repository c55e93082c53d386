"""One benchmark over all mechanisms: what each leaves where all give equally much away.

Equal in three senses, each at three levels:

- *guessed*: the best attacker who knows the mechanism, and takes all words of the lexicon for
  equally likely, names 5, 10 or 25 of 100 (`dpcore.attack.trade`). ε is found by measuring
  (`attack.trade.levels`), and what is guessed there is measured again with other noise.
- *membership*: the AUC of the stronger attacker who asks which texts a classifier learned from
  is .55, .60 or .70. Read between the ε that were measured (`leaderboard`).
- *promised*: the same ε is proved, or certified on the lexicon; for metric privacy per unit of
  Euclidean distance, for local privacy between any two words. Two senses of ε, and never one
  axis. The levels are the largest ε under which nobody guesses more than 5, 10 or 25 words of
  100, whatever the mechanism (`attack.frontier`): equal promises, in the same unit as the first
  sense.

What is left: words of texts that stay; their meaning by a sentence encoder; what a classifier
learns from them; and of the lexicon the mean nearness of an output to its word. What it costs:
processor time a word, over that of randomised response measured in the same minute.

All mechanisms of the registry take part with their default settings, and `VARIANTS` beside them:
one that is registered later needs no line here. What cannot take part says why.
"""
