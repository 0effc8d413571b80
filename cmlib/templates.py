"""Load the Jinja templates that lie beside a package's modules."""

import jinja2


def template(package, name, *, autoescape=False, filters=()):
    """A template of a package by its file's name; its blocks leave neither empty lines nor indents in the output.

    `filters` maps names to functions.
    """
    settings = {"autoescape": autoescape, "trim_blocks": True, "lstrip_blocks": True}
    environment = jinja2.Environment(loader=jinja2.PackageLoader(package, "."), **settings)
    environment.filters.update(filters)
    return environment.get_template(name)
