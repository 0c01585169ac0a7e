"""Results made by hand, so that what a page must say of them is known."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

from tightrope.results import Identification, Result

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ROUNDS = np.array([1, 10, 100, 1000])
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=5000",
    "--window-size=1400,3000",
]


def simulation(
    final: dict[str, np.ndarray], arms: int = 3, of_a_set: int = 1, **settings: object
) -> Result:
    """Regret that rises to what is given at the end; pulls spread over the arms, of_a_set of them a
    round."""
    regret = {
        name: np.asarray(values, dtype=float)[:, None] * np.log1p(ROUNDS) / np.log1p(ROUNDS[-1])
        for name, values in final.items()
    }
    pulls = {
        name: np.full((len(values), arms), of_a_set * ROUNDS[-1] / arms)
        for name, values in final.items()
    }
    return Result(ROUNDS, regret, pulls, settings={"horizon": 1000, "seed": 0} | settings)


def identification(rounds: dict[str, np.ndarray], right: bool = True) -> Identification:
    """Runs of these lengths."""
    n = {name: len(values) for name, values in rounds.items()}
    return Identification(
        arm={name: np.zeros(n[name], dtype=int) for name in rounds},
        rounds={k: np.asarray(v, dtype=float) for k, v in rounds.items()},
        pulls={
            name: np.stack([np.asarray(values) / 4] * 4, axis=1) for name, values in rounds.items()
        },
        correct={name: np.full(n[name], right) for name in rounds},
        stopped={name: np.full(n[name], True) for name in rounds},
        gap_bound={name: np.full(n[name], 0.1) for name in rounds},
        error={name: np.zeros(n[name]) for name in rounds},
    )


def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        assert not os.environ.get("CI"), "CI must have a browser; see tests/install_browser.sh"
        pytest.skip("no Chromium on this machine")
    return found


def measured_in_a_browser(
    page: pathlib.Path, width: int, code: str, tmp: pathlib.Path, *flags: str
) -> dict[str, object]:
    """What JavaScript says of a page in a frame of this width: `code` is an object of expressions
    of the document d."""
    # A frame, because a headless window cannot be narrower than 500 pixels.
    probe = tmp / "probe.html"
    probe.write_text(
        f"<body "
        f'style="margin:0"><iframe id="f" '
        f'src="file://{page}" '
        f'style="border:0;width:{width}px;height:3000px"></iframe>'
        '<pre id="o"></pre><script>document.getElementById("f").onload = () => {'
        "const d = "
        'document.getElementById("f").contentDocument; const '
        "box = e => "
        "e.getBoundingClientRect();"
        f'document.getElementById("o").textContent = "RESULT" + '
        f"JSON.stringify({code}) "
        f'+ "END"; '
        f"}};</script>"
    )
    words = [
        browser(),
        *FLAGS,
        *flags,
        f"--user-data-dir={tmp / 'profile'}",
        "--dump-dom",
        f"file://{probe}",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    found: dict[str, object] = json.loads(
        done.stdout.split("RESULT")[1].split("END")[0].replace("&gt;", ">").replace("&amp;", "&")
    )
    return found
