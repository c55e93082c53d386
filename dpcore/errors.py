"""Errors that a person may see; each message is one sentence that says what to do."""


class DpcoreError(ValueError):
    """An input that the engine refuses; the message can be shown unchanged."""


class ParameterError(DpcoreError):
    """A parameter that is not admissible."""


class EpsilonError(ParameterError):
    """A privacy parameter outside the mechanism's admissible range."""


class ComputationError(DpcoreError):
    """A number that a statement relies on is NaN: nothing may be concluded."""


class UnknownWordError(DpcoreError):
    """A word that the lexicon does not hold."""


class UnknownMechanismError(DpcoreError):
    """A mechanism name that is not in the registry."""


class LexiconError(DpcoreError):
    """A lexicon that cannot be found, read or trusted."""


class TextError(DpcoreError):
    """A text that cannot be rewritten: empty, too long, or not text."""


class CorpusError(DpcoreError):
    """Labelled texts that cannot be found, read or trusted."""


class StudyError(DpcoreError):
    """A study that is unknown, or a recorded result that cannot be made, written or trusted."""


class InputError(StudyError):
    """A corpus that cannot be rewritten in its present form: a run on it can never be finished."""


class MapMissingError(DpcoreError):
    """A map that has not been built yet; the message holds the command that builds it."""


class ResourceError(DpcoreError):
    """The system cannot give a file or memory at the moment; nothing is known to be damaged."""


class MissingPackageError(DpcoreError, ImportError):
    """A package is absent or of another release; the message holds the command that installs it."""
