"""The small models of tests/data/tiny_models.py."""
import os
import sys
import tempfile
from pathlib import Path

from peer import DATA, library


def maker():
    sys.path.insert(0, str(DATA))
    import tiny_models
    return tiny_models


def made():
    """The folder of all models (TINY_MODELS names one that is there), which are made on the first call."""
    if not made.folder:
        given = os.environ.get("TINY_MODELS")
        if not given:
            library("torch")
            library("transformers")
            made.kept = tempfile.TemporaryDirectory()
            maker().build(made.kept.name)
        made.folder = Path(given or made.kept.name)
    return made.folder


made.folder = None
