"""Adapters to other libraries; each is imported when it is first named and needs the extra of that
name.

gym: problems as Gymnasium environments. river: policies as River's. obp: logs as Open Bandit
Pipeline's.
"""

import importlib
from types import ModuleType

__all__ = ["gym", "obp", "river"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"tightrope.adapters has no {name!r}; it has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return list(__all__)
