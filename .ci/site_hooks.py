"""MkDocs hooks: pages of the site have the paths they have in the repository, so a link holds here and on a code host.

README, and what pages link to outside `docs/`, become pages too. A link to anything else of the repository, such as a
folder, keeps its words alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
START = ("README.md", "CHANGELOG.md")  # no page of docs/ links to these
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]+)?\)")
FOREIGN = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\s(?:src|href)=["']?(?:https?:)?//[^>]*>""")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Name the files of `docs/` by their paths in the repository, and add the pages outside that they lead to."""
    folder = Path(config.docs_dir)
    own = [file for file in files if file.src_dir == config.docs_dir]
    for file in own:
        files.remove(file)
    shown = [folder / file.src_uri for file in own if file.inclusion is not InclusionLevel.EXCLUDED]
    for path in _follow_links({*START, *(path.relative_to(ROOT).as_posix() for path in shown)}):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    config.nav = _list_folders(config.nav, files)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead a link to a folder to its README, and take away links to what is in the repository and not in the site."""

    def lead(found: re.Match[str]) -> str:
        path = _resolve(page.file.src_uri, found[2])
        if files.get_file_from_path(path) or not (ROOT / path).exists():
            return found[0]
        return f"[{found[1]}]({found[2]}/README.md)" if files.get_file_from_path(f"{path}/README.md") else found[1]

    if page.parent is None:  # no section whose pages could stand beside it
        page.meta["hide"] = ["navigation"]
    return LINK.sub(lead, markdown)


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Return the page. Raises `PluginError` where a browser would load something from elsewhere for it."""
    if found := FOREIGN.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from another host: {found[0]}")
    return output


def _follow_links(paths: set[str]) -> list[str]:
    """Return these files and every Markdown file that their links lead to."""
    found, ahead = set(paths), [path for path in paths if path.endswith(".md")]
    while ahead:
        path = ahead.pop()
        for _, target, _ in LINK.findall((ROOT / path).read_text(encoding="utf-8")):
            linked = _resolve(path, target)
            if linked.endswith(".md") and linked not in found and (ROOT / linked).exists():
                found.add(linked)
                ahead.append(linked)
    return sorted(found)


def _list_folders(entry: Any, files: Files) -> Any:
    """Return navigation in which each folder is the list of its pages."""
    if isinstance(entry, list):
        return [_list_folders(each, files) for each in entry]
    if isinstance(entry, dict):
        return {title: _list_folders(each, files) for title, each in entry.items()}
    if not entry.endswith("/"):
        return entry
    pages = [file.src_uri for file in files.documentation_pages() if file.src_uri.startswith(entry)]
    return sorted(pages, key=lambda path: (not path.endswith("/README.md"), path))


def _resolve(page: str, target: str) -> str:
    return normpath(join(dirname(page), target))
