"""The version of this package: builds, results and documents take it from here."""

__version__ = "0.3.0"
