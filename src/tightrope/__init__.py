"""Structured bandits: compiled in simulation, one decision at a time in production, with the
guarantee visible."""

import ast as _ast
import importlib as _importlib
import pathlib as _pathlib

__version__ = "0.1.0"


def _places() -> dict[str, tuple[str, str]]:
    """Module of every public name, and what it is called there, by the imports of
    `__init__.pyi`."""
    text = _pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = [line for line in _ast.parse(text).body if isinstance(line, _ast.ImportFrom)]
    return {
        alias.asname or alias.name: ("." * line.level + (line.module or ""), alias.name)
        for line in imports
        for alias in line.names
    }


_PLACES = _places()
__all__ = sorted(name for name in _PLACES if name != "Client")


def __dir__() -> list[str]:
    return [*__all__, "Client", "__version__"]


def __getattr__(name: str) -> object:
    """Import what is asked for. The first public name brings all others but `Client`, which needs
    httpx.

    Importing the package alone takes milliseconds, so `tightrope --help` does not wait for Numba.
    All names come together because the folder of a kernel depends on which modules are loaded.
    """
    if name.startswith("_"):
        raise AttributeError(f"module 'tightrope' has no attribute {name!r}.")
    if (_pathlib.Path(__file__).parent / name).is_dir() or (
        _pathlib.Path(__file__).parent / f"{name}.py"
    ).is_file():
        return _importlib.import_module(f"{__name__}.{name}")
    if name == "Client":
        return _load_name(name)
    if name in _PLACES:
        for each in __all__:
            globals()[each] = _load_name(each)
        return globals()[name]
    raise AttributeError(f"module 'tightrope' has no attribute {name!r}.{_meant(name)}")


def _load_name(name: str) -> object:
    place, called = _PLACES[name]
    module = _importlib.import_module(place if place != "." else f".{called}", __name__)
    return module if place == "." else getattr(module, called)


def _meant(name: str) -> str:
    """The name here of a policy that others call otherwise, or the name that is like this one."""
    from .core import checks

    usual = {
        "ThompsonSampling": "BetaThompson, GaussianThompson, or LinTS with features",
        "UCB1": "UCB",
        "LinearThompson": "LinTS",
        "LinThompson": "LinTS",
    }
    return f" Did you mean {usual[name]}?" if name in usual else checks.hint(name, __all__)
