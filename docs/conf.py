"""The site: `make docs` builds it, without a network, into build/docs/html."""

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # `ran`
sys.path[:0] = [str(DOCS.parent), str(DOCS / "_extensions")]

import rational_anova  # noqa: E402

project = "rational-anova"
author = "the authors of rational-anova"
release = version = rational_anova.__version__
copyright = "the authors of rational-anova. MIT licence"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # our own, in _extensions/
    "docstrings",
    "command_line",
    "mathml",
]
exclude_patterns = [
    "_extensions",
    "examples",
    *(f"gallery/*.{end}" for end in ("py", "ipynb", "md5", "json", "zip")),
]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
templates_path = ["_templates"]
smartquotes = False
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of signatures; links in pages are checked by MyST
suppress_warnings = [
    "config.cache",
    "misc.highlighting_failure",
]

# Pages: Markdown, with anchors of headings that links are checked against.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Notebooks: run once, kept in a cache, run again only where their code has changed.
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_cache_path = str(DOCS.parent / "build" / "docs" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
# Settings of IPython are ours and not the reader's; the kernel is told not to speak of its port.
_PROFILE = DOCS.parent / "build" / "docs" / "ipython" / "profile_default"
_PROFILE.mkdir(parents=True, exist_ok=True)
(_PROFILE / "ipython_kernel_config.py").write_text('c.IPKernelApp.log_level = "ERROR"\n')
os.environ["IPYTHONDIR"] = str(_PROFILE.parent)
nb_output_stderr = "remove"  # progress bars of others; what fails, fails the build

# The gallery: scripts that run in this process; those that have not changed are left alone.
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "nested_sections": False,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1000,
    "write_computation_times": False,
    "remove_config_comments": True,
    "image_scrapers": ("gallery_style.taken",),
    "reset_modules": ("gallery_style.plain",),
    "capture_repr": (),
    "copyfile_regex": "",
}

# Docstrings.
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 1000
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

# Look. Nothing is fetched from other hosts: fonts are the reader's, formulas are MathML.
html_theme = "pydata_sphinx_theme"
html_title = "rational-anova"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "rational-anova"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "use_edit_page_button": False,
    "back_to_top_button": True,
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
