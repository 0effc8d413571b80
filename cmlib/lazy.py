"""Packages whose names are loaded when they are asked for."""

import importlib


def loader(package, homes):
    """What a package takes as its `__getattr__` (PEP 562), so that importing it loads none of its modules."""

    def load(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return load
