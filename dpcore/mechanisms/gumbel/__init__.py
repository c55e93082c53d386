"""Truncated Gumbel mechanism, as published and repaired.

Published: `algorithm` has the noise scale and the choice among noisy distances, `published` the
mechanism. Its law is one integral, in probabilities (`law`, with far words on a grid) and in
logarithms where those underflow (`log_law`); both take the noise from `noise`, with panels and
nodes.

Repaired: `repaired` is the mechanism with its closed form and the bound for every vocabulary,
`repaired_certificate` the loss of all pairs of one vocabulary.
"""
