"""Configuration of the documentation; `make docs` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from weightlift import __version__

project = "Weightlift"
author = "The Weightlift developers"
copyright = "the Weightlift developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "citations",
    "mathml",
    "plain_docstrings",
    "rooms",
]
exclude_patterns = ["_build", "gallery", "auto_gallery/**/*.py.md5"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

default_role = "py:obj"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True}
autodoc_typehints = "signature"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Array": "Array", "Real": "ndarray"}
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "keys"
bibtex_cite_id = "{key}"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "copyfile_regex": "",
    "download_all_examples": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its page fetches scripts
    "doc_module": ("weightlift",),
    "reference_url": {"weightlift": None},
    "backreferences_dir": None,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "Weightlift"
html_static_path = ["_static"]
html_css_files = ["weightlift.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "header_links_before_dropdown": 4,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"*": []}  # pages of the first level have no sections beside them
