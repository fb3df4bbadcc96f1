"""What may be written to a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text without anything that a terminal takes for a command."""
    return "".join(c if c.isprintable() else "?" for c in text)
