"""Fingerprints of hardware bottlenecks: key events, time slices and the decision tree (Yoo et al. 2012)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "c45": ["C45Classifier"],
        "cache_levels": ["plateaus"],
        "diagnosis": ["advice", "score_programs"],
        "key_events": ["select_key_events", "validate"],
        "phases": ["NOTHING_ELSE", "added_shares", "contributions", "segment_starts"],
        "unknown": ["UnknownRejector"],
    },
)
