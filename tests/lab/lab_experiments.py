"""Experiments that write down who played what: modules that drivers and workers import."""

import os
import pathlib
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Logged:
    """Replication r is r² and eight random numbers; every execution leaves its process and a line
    before and after in the log."""

    log: str
    seconds: float = 0.0
    fails: str = ""
    kind = "logged"
    rounds = 1
    period = 1

    def names(self):
        return ["a", "b"]

    def common(self):
        return {"seed": 3}

    def content(self, name, replication):
        return {"policy": name}

    def label(self, name, replication):
        return name

    def replicate(self, name, replication, slices):
        slices.run(lambda first, last: last, 1)
        if slices.stopping():  # a warm-up
            return {}
        write(self.log, f"begin {os.getpid()} {name} {replication}")
        time.sleep(self.seconds)
        if self.fails == f"{name} {replication}":
            raise ValueError(f"replication {replication} of {name!r} fails.")
        write(self.log, f"end {os.getpid()} {name} {replication}")
        return {
            "square": np.array(replication**2),
            "drawn": np.random.default_rng([ord(name), replication]).random(8),
        }


def write(log, line):
    with open(log, "a") as file:  # lines this short are appended whole
        file.write(line + "\n")


def lines(log):
    """(word, process, name and replication) of each line so far."""
    text = pathlib.Path(log).read_text() if pathlib.Path(log).exists() else ""
    return [
        (word, int(process), task)
        for word, process, task in (line.split(" ", 2) for line in text.splitlines())
    ]


def times(log, word="begin"):
    """How often every replication was begun (or ended)."""
    return Counter(task for found, _, task in lines(log) if found == word)
