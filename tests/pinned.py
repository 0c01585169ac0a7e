"""The kernels of linear algebra, the same on every x86 machine: those for AVX-512 round differently
from those for AVX2.

Imported before NumPy by what compares results with recorded ones.
"""

import os
import platform

if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
