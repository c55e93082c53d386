"""Words, their vectors and the metric between them.

The main names live in the modules `lexicon` (`Lexicon`), `metric` (`Metric`, `distances`),
`ranking` (`rank`), `extent` (`Extent`), `neighbours` (`nearest`, `ExactIndex`), `approximate`
(`ApproximateIndex`) and `catalogue` (`load`, `available`); they are imported from there, so that
importing the package stays light.
"""
