"""Reward models that are fitted while a log is read: what they predict for a round was learned from earlier rounds only."""

import math
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..logs.log import Log, Rows
from .kernels import add_products, predict_by_arm, predict_shared

Model: TypeAlias = Literal["ridge"] | ArrayLike | None
GROWTH = 1.1  # factor by which the number of rows grows between two fits
LAM = 1.0  # ridge parameter, in units of one row
MOST_PRODUCTS = 10**8  # of numbers in one compiled loop
BINS = 1000  # of the predictions' logit, from which deciles are made
EDGE = 1e-6  # predictions closer to 0 or 1 than this share a bin


class Ridge:
    """Ridge regression of rewards, refitted after 1, 2, 3, .., about GROWTH^j rows.

    Without features: the mean of every arm, drawn towards that of all arms as if by LAM rows. With features of the round (n, d):
    one regression for every arm. With features of every arm (n, K, d), or (K, d) that never change: one regression for all arms.
    Each has an intercept, drawn towards the mean of all rewards; the other coefficients are drawn towards 0. Predictions are kept
    within the rewards learned so far, whatever range is declared, and are 0 before the first. O(d^2) a row, O(K d^3) a fit, O(K d) a
    prediction.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.fixed = log.arm_features
        self.shared = False
        self.rows, self.next_fit = 0, 1
        self.total = 0.0  # of the rewards
        self.least, self.most = math.inf, -math.inf  # of the rewards
        self.ready = False
        self.weights = np.zeros((3, BINS))  # rows, predictions, rewards by bin of the prediction

    def _start(self, rows: Rows) -> None:
        K = self.log.arms
        features = rows.features
        self.shared = self.fixed is not None or (features is not None and features.ndim == 3)
        if self.fixed is not None and features is None:
            d = self.fixed.shape[1]
        else:
            d = 0 if features is None else features.shape[-1]
        count = 1 if self.shared else K
        checks.fits_in_memory("arms", count, 8 * (d + 1) ** 2)
        self.grams, self.products = np.zeros((count, d + 1, d + 1)), np.zeros((count, d + 1))
        self.theta = np.zeros((count, d + 1))
        self.ready = True

    def score(self, rows: Rows, starts: np.ndarray, out: np.ndarray) -> int:
        """Fill out (m, K) with predictions for these rows, each from earlier rounds, and learn their rewards.

        starts: (m,) whether a row begins a round; a fit falls between two rounds. Returns the number of rows before which nothing was
        learned.
        """
        if not self.ready:
            self._start(rows)
        m, begin, unlearned = rows.arm.size, 0, 0
        q = self.grams.shape[1]
        piece = max(1, MOST_PRODUCTS // (q * (q + self.log.arms)))  # so that no compiled loop outlasts a Ctrl-C
        while begin < m:
            end = min(m, begin + max(self.next_fit - self.rows, 1), begin + piece)
            while end < m and not starts[end]:
                end += 1
            self.predict(rows, begin, end, out)
            unlearned = end if self.rows == 0 else unlearned
            self._note(out[np.arange(begin, end), rows.arm[begin:end]], rows.reward[begin:end])
            self._learn(rows, rows.reward, begin, end)
            begin = end
        return unlearned

    def predict(self, rows: Rows, begin: int, end: int, out: np.ndarray) -> None:
        m, low, high = rows.arm.size, self.least, self.most
        if self.rows == 0:
            out[begin:end] = 0.0
        elif self.shared:
            features = rows.features
            if features is None or features.ndim == 2:
                assert self.fixed is not None
                one = np.empty((1, self.log.arms))
                predict_shared(self.fixed[None], 0, 1, self.theta[0], low, high, one)
                out[begin:end] = one
            else:
                predict_shared(features, begin, end, self.theta[0], low, high, out)
        elif self.theta.shape[1] == 1:
            out[begin:end] = np.clip(self.theta[:, 0], low, high)
        else:
            predict_by_arm(_features_or_none(rows.features, m), begin, end, self.theta, low, high, out)

    def _learn(self, rows: Rows, reward: np.ndarray, begin: int, end: int) -> None:
        arm = rows.arm
        if self.shared:
            if rows.features is not None and rows.features.ndim == 3:
                shown = np.ascontiguousarray(rows.features[np.arange(begin, end), arm[begin:end]])
            else:
                assert self.fixed is not None
                shown = self.fixed[arm[begin:end]]
            add_products(np.zeros(end - begin, dtype=np.int64), reward[begin:end], shown, 0, end - begin, self.grams, self.products)
        else:
            add_products(arm, reward, _features_or_none(rows.features, arm.size), begin, end, self.grams, self.products)
        self.total += float(reward[begin:end].sum())
        self.least, self.most = min(self.least, float(reward[begin:end].min())), max(self.most, float(reward[begin:end].max()))
        self.rows += end - begin
        if self.rows >= self.next_fit:
            self.fit(self.grams, self.products)
            self.next_fit = max(self.rows + 1, math.ceil(self.rows * GROWTH))

    def fit(self, grams: np.ndarray, products: np.ndarray) -> None:
        """The coefficients from the sums; only the lower triangles of the grams are read."""
        mean = self.total / self.rows
        d = grams.shape[1]
        whole = np.tril(grams) + np.transpose(np.tril(grams, -1), (0, 2, 1))
        rest = products - mean * whole[:, :, 0]
        self.theta = np.ascontiguousarray(np.linalg.solve(whole + LAM * np.eye(d), rest[:, :, None])[:, :, 0])
        self.theta[:, 0] += mean

    def _note(self, predicted: np.ndarray, reward: np.ndarray) -> None:
        low, high = self.log.rewards
        inside = np.clip((predicted - low) / (high - low), EDGE, 1.0 - EDGE)
        span = math.log((1.0 - EDGE) / EDGE)
        place = np.minimum(((np.log(inside / (1.0 - inside)) + span) * (BINS / (2.0 * span))).astype(np.int64), BINS - 1)
        for row, weights in enumerate((None, predicted, reward)):
            self.weights[row] += np.bincount(place, weights=weights, minlength=BINS)

    def calibration(self) -> np.ndarray:
        """(c, 3) rows, mean prediction and mean reward by tenths of the played arms' predictions, the lowest first; c <= 10."""
        return deciles(self.weights)


def deciles(weights: np.ndarray) -> np.ndarray:
    """(c, 3) rows, mean prediction, mean reward: bins joined to about tenths of the rows. weights: (3, bins)."""
    count = weights[0].sum()
    if count == 0.0:
        return np.zeros((0, 3))
    middle = np.cumsum(weights[0]) - weights[0] / 2.0
    tenth = np.minimum((10.0 * middle / count).astype(np.int64), 9)
    joined = np.stack([np.bincount(tenth, weights=row, minlength=10) for row in weights])
    joined = joined[:, joined[0] > 0.0]
    return np.stack([joined[0], joined[1] / joined[0], joined[2] / joined[0]], axis=1)


def _features_or_none(features: np.ndarray | None, m: int) -> np.ndarray:
    return np.zeros((m, 0)) if features is None else features
