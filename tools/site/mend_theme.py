"""Debian's package of Furo has its script and its styles unbundled: a module that imports another, which pages of
file:// may not, a style sheet of the web server's, and no dark colours unless they are asked for. Here each file is
made whole. What is whole already, as in the package of the theme's author, stays as it is."""
import json
import pathlib
import re

NORMALIZE = pathlib.Path("/usr/share/javascript/normalize.css/normalize.css")


def whole_styles(text):
    text = re.sub(r"^@import url\(/javascript/[^)]*\);", lambda _: NORMALIZE.read_text(), text)
    dark = re.search(r'@media not print \{\n(  body\[data-theme="dark"\].*?\} \})\n', text, re.S)
    if dark and "prefers-color-scheme" not in text:
        preferred = dark[1].replace('[data-theme="dark"]', '[data-theme="auto"]')
        rule = "@media screen and (prefers-color-scheme: dark) {\n" + preferred + "\n"
        text = text[:dark.end()] + rule + text[dark.end():]
    return text


def whole_script(text, folder):
    imported = re.match(r'import Gumshoe from "\./([\w.-]+)";\n', text)
    return (folder / imported[1]).read_text() + text[imported.end():] if imported else text


def plain_titles(text):
    """The index of the search with titles that have no markup, so that a page's title is known as such."""
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    index["titles"] = [re.sub(r"<[^>]*>", "", title) for title in index["titles"]]
    return f"Search.setIndex({json.dumps(index)})"


def remove_others(app):
    """Pages of an earlier run that are no more."""
    kept = set(app.env.all_docs) | {"search", "genindex"}
    for page in pathlib.Path(app.outdir).rglob("*.html"):
        name = page.relative_to(app.outdir).with_suffix("").as_posix()
        if name not in kept and not name.startswith("repository/"):
            page.unlink()


def mend(app, error):
    if error or app.builder.format != "html":
        return
    static = pathlib.Path(app.outdir) / "_static"
    styles, script = static / "styles/furo.css", static / "scripts/furo.js"
    styles.write_text(whole_styles(styles.read_text()))
    script.write_text(whole_script(script.read_text(), script.parent))
    index = pathlib.Path(app.outdir) / "searchindex.js"
    index.write_text(plain_titles(index.read_text()))
    remove_others(app)
