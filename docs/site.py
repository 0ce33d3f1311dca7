"""A hook of mkdocs: what stands as `folder/*` in the navigation is every page of the folder."""

from pathlib import Path
from typing import TypeAlias

from mkdocs.config.defaults import MkDocsConfig

__all__ = ["on_config"]

Entry: TypeAlias = "str | dict[str, Entry] | list[Entry]"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Write out the folders of the navigation, before mkdocs reads it."""
    config.nav = _written_out(config.nav or [], Path(config.docs_dir))
    return config


def _written_out(entry: Entry, docs: Path) -> Entry:
    if isinstance(entry, str):
        return _pages(entry.removesuffix("/*"), docs) if entry.endswith("/*") else entry
    if isinstance(entry, dict):
        return {title: _written_out(each, docs) for title, each in entry.items()}
    written: list[Entry] = []
    for each in entry:
        pages = _written_out(each, docs)
        written += pages if isinstance(pages, list) else [pages]
    return written


def _pages(folder: str, docs: Path) -> list[Entry]:
    """Return the pages of a folder by name, its README first."""
    names = sorted(page.name for page in (docs / folder).glob("*.md"))
    names.sort(key=lambda name: name != "README.md")
    return [f"{folder}/{name}" for name in names]
