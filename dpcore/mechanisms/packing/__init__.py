"""The packing programme of a lexicon: what any mechanism that keeps ε can do at best."""
