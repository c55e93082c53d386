"""Maps of a lexicon: fitting, quality, storage, jobs and tables."""
