"""Text from a file, made safe to show: no control characters, no line too long."""

__all__ = ["clean", "excerpt", "inert"]

_WINDOW = 96


def clean(text: str) -> str:
    """Return `text` on one line: tabs and line breaks as a space, other unprintables as `�`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def inert(line: str) -> str:
    """Return a line that the runner of GitHub Actions does not take for a command.

    It takes `::word::` for one at the begin of a line, on either stream, and `##[word]` anywhere.
    """
    if "::" not in line and "##[" not in line:
        return line
    shown = line.replace("##[", "# #[")
    return shown.replace("::", ": :", 1) if shown.lstrip().startswith("::") else shown


def excerpt(line: str, column: int, length: int) -> tuple[str, str]:
    """Return the part of `line` around `column`, from 1, and a caret line that marks `length`.

    An ellipsis stands where something was cut off.
    """
    at = min(max(column - 1, 0), len(line))
    start = max(0, at - _WINDOW // 2) if len(line) > _WINDOW else 0
    indent = len(line) - len(line.lstrip())
    start = max(start, min(indent, at))
    end = min(len(line), start + _WINDOW)
    left = "…" if start > indent else ""
    right = "…" if end < len(line) else ""
    marks = "^" * max(1, min(length, end - at))
    return f"{left}{clean(line[start:end])}{right}", " " * (at - start + len(left)) + marks
