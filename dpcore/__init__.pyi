from dpcore.attack.bounds.least_distance import least_distance
from dpcore.attack.bounds.meter import meter
from dpcore.attack.budget import repeated_leak
from dpcore.attack.leak import leak
from dpcore.attack.trade.tradeoff import tradeoff
from dpcore.audit.report import audit
from dpcore.crowd.counting import count
from dpcore.crowd.planner import plan
from dpcore.front import deniability, mechanism, release
from dpcore.lexicon.catalogue import load as lexicon
from dpcore.rewrite.documents import map_batch, privatize_column
from dpcore.rewrite.redact.redaction import redact
from dpcore.rewrite.sentence import draw
from dpcore.rewrite.sentence import prepare as read
from dpcore.rewrite.write.writers import write

__version__: str

__all__ = [
    "audit",
    "count",
    "deniability",
    "draw",
    "leak",
    "least_distance",
    "lexicon",
    "map_batch",
    "mechanism",
    "meter",
    "plan",
    "privatize_column",
    "read",
    "redact",
    "release",
    "repeated_leak",
    "tradeoff",
    "write",
]
