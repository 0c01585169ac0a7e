"""schemathesis: whatever the documentation allows, or forbids, there is no 5xx and no undocumented
status."""

import json
import subprocess
import sys

from running import PRICES, Process

CASES = 15  # of each operation; `python tests/service/test_schema.py 200` tries more


def fuzz(folder, cases: int, seed: int = 0) -> subprocess.CompletedProcess[str]:
    service = Process(folder / "a.db", folder)
    with service, service.client() as client:
        client.create(PRICES)
        client.create({"name": "candidates", "policy": "LinUCB", "dimension": 8})
        client.experiment = "price"
        client.decide(id="a")
        checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "schemathesis.cli",
                "run",
                f"{service.url}/openapi.json",
                "-H",
                f"Authorization: Bearer {service.key}",
                "--checks",
                checks,
                "--request-timeout",
                "60",
                "--max-examples",
                str(cases),
                "--seed",
                str(seed),
                "--generation-deterministic",
                "--no-color",
            ],
            capture_output=True,
            text=True,
            cwd=folder,
        )


def test_nothing_undocumented_is_answered(tmp_path):
    done = fuzz(tmp_path, CASES)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


if __name__ == "__main__":
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        found = fuzz(pathlib.Path(place), int(sys.argv[1]))
    print(found.stdout[-8000:], found.stderr[-2000:], json.dumps({"exit code": found.returncode}))
