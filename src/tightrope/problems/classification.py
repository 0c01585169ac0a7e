"""Classification data as a bandit: a row is shown, an arm is a class, and only whether that was the right one is learned.

The standard way of trying contextual policies on real data (Dudik, Langford, Li 2011, section 5; Bietti, Agarwal, Langford 2021).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit
from ..core import checks
from ..core.fields import Vector, derived, flag, matrix, scratch, unchecked
from ..core.types import Array, Stored
from ..core.verbs import Arms, Context
from .problem import Problem, problem


@problem("classification")
class Classification(Problem):
    """Rows drawn uniformly at random, one a round; the reward of an arm is 1 if the row is of that class and else 0.

    Parameters
    ----------
    rows : (n, p) array
        Features.
    classes : (n,) array
        Whole numbers 0 .. K - 1, each of which must occur, or texts, which are numbered as they sort; of pandas too.
    intercept : bool
        Add a column of ones.
    expand : bool
        Every arm sees the row in columns of its own, so features are (K, K d), and a linear policy learns a regression for each class;
        False: every arm sees the same d columns, for policies with a model for each arm (shared=False), which learn the same at 1 / K^2
        of the cost.

    References
    ----------
    Dudík, Langford, Li 2011, section 5, make labelled data a test of policies so; Bietti, Agarwal, Langford 2021 do it at scale.
    """

    rows: Array = matrix()
    classes: Array = unchecked(schema=Vector | list[str], words="whole numbers from 0, or texts", kept=True)
    intercept: bool = flag(True)
    expand: bool = flag(True)
    features: np.ndarray = scratch()  # (K, K d) or (K, d) of this round
    shown: np.ndarray = scratch()  # (1,) the class of this round's row
    number: int = derived()  # K
    step: int = derived()  # columns between what two arms see: d or 0

    @staticmethod
    def complete(stored: Stored) -> Stored:
        rows, labels = stored["rows"], checks.entries("classes", stored["classes"], "a list of classes")
        if labels.dtype.kind in "UT" or (labels.dtype.kind == "O" and all(isinstance(one, str) for one in labels.flat)):
            labels = np.unique(labels.astype(str), return_inverse=True)[1]
        classes = checks.vector("classes", labels, length=rows.shape[0], least=0.0, source="one for each of rows")
        if (classes != np.floor(classes)).any():
            raise ValueError(f"classes = {checks.show(classes)} must be whole numbers from 0; problems.classification takes other labels.")
        number = int(classes.max()) + 1
        absent = np.setdiff1d(np.arange(number), classes)
        if absent.size:
            raise ValueError(f"classes has no {absent[0]}, but goes to {number - 1}; number the classes that occur from 0.")
        if stored["intercept"]:
            rows = np.ascontiguousarray(np.column_stack([rows, np.ones(len(rows))]))
        size = rows.shape[1]
        step = size if stored["expand"] else 0
        width = size + (number - 1) * step
        checks.fits_in_memory("classes", number, 8 * width)
        more = {"features": np.zeros((number, width)), "shown": np.zeros(1), "number": number, "step": step}
        return stored | {"rows": rows, "classes": classes} | more

    def describe(self):
        return Arms(self.number, dimension=self.features.shape[1], rewards=(0.0, 1.0), common=self.step == 0)

    @jit
    def observe(self, t, rng):
        i = rng.integers(0, self.rows.shape[0])
        d = self.rows.shape[1]
        self.shown[0] = self.classes[i]
        for k in range(self.features.shape[0]):
            for j in range(d):
                self.features[k, k * self.step + j] = self.rows[i, j]
        return Context(self.features, None, None, None)

    @jit
    def play(self, context, action, rng):
        return 1.0 if action == self.shown[0] else 0.0

    @jit
    def mean(self, context, arm):
        return 1.0 if arm == self.shown[0] else 0.0

    @jit
    def regret(self, context, action):
        return 0.0 if action == self.shown[0] else 1.0


def classification(X: ArrayLike, y: ArrayLike, *, intercept: bool = True, scale: bool = True, expand: bool = True) -> Classification:
    """Classification data, as scikit-learn has them, as a problem.

    Parameters
    ----------
    X : (n, p) array or data frame
        Numbers.
    y : (n,) array or series
        Labels of any kind; sorted, they are arms 0 .. K - 1.
    intercept : bool
        Add a column of ones.
    scale : bool
        Bring every column to mean 0 and standard deviation 1 (columns that never change to 0).
    expand : bool
        Every arm sees the row in columns of its own; False: all see the same, for policies with a model for each arm (shared=False).

    Returns
    -------
    Classification

    Raises
    ------
    ValueError
        On bad data.
    """
    rows = checks.matrix("X", X.to_numpy() if hasattr(X, "to_numpy") else X)
    labels = checks.entries("y", y.to_numpy() if hasattr(y, "to_numpy") else y, "a list of labels")
    if labels.ndim != 1 or labels.size != rows.shape[0]:
        raise ValueError(f"y has shape {labels.shape}, but must have one label for each of the {rows.shape[0]} rows of X.")
    _, classes = np.unique(labels, return_inverse=True)
    if checks.flag("scale", scale):
        spread = rows.std(axis=0)
        rows = (rows - rows.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return Classification(rows, classes.astype(np.float64), intercept, expand)
