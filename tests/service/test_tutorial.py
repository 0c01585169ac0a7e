"""The commands of the tutorial, as they stand there, against a running service."""

import json
import os
import pathlib
import re
import subprocess
import sys

from running import Process

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "tutorials" / "safe-price-test.md"
CALLS = PAGE.parents[1] / "how-to" / "call-the-service.md"
ANSWER = re.compile(r"```json\n(.*?)```", flags=re.DOTALL)
SERVICE = PAGE.parents[1] / "how-to" / "service-features.md"


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


def test_values_by_name_are_sent_as_the_page_on_the_service_says(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", SERVICE.read_text(), flags=re.DOTALL)
    with Process(tmp_path / "banner.db", tmp_path) as process:
        script = code.replace("http://127.0.0.1:8080", process.url) + "print(client.describe(), decision.arm)\n"
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=os.environ | {"TIGHTROPE_KEY": process.key}, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "'decisions': 2, 'rewards': 1, 'open': 1" in done.stdout and "'mean': 49.0, 'deviation': 31.0" in done.stdout


def test_every_way_to_call_the_service_works_as_its_page_says(tmp_path):
    blocks = re.findall(r"```(sh|python)\n(.*?)```", CALLS.read_text(), flags=re.DOTALL)
    assert [kind for kind, _ in blocks] == ["sh", "sh", "python", "python"]
    said = []
    with Process(tmp_path / "shop.db", tmp_path) as process:
        for kind, code in blocks:
            command = ["bash", "-euc"] if kind == "sh" else [sys.executable, "-c"]
            done = subprocess.run(
                [*command, code.replace("http://127.0.0.1:8080", process.url)], cwd=tmp_path, env=os.environ | {"TIGHTROPE_KEY": process.key},
                capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            said.append(done.stdout)
        with process.client("banner") as client:
            assert [event["kind"] for event in client.log()] == ["created", *["decided", "rewarded"] * 3]
    assert set(json.loads(said[1].splitlines()[0].partition("}")[0] + "}")) == set(json.loads(ANSWER.search(CALLS.read_text())[1]))
    assert said[2].split()[-1] == "2" and said[3].strip() in ("sale", "news")
