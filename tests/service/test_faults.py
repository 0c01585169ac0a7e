"""Some of the 10,000 faults that `python benchmarks/service_faults.py` inflicts, and that the
harness would notice."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from faults import KINDS, Broken, Driver

ROOT = __file__.rsplit("/tests/", 1)[0]


def test_two_hundred_faults():
    done = subprocess.run(
        [sys.executable, "benchmarks/service_faults.py", "--faults", "200", "--seed", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(kind in done.stdout for kind in KINDS)


def test_the_harness_notices_what_is_lost_or_there_twice(tmp_path, monkeypatch):
    driver = Driver(tmp_path, 0)
    driver.note("a", "decided", {"name": "low"})
    with pytest.raises(Broken, match="twice"):
        driver.note("a", "decided", {"name": "low"})
    driver.note("a", "rewarded", {"value": 1.0})
    with pytest.raises(Broken, match="rewarded twice"):
        driver.note("a", "rewarded", {"value": 1.0})
    driver.acknowledged["b"] = "low"
    driver.ask = lambda method, path: (200, {"seq": 0, "fingerprint": ""})
    driver.catch_up = lambda until: None
    monkeypatch.setattr("faults.fingerprint", lambda journal: b"")
    with pytest.raises(Broken, match="b was acknowledged"):
        driver.settled()
    monkeypatch.setattr("faults.fingerprint", lambda journal: b"other")
    with pytest.raises(Broken, match="not that of a replay"):
        driver.settled()
    driver.acknowledged.clear()
    monkeypatch.setattr("faults.fingerprint", lambda journal: b"")
    driver.twin.experiment = SimpleNamespace(
        masked=set(), arms=lambda: [{"id": "arm-5", "status": "active"}]
    )
    driver.retired.add("arm-5")
    with pytest.raises(Broken, match="arm-5 was retired, but the log says active"):
        driver.settled()
    driver.retired.clear()
    driver.live.append("arm-6")
    with pytest.raises(Broken, match="arm-6 was added"):
        driver.settled()
    driver.live.clear()
    driver.erased.add("person 1.")
    with open(driver.db, "ab") as file:
        file.write(b"person 12.")
    driver.settled()
    driver.erased.add("person 1.")
    with open(f"{driver.db}-wal", "ab") as file:
        file.write(b"person 1.,")
    with pytest.raises(Broken, match=r"the data of person 1\. was erased"):
        driver.settled()
    with pytest.raises(Broken, match=r"had its answer after 2\.1 s"):
        driver.timed(driver.decision(), 2.1)
