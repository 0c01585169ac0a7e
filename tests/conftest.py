"""The same examples in every run, and the helpers beside this file."""

import pathlib
import sys

from hypothesis import settings

sys.path.insert(0, str(pathlib.Path(__file__).parent))
settings.register_profile("reproducible", derandomize=True)
settings.load_profile("reproducible")
