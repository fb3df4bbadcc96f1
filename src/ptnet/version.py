"""The version, in one place: importlib.metadata would cost more than the whole import."""

VERSION = "0.1.0"
