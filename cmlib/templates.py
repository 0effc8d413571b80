"""Load the Jinja templates that lie beside a package's modules.

:func:`template` takes the names of a package and of a file, and gives a Jinja template; an error of Jinja if there
is no such file.
"""

import jinja2


def template(package, name, *, autoescape=False, filters=()):
    """A Jinja template of a package (such as "cmlib.topdown") by its file's `name`.

    An error of Jinja if there is no such file. Its blocks leave neither empty lines nor indents in the output.
    `autoescape` is for HTML; `filters` maps names to functions.
    """
    settings = {"autoescape": autoescape, "trim_blocks": True, "lstrip_blocks": True}
    environment = jinja2.Environment(loader=jinja2.PackageLoader(package, "."), **settings)
    environment.filters.update(filters)
    return environment.get_template(name)
