"""The documentation site: MyST Markdown, with parts made from the program, the headers and the package.

`scripts/build-docs` runs Sphinx on it. Three comments in the pages are replaced when they are read:
`<!-- commands -->` by the help of the program, `<!-- headers -->` by the installed headers; what stands
between `<!-- with the package -->` and `<!-- end -->` is left out where `remblai` cannot be imported.
"""

import importlib.util
import pathlib
import re
import shutil
import sys

import sphinx.ext.mathjax
from docutils import nodes

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
GENERATED = HERE / "generated"
(GENERATED / "static").mkdir(parents=True, exist_ok=True)
sys.path.insert(0, str(HERE))

import cli_reference  # noqa: E402
import cpp_reference  # noqa: E402
import pictures  # noqa: E402

project = "Remblai"
author = "the authors of Remblai"
copyright = author
version = release = re.search(r"\n  VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)

extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["generated"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
root_doc = "index"

html_theme = "furo"
html_title = f"Remblai {version}"
html_static_path = ["_static", "generated/static"]
html_css_files = ["remblai.css"]
html_copy_source = False
html_show_sphinx = False
smartquotes = False  # they would turn --help into a dash
pygments_style, pygments_dark_style = "friendly", "monokai"

# Types of other libraries have no page here, nor have files that are only in the repository.
nitpick_ignore = [("myst", "RESULTS.md"), ("myst", "../examples/python")]
nitpick_ignore_regex = [
    ("cpp:identifier", r"(std|Eigen)(::.*)?"),
    ("py:.*", r".*"),
]
default_role = "code"  # as the docstrings use backticks
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_ivar = True  # an attribute that is a property has an entry of its own

# Formulas are set by KaTeX, copied into the site so that it reads without a network. Debian: libjs-katex.
KATEX = pathlib.Path("/usr/share/javascript/katex")
if KATEX.exists():
    html_math_renderer = "katex"
    html_css_files += ["katex/katex.min.css"]
    html_js_files = ["katex/katex.min.js", "katex-render.js"]
else:
    print("No KaTeX at /usr/share/javascript/katex: formulas will need a network to be read.")


def make_files(app):
    if KATEX.exists():
        shutil.copytree(
            KATEX,
            GENERATED / "static/katex",
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("contrib", "*.mjs", "katex.js", "katex.css", "*.ttf", "*.woff"),
        )
    pictures.make(cli_reference.program(), GENERATED)


def fill(app, page, source):
    text = source[0]
    if "<!-- commands -->" in text:
        text = text.replace("<!-- commands -->", cli_reference.markdown(cli_reference.program()))
    if "<!-- headers -->" in text:
        text = text.replace("<!-- headers -->", cpp_reference.markdown(ROOT / "include/remblai"))
    if importlib.util.find_spec("remblai") is None:
        note = ":::{note}\nThis build of the site was made without the package `remblai`: `make python` builds it.\n:::"
        text = re.sub(r"<!-- with the package -->.*?<!-- end -->", note, text, flags=re.S)
    source[0] = text


def unlink(app, doctree, page):
    """A link to a file that is only in the repository is shown as its text."""
    for node in list(doctree.findall(nodes.reference)):
        target = node.get("refid") or node.get("refuri", "").lstrip("#")
        if ("myst", target) in nitpick_ignore:
            node.replace_self(node.children)


def skip_inherited(app, what, name, member, skip, options):
    """What an estimator has from scikit-learn is documented there."""
    routing = re.fullmatch(r"set_\w+_request|get_metadata_routing", name)
    return True if routing or str(getattr(member, "__module__", "")).startswith("sklearn") else None


def escape(app, what, name, member, options, lines):
    """The docstrings are plain text: |x|, and a last underscore, mean nothing in them."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(("..", ":")):
            pieces = re.split(r"(`[^`]*`)", line)
            pieces[::2] = [re.sub(r"(?<!\\)(\||_\b(?!\w))", r"\\\1", piece) for piece in pieces[::2]]
            lines[i] = "".join(pieces)
        else:
            lines[i] = re.sub(r"^:(ivar|vartype) (\w+)_:", r":\1 \2\\_:", line)


def setup(app):
    app.add_html_math_renderer(
        "katex",
        (sphinx.ext.mathjax.html_visit_math, None),
        (sphinx.ext.mathjax.html_visit_displaymath, None),
    )
    app.connect("builder-inited", make_files)
    app.connect("source-read", fill)
    app.connect("doctree-resolved", unlink)
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-docstring", escape, priority=900)
