"""Text of a file as a page shows it: what cannot be seen is spelled out, what is long is cut."""

__all__ = ["LONGEST", "worded"]

LONGEST = 2_000
"""How many characters of a text are shown."""


def worded(text: str, longest: int = LONGEST) -> str:
    r"""Return text on which nothing acts: control and bidirectional characters as `\u202e`.

    What is longer than `longest` is cut, and its length is told.
    """
    cut = len(text) > longest
    said = f"{text[:longest]}… ({len(text)} characters)" if cut else text
    return said if said.isprintable() else "".join(map(_shown, said))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004  planes
