"""Maps of a lexicon: UMAP, its model, quality and store."""
