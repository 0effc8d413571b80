"""The templates that lie beside a package's modules."""

import jinja2


def template(package, name, *, autoescape=False, filters=()):
    """One of a package's templates, in which blocks leave neither lines nor indents of their own."""
    settings = {"autoescape": autoescape, "trim_blocks": True, "lstrip_blocks": True}
    environment = jinja2.Environment(loader=jinja2.PackageLoader(package, "."), **settings)
    environment.filters.update(filters)
    return environment.get_template(name)
