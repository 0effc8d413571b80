"""Load the Jinja templates that lie beside a package's modules.

:func:`template` takes the names of a package and of a file, and returns a Jinja template; an error of Jinja if there
is no such file.
"""

import contextlib
from pathlib import Path

import jinja2

_COMPILED = Path(__file__).resolve().parent / "__pycache__"  # where Python keeps compiled modules, too


class _CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Keep compiled templates beside compiled modules; where that fails, compile them in each process."""

    def load_bytecode(self, bucket):
        """Load a compiled template if there is one."""
        with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket):
        """Write a compiled template."""
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def template(package, name, *, autoescape=False, filters=()):
    """Load a Jinja template of a package (such as "cmlib.topdown") by its file's `name`.

    Its blocks leave neither empty lines nor indents in the output. `autoescape` is for HTML; `filters` maps names
    to functions. Raises an error of Jinja if there is no such file.
    """
    settings = {"autoescape": autoescape, "trim_blocks": True, "lstrip_blocks": True}
    if _COMPILED.is_dir():
        # Compiled code depends on the settings, which are part of the files' names.
        settings["bytecode_cache"] = _CompiledTemplates(str(_COMPILED), f"template-{autoescape}-%s.cache")
    environment = jinja2.Environment(loader=jinja2.PackageLoader(package, "."), **settings)
    environment.filters.update(filters)
    return environment.get_template(name)
