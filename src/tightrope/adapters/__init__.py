"""Adapters to other libraries; each is imported when it is first named and needs the extra of that
name.

gym: problems as Gymnasium environments. river: policies as River's. obp: logs as the dicts of the
Open Bandit Pipeline, both ways, for which that library is not needed.
"""

import importlib
from types import ModuleType

MODULES = {
    "gym": "tightrope.adapters.gym",
    "obp": "tightrope.logs",
    "river": "tightrope.adapters.river",
}
__all__ = list(MODULES)


def __getattr__(name: str) -> ModuleType:
    if name in MODULES:
        return importlib.import_module(MODULES[name])
    raise AttributeError(f"tightrope.adapters has no {name!r}; it has {', '.join(MODULES)}.")


def __dir__() -> list[str]:
    return list(MODULES)


def required(library: str, adapter: str) -> None:
    """Raise ImportError, with the command that installs it, where a library cannot be imported."""
    try:
        importlib.import_module(library)
    except ImportError as error:
        raise ImportError(
            f"adapters.{adapter} needs {library} ({error}); pip install 'tightrope[{library}]'."
        ) from error
