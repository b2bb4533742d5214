"""Hooks of the site: its navigation, links to files outside docs, and a check of all links and anchors."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag

from mkdocs.exceptions import PluginError

SOURCE = "https://github.com/mcpgen/mcpgen/blob/main/"


def on_config(config):
    docs = Path(config["docs_dir"])

    def pages(folder):
        return sorted(str(p.relative_to(docs)) for p in (docs / folder).glob("*.md"))

    inside = [p for p in pages(".") if p not in ("README.md", "tutorial.md")] + pages("internals")
    config["nav"] = [{"Home": "README.md"}, "tutorial.md", {"How to": pages("how-to")}, {"Reference": pages("reference")}, {"Internals": inside}]
    return config


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
