"""One HTML file that needs nothing beside it: style, script, fonts and data stand in it."""

import html
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from string import Template

__all__ = ["page"]

_FONTS = {"sans": "DejaVuSans", "bold": "DejaVuSans-Bold", "mono": "DejaVuSansMono"}
_SCRIPTS = ("data", "scene", "steps", "paint", "panel", "page")
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(title: str, summary: str, data: str) -> str:
    """Return the file; its content policy lets nothing run or load but what stands in it.

    Args:
        title: any text.
        summary: HTML that says the result where there is no script; what it quotes is escaped.
        data: JSON, as `page.js` reads it.
    """
    fonts = {key: _base64(_read(f"{name}.woff2")) for key, name in _FONTS.items()}
    style = Template(_read("page.css").decode()).substitute(fonts)
    script = "\n".join(_read(f"{name}.js").decode() for name in _SCRIPTS)
    return Template(_read("page.html").decode()).substitute(
        title=html.escape(title),
        summary=summary,
        data=data.translate(_ESCAPED),
        style=style,
        style_hash=_base64(sha256(style.encode()).digest()),
        script=script,
        script_hash=_base64(sha256(script.encode()).digest()),
    )


def _read(name: str) -> bytes:
    return files("pipeproof.reports").joinpath("page", name).read_bytes()


def _base64(held: bytes) -> str:
    return b64encode(held).decode()
