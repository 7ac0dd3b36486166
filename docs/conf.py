"""Sphinx's settings: data only. What the site does is in `sphinxext`."""

project = "torch.compile in Practice"
author = "the authors of torch.compile in Practice"
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "compile_in_practice.sphinxext",
]
exclude_patterns = [
    "_gallery",  # the labs' scripts
    "lab/*.ipynb",  # their downloads
    "gpu/*.ipynb",
    "**sg_execution_times.rst",
]
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold a function

# Pages: executed notebooks, under the name of the page (see sphinxext/staging.py).
nb_custom_formats = {".md": "compile_in_practice.sphinxext.staging.read_notebook"}
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

# Labs: scripts that replay data (see sphinxext/galleries.py).
sphinx_gallery_conf = {
    "examples_dirs": ["_gallery/lab", "_gallery/gpu"],
    "gallery_dirs": ["lab", "gpu"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py|conftest\.py",
    "within_subsection_order": "compile_in_practice.sphinxext.galleries.TitleNumber",
    "reset_modules": ("compile_in_practice.sphinxext.galleries.use_ink",),
    "image_scrapers": ("compile_in_practice.sphinxext.galleries.svg",),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "remove_config_comments": True,
    "only_warn_on_example_error": False,
}

# The reference of this project's own modules.
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # a folder is one of this machine
autodoc_typehints = "description"
napoleon_numpy_docstring = False
nitpick_ignore_regex = [
    # Offline there is no inventory of Python's own documentation.
    ("py:(class|exc)", r"(pathlib\.)?Path|.*Error|SystemExit|collections\.abc\..*"),
    # Aliases and internal classes, which have no entry of their own.
    ("py:class", r"Data|Measured"),
]

html_theme = "furo"
html_title = "torch.compile in Practice"
html_favicon = "_static/favicon.svg"
html_additional_pages = {"404": "404.html"}
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_js_files = [
    ("break-even.js", {"defer": "defer"}),
    ("filter.js", {"defer": "defer"}),
    ("find.js", {"defer": "defer"}),
    ("keyboard.js", {"defer": "defer"}),
    ("terms.js", {"defer": "defer"}),
]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {
        "color-brand-primary": "#b3380f",
        "color-brand-content": "#b3380f",
        "color-brand-visited": "#8a4a31",
    },
    "dark_css_variables": {
        "color-brand-primary": "#ff9a6b",
        "color-brand-content": "#ff9a6b",
        "color-brand-visited": "#d79a80",
    },
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"
copybutton_selector = "div:not(.output):not(.highlight-none) > div.highlight pre"
copybutton_exclude = ".linenos, .gp"
