"""Policies, one algorithm a file. A file added to a family's folder is found by itself."""

from ..registry import REGISTRY, examples, import_all

__all__ = ["examples", *import_all(__path__, __name__, REGISTRY)]
globals().update(REGISTRY)
