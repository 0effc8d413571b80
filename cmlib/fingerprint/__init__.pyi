from .c45 import C45Classifier as C45Classifier
from .diagnosis import advice as advice, score_programs as score_programs
from .key_events import select_key_events as select_key_events
from .unknown import UnknownRejector as UnknownRejector
