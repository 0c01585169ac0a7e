"""The commands of the tutorial, as they stand there, against a running service."""

import os
import pathlib
import re
import subprocess
import sys

from running import Process

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "tutorials" / "safe-price-test.md"


def test_every_command_of_the_tutorial_works(tmp_path):
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert blocks[0].splitlines()[-1] == "tightrope serve --db shop.db" and blocks[1].startswith("export TIGHTROPE_KEY=")
    with Process(tmp_path / "shop.db", tmp_path) as process:
        script = "set -eu\ntightrope() { " + f'"{sys.executable}" -m tightrope "$@"; ' + "}\n" + "".join(blocks[2:])
        script = script.replace("http://127.0.0.1:8080", process.url).replace("--decisions 9000", "--decisions 600")
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=os.environ | {"TIGHTROPE_KEY": process.key}, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "the promise was kept in every round" in done.stdout and "signed by this service" in done.stdout
    assert '"mode":"capped","share":0.2' in done.stdout and "WRONG" not in done.stdout
