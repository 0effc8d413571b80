"""Recognize the functions by which compilers emulate floating-point arithmetic that the hardware does not have.

:func:`is_emulated_float` takes the name of a function. The names are those of libgcc and LLVM's compiler-rt
(``__multf3``), of libgcc's decimal arithmetic (``__bid_adddd3``), and of Arm's run-time ABI (``__aeabi_dmul``).
"""

import re

# Types by GCC's machine modes: half, single, double, extended and quadruple precision, and decimal.
_TYPE = "(?:hf|sf|df|xf|tf|sd|dd|td)"
_INTEGER = "(?:si|di|ti)"
_OPERATION = "(?:add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|cmp|unord)"
_ARITHMETIC = re.compile(rf"__(?:bid_|dpd_)?{_OPERATION}{_TYPE}[23]")  # __multf3, __eqdf2
_CONVERSION = re.compile(rf"__(?:bid_|dpd_)?(?:extend|trunc){_TYPE}{_TYPE}2?")  # __extenddftf2
# Of integers: only to and from quadruple and decimal types. Others have names for 128-bit integers as well.
_FROM_INTEGER = re.compile(rf"__(?:bid_|dpd_)?float(?:un)?{_INTEGER}(?:tf|sd|dd|td)")  # __floatsitf
_TO_INTEGER = re.compile(rf"__(?:bid_|dpd_)?fix(?:uns)?(?:tf|sd|dd|td){_INTEGER}")  # __fixtfsi
_ARM = re.compile(r"__aeabi_(?:[df](?:add|sub|rsub|mul|div|neg|cmp\w*)|[df]2\w+|u?[il]2[df])")  # __aeabi_dmul


def is_emulated_float(function):
    """Return True if a function (name, str) computes with floating-point numbers by integer instructions."""
    patterns = (_ARITHMETIC, _CONVERSION, _FROM_INTEGER, _TO_INTEGER, _ARM)
    return any(pattern.fullmatch(function) for pattern in patterns)
