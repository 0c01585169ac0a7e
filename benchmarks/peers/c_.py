"""C by gcc -O3, called once for all rounds."""

import ctypes
import pathlib
import subprocess
import tempfile

import numpy as np
from tasks import UCB

FOLDER = tempfile.TemporaryDirectory()
LIBRARY = pathlib.Path(FOLDER.name) / "ucb.so"
SOURCE = pathlib.Path(__file__).with_name("ucb.c")
subprocess.run(
    ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(LIBRARY), str(SOURCE), "-lm"],
    check=True,
)
ucb = ctypes.CDLL(str(LIBRARY)).ucb
ucb.restype = ctypes.c_double
ucb.argtypes = [ctypes.c_int64, ctypes.c_int64, np.ctypeslib.ndpointer(np.float64), ctypes.c_uint64]


def version():
    return subprocess.run(
        ["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True
    ).stdout.strip()


PLAYS = {UCB: ("UCB", lambda task: ucb(task.rounds, task.means.size, task.means, 1))}
