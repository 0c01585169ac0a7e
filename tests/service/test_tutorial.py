"""The commands of the tutorial, as they stand there, against a running service."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

from running import Process

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "tutorials" / "safe-price-test.md"
CALLS = PAGE.parents[1] / "service" / "call.md"
ANSWER = re.compile(r"```json\n(.*?)```", flags=re.DOTALL)
SERVICE = CALLS.with_name("features.md")


MOST_SILENT = 5.0  # seconds that a command may say nothing


def lines_with_silences(stream):
    """Lines as they come, each with the seconds that it was waited for, or would have been on a
    machine with nothing else to do."""
    at = time.monotonic()
    for line in stream:
        seconds = time.monotonic() - at
        yield line, seconds if seconds < MOST_SILENT else seconds / max(1.0, slowness())
        at = time.monotonic()


def slowness():
    """How many seconds of the clock a second of this process's work takes beside all else that runs
    here."""
    clock, work = time.monotonic(), time.process_time()
    while time.process_time() - work < 0.5:
        pass
    return (time.monotonic() - clock) / 0.5


def test_every_command_of_the_tutorial_works_and_none_is_silent_for_long(tmp_path):
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert blocks[0].splitlines()[-1] == "tightrope serve" and blocks[1].startswith(
        "export TIGHTROPE_KEY="
    )
    silences, said, command = [], [], "tightrope serve"
    with Process(tmp_path / "tightrope.db", tmp_path) as process:
        for line, seconds in lines_with_silences(process.process.stdout):
            silences.append((seconds, command))
            if line.startswith("Ready"):
                break
        # where the shell's trace shows the next command, the one before it is at its end
        script = (
            "tightrope() { "
            + f'"{sys.executable}" -m tightrope "$@"; '
            + "}\nset -eux\n"
            + "".join(blocks[2:])
        )
        script = script.replace("http://127.0.0.1:8080", process.url).replace(
            "--decisions 9000", "--decisions 600"
        )
        script = script.replace("--decisions 2000", "--decisions 400")
        environment = os.environ | {
            "TIGHTROPE_KEY": process.key,
            "PS4": "+ ",
            "PYTHONUNBUFFERED": "1",
        }
        typed = subprocess.Popen(
            ["bash", "-c", f"exec 2>&1\n{script}\n: end"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        with typed:
            for line, seconds in lines_with_silences(typed.stdout):
                silences.append((seconds, command))
                said.append(line)
                command = line if line.startswith("+ ") else command
    text = "".join(said)
    assert typed.returncode == 0, text[-4000:]
    assert "true budget of sales 0.00 at its lowest: kept in every round" in text
    assert "the promise was kept in every round" in text and "signed by this service" in text
    assert '"mode":"capped","share":0.2' in text and "WRONG" not in text
    seconds, command = max(silences)
    assert seconds < MOST_SILENT, f"silent for {seconds:.1f} s: {command}"
    print(f"the longest silence is {seconds:.1f} s: {command}")


def test_values_by_name_are_sent_as_the_page_on_the_service_says(tmp_path):
    code, _ = re.findall(r"```python\n(.*?)```", SERVICE.read_text(), flags=re.DOTALL)
    with Process(tmp_path / "banner.db", tmp_path) as process:
        script = (
            code.replace("http://127.0.0.1:8080", process.url)
            + "print(client.describe(), decision.arm)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env=os.environ | {"TIGHTROPE_KEY": process.key},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (
        "'decisions': 2, 'rewards': 1, 'open': 1" in done.stdout
        and "'mean': 49.0, 'deviation': 31.0" in done.stdout
    )


def test_every_way_to_call_the_service_works_as_its_page_says(tmp_path):
    blocks = re.findall(r"```(sh|python)\n(.*?)```", CALLS.read_text(), flags=re.DOTALL)
    assert [kind for kind, _ in blocks] == ["sh", "sh", "python", "sh"]
    said = []
    with Process(tmp_path / "shop.db", tmp_path) as process:
        assert any(
            line.startswith("Ready") for line in process.process.stdout
        )  # reads until it comes
        for kind, code in blocks:
            command = ["bash", "-euc"] if kind == "sh" else [sys.executable, "-c"]
            done = subprocess.run(
                [*command, code.replace("http://127.0.0.1:8080", process.url)],
                cwd=tmp_path,
                env=os.environ | {"TIGHTROPE_KEY": process.key},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            said.append(done.stdout)
        with process.client("banner") as client:
            assert [event["kind"] for event in client.log()] == [
                "created",
                *["decided", "rewarded"] * 3,
            ]
    assert set(json.loads(said[1].splitlines()[0].partition("}")[0] + "}")) == set(
        json.loads(ANSWER.search(CALLS.read_text())[1])
    )
    assert said[2].split()[-1] == "2"
    flag, _ = json.JSONDecoder().raw_decode(said[3])
    shown = json.loads(ANSWER.findall(CALLS.read_text())[1])
    assert flag.keys() == shown.keys() and flag["metadata"].keys() == shown["metadata"].keys()
