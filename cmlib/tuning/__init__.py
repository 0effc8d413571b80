"""Find the parameters of a program that matter for its run time, directly and through events."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
