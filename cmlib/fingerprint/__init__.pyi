from .c45 import C45Classifier
from .diagnosis import advice, score_programs
from .key_events import select_key_events
from .unknown import UnknownRejector
