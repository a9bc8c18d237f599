"""The documentation site: Sphinx with the theme Furo and MyST for Markdown, as Debian 12 has them.

Chosen because its search is a script that works in a file:// page, its theme has light and dark colours and loads
nothing from another host, and its warnings can be errors. tools/docs.sh runs it over what stage.py writes.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from lexer import IrLexer, TesseraLexer  # noqa: E402
from mend_theme import mend  # noqa: E402

project = "Tessera"
release = re.search(r"project\(\s*\w+\s+VERSION\s+([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.I)[1]
version = release
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
language = "en"
highlight_language = "text"

# The pages are Markdown as readers of the repository see it, and none of MyST's additions.
myst_disable_syntax = ["myst_role", "myst_line_comment", "myst_block_break", "myst_target"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Tessera {release}"
html_static_path = ["static"]
html_css_files = ["tessera.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
# Excerpts would be fetched, which browsers refuse to pages of file://.
html_show_search_summary = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6cc0f0", "color-brand-content": "#6cc0f0"},
}


def allow_no_toctree(app, doctree):
    """Pages of one function, op or error are listed by the index of their folder, and not by the sidebar."""
    name = app.env.docname
    if name.count("/") and not name.startswith("tutorial/"):
        app.env.metadata[name].setdefault("orphan", "")


def setup(app):
    app.add_lexer("python", TesseraLexer)
    app.add_lexer("tessera", TesseraLexer)
    app.add_lexer("ir", IrLexer)
    app.connect("doctree-read", allow_no_toctree)
    app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
