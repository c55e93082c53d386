"""The truncated Gumbel mechanism, as published and repaired.

Published: `algorithm` is the noise scale and what is done to distances, `published` the mechanism.
Its law is one integral, in probabilities (`law`) and in logarithms where those underflow
(`log_law`); both take noise, panels and nodes from `noise`, and far words together as `far_words`
has them.

Repaired: `repaired` is the mechanism with its closed form and the bound for every vocabulary,
`repaired_certificate` the loss of all pairs of one vocabulary.
"""
