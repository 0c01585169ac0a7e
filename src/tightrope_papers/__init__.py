"""Reproductions: settings, claims and verdicts, a folder for each paper."""

import pkgutil


def names() -> list[str]:
    return [
        module.name
        for module in pkgutil.iter_modules(__path__)
        if module.ispkg and module.name != "demo"
    ]
