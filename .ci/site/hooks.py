"""Hooks of the site: its navigation, links to files outside docs, and a check of all links and anchors."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag

from mkdocs.exceptions import PluginError

SOURCE = "https://github.com/mcpgen/mcpgen/blob/main/"


def on_config(config):
    config["nav"] = nav(Path(config["docs_dir"]))
    return config


def nav(docs):
    """Returns the navigation: the pages in the order in which README.md links to them, below its headings."""
    listed = ["README.md"]
    found = section = [{"Home": "README.md"}]
    for line in (docs / "README.md").read_text().splitlines():
        if line.startswith("## "):
            section = []
            found.append({line.removeprefix("## "): section})
        for page in re.findall(r"\]\(([^):#]+\.md)\b", line):
            if page not in listed:
                listed.append(page)
                section.append(page)
    missing = {str(p.relative_to(docs)) for p in docs.rglob("*.md")}.difference(listed)
    if missing:
        raise PluginError(f"docs/README.md has no link to {', '.join(sorted(missing))}")
    return found


def on_page_markdown(markdown, page, **_):
    def link(m):
        path = os.path.normpath(os.path.join("docs", os.path.dirname(page.file.src_path), m[1]))
        return m[0] if path.startswith("docs" + os.sep) else f"]({SOURCE}{path})"

    return re.sub(r"\]\((\.\./[^)\s]+)\)", link, markdown)


def on_post_build(config):
    """Fails if a link on the site leads to no page or to no anchor."""
    site = Path(config["site_dir"])
    text = {p: p.read_text() for p in site.rglob("*.html") if p.name != "404.html"}
    ids = {p: set(re.findall(r'\bid="([^"]+)"', t)) for p, t in text.items()}
    broken = []
    for page, html in text.items():
        for href in re.findall(r'<a [^>]*?href="([^":]+)"', html):
            path, anchor = urldefrag(unquote(href))
            target = Path(os.path.normpath(page.parent / path)) if path else page
            if target.is_dir():
                target /= "index.html"
            if not target.exists() or anchor and anchor not in ids.get(target, ()):
                broken.append(f"{page.relative_to(site)}: {href}")
    if broken:
        raise PluginError("broken links:\n" + "\n".join(sorted(set(broken))))
