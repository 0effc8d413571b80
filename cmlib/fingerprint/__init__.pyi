from .c45 import C45Classifier
from .cache_levels import plateaus
from .diagnosis import advice, score_programs
from .key_events import select_key_events
from .phases import contributions
from .segments import segment_starts
from .unknown import UnknownRejector
