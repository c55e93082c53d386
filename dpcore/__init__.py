"""dpcore: the engine of Word Privacy Lab, a laboratory for word-level differential privacy.

Importing the package loads numpy and nothing heavier; the rooms (`dpcore.lexicon`,
`dpcore.mechanisms`, `dpcore.rewrite`, ...) are imported when they are used.
"""

__version__ = "0.2.0"
