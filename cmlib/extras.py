"""Check that the packages of an optional part of cmlib are installed.

:func:`check_extra` raises a CmlibError that names what is missing and how to install it.
"""

import importlib.util

from cmlib.errors import CmlibError

# Names of modules by the extra of pyproject.toml that installs them.
_MODULES = {"compare": ("capstone", "elftools", "lizard")}


def check_extra(extra, purpose):
    """Raise a CmlibError if a package of an extra is not installed.

    Parameters
    ----------
    extra : {"compare"}
        Name of the extra in pyproject.toml.
    purpose : str
        What needs it, as the subject of a sentence: "Comparing machine code".
    """
    missing = [module for module in _MODULES[extra] if importlib.util.find_spec(module) is None]
    if missing:
        raise CmlibError(
            f"{purpose} needs {', '.join(missing)}, which cmlib does not install by default. "
            f'Install it: python -m pip install "cmlib[{extra}]"'
        )
