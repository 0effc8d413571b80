"""Sphinx's settings for the site that `make docs` builds; docs/site/assemble.py gathers its pages."""

import sys
import tomllib
from pathlib import Path

# jsonschema does as well without its parser of IRIs, which takes seconds to build.
sys.modules.setdefault("rfc3987_syntax", None)

ROOT = Path(__file__).resolve().parents[2]
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "cmlib"
version = release = _PROJECT["version"]
author = "The cmlib developers"
html_title = f"cmlib {version}"
html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
templates_path = [str(Path(__file__).with_name("templates"))]
html_static_path = [str(Path(__file__).with_name("static"))]
html_css_files = ["wide.css"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
nb_execution_mode = "off"  # `cmlib run` has executed them
nb_merge_streams = True
nb_code_prompt_show = "Show code"
nb_code_prompt_hide = "Hide code"
myst_enable_extensions = []
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"exclude-members": "set_fit_request, set_predict_request, set_score_request"}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
