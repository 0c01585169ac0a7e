"""Run folders when saves are cut short, runs are extended, and several drivers write at once."""

import os
import time

import numpy as np
import pytest

import tightrope as tr
from tightrope import results
from tightrope.simulation import store, store as provenance

PROBLEM = tr.problems.Bernoulli([0.2, 0.8])
LINEAR = tr.problems.Linear(np.eye(2), [0.9, 0.0], noise=0.2)


def simulated(replications, out=None, policies=None, **options):
    return tr.simulate(
        PROBLEM,
        policies or {"UCB": tr.UCB()},
        **{"horizon": 40, "replications": replications, "out": out} | options,
    )


def identified(replications, out=None):
    return tr.identify(
        LINEAR, {"LinGapE": tr.LinGapE(noise=0.2)}, replications=replications, out=out
    )


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def killed_before(name, monkeypatch, call):
    """Run a call that ends when a file of that name would appear."""

    class Killed(BaseException):
        pass

    replace = os.replace

    def until(source, target, **options):
        if os.path.basename(target) == name:
            raise Killed
        return replace(source, target, **options)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(os, "replace", until)
        call()


@pytest.mark.parametrize(
    ("make", "names"),
    [(simulated, ["pulls.parquet", "result.json"]), (identified, ["pulls.parquet", "result.json"])],
)
def test_a_save_that_was_killed_is_never_read_as_the_earlier_result(
    make, names, tmp_path, monkeypatch
):
    whole = make(20).frame()
    for name in names:
        out = tmp_path / name
        make(10, out)
        killed_before(name, monkeypatch, lambda out=out: make(20, out))
        with pytest.raises(
            FileNotFoundError,
            match=r"has not finished; run the same call again, which goes on from its chunks\.$",
        ):
            tr.load(out)
        make(20, out)
        assert tr.load(out).frame().equals(whole)
        make(10, out)  # and what was there before is found again too
        assert tr.load(out).replications == 10


def test_a_killed_save_of_another_result_says_so_and_one_of_the_same_does_no_harm(
    tmp_path, monkeypatch
):
    result = simulated(10)
    result.save(tmp_path)
    killed_before("result.json", monkeypatch, lambda: result.save(tmp_path))
    assert tr.load(tmp_path).frame().equals(result.frame())
    killed_before("regret.parquet", monkeypatch, lambda: simulated(20).save(tmp_path))
    with pytest.raises(
        FileNotFoundError,
        match=r"holds no result\.json; .* or save it again where that was cut short\.$",
    ):
        tr.load(tmp_path)


@pytest.mark.parametrize(
    ("make", "names"), [(simulated, ["regret", "pulls"]), (identified, ["answers", "pulls"])]
)
def test_a_table_of_another_result_is_named(make, names, tmp_path):
    for count in (10, 20):
        make(count).save(tmp_path / str(count))
    assert tr.load(tmp_path / "10").frame().equals(make(10).frame())
    for name in names:
        path = tmp_path / "10" / f"{name}.parquet"
        own = path.read_bytes()
        path.write_bytes((tmp_path / "20" / path.name).read_bytes())
        with pytest.raises(
            ValueError, match=rf"{name}\.parquet is not the file .* run the same call again"
        ) as caught:
            tr.load(tmp_path / "10")
        assert "\n" not in str(caught.value)
        path.write_bytes(own)
    tr.load(tmp_path / "10")


def test_every_altered_table_is_found(tmp_path):
    simulated(3, monitor=tr.Budget(baseline=0)).save(tmp_path)
    for name in ("regret.parquet", "pulls.parquet", "watched.safetensors"):
        whole = (tmp_path / name).read_bytes()
        for changed in (whole[:-1] + bytes([whole[-1] ^ 1]), None):
            (tmp_path / name).unlink() if changed is None else (tmp_path / name).write_bytes(
                changed
            )
            with pytest.raises(ValueError, match=name):
                tr.load(tmp_path)
        (tmp_path / name).write_bytes(whole)
    assert tr.load(tmp_path).watched["UCB"]["budget"].shape[0] == 3


def test_a_result_of_another_kind_saved_over_one_leaves_nothing_of_it(tmp_path):
    identified(2).save(tmp_path)
    simulated(2).save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "regret.parquet",
        "pulls.parquet",
        "result.json",
    }


def test_a_finished_run_stays_finished_while_it_is_repeated(tmp_path, monkeypatch):
    simulated(5, tmp_path)
    before = contents(tmp_path)

    def removed(folder):
        raise AssertionError("result.json was removed")

    monkeypatch.setattr(results, "remove_header", removed)
    simulated(5, tmp_path)
    assert contents(tmp_path) == before
    with pytest.raises(
        AssertionError, match="was removed"
    ):  # or nothing above would have shown that it was not
        simulated(6, tmp_path)


def test_a_run_that_is_extended_is_not_finished(tmp_path):
    simulated(3, tmp_path)
    begun = []

    def look(done, total):
        if not begun and done > 3 * 40:  # the chunks that were there, and one more
            begun.append((tmp_path / results.HEADER).exists())
            raise KeyboardInterrupt

    with pytest.raises(tr.Interrupted):
        simulated(6, tmp_path, progress=look, workers=1)
    assert begun == [False]
    assert len(list((tmp_path / "chunks").iterdir())) >= 3
    with pytest.raises(FileNotFoundError, match="run the same call again"):
        tr.load(tmp_path)
    simulated(6, tmp_path)
    assert tr.load(tmp_path).regret["UCB"].shape[0] == 6


def during(monkeypatch, module, name, other):
    """Run `other` in the middle of the next call, where a driver has looked at the folder and not
    written yet."""
    function, calls = getattr(module, name), []

    def slow(*words):
        found = function(*words)
        if not calls:
            calls.append(name)
            other()
        return found

    monkeypatch.setattr(module, name, slow)
    return calls


def test_of_two_experiments_that_begin_at_once_one_is_refused(tmp_path, monkeypatch):
    calls = during(monkeypatch, provenance, "machine", lambda: simulated(2, tmp_path, seed=1))
    with pytest.raises(ValueError, match="holds a run with other seed"):
        simulated(2, tmp_path, seed=2)
    assert calls
    assert tr.load(tmp_path).settings["seed"] == 1
    assert len(list((tmp_path / "chunks").iterdir())) == 2


@pytest.mark.parametrize("empty", [True, False])
def test_no_driver_forgets_what_another_plays(empty, tmp_path, monkeypatch):
    if not empty:
        simulated(2, tmp_path, {"first": tr.UCB(alpha=3.0)})
    place = (provenance, "machine") if empty else (store, "read_plan")
    calls = during(
        monkeypatch, *place, lambda: simulated(3, tmp_path, {"theirs": tr.UCB(alpha=1.0)})
    )
    simulated(2, tmp_path, {"mine": tr.UCB(alpha=2.0)})
    assert calls
    played = {"mine": 2, "theirs": 3} | ({} if empty else {"first": 2})
    assert len(list((tmp_path / "chunks").iterdir())) == sum(played.values())
    for name in played:
        with pytest.raises(ValueError, match="other policies"):
            simulated(2, tmp_path, {name: tr.UCB(alpha=9.0)})


def test_of_two_policies_of_one_name_that_begin_at_once_one_is_refused(tmp_path, monkeypatch):
    simulated(2, tmp_path, {"first": tr.UCB(alpha=3.0)})
    calls = during(
        monkeypatch,
        store,
        "_stored_contents",
        lambda: simulated(2, tmp_path, {"it": tr.UCB(alpha=1.0)}),
    )
    with pytest.raises(ValueError, match="other policies"):
        simulated(2, tmp_path, {"it": tr.UCB(alpha=9.0)})
    assert calls


def test_a_refused_call_leaves_nothing_behind(tmp_path):
    simulated(2, tmp_path, {"a": tr.UCB(alpha=1.0)})
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="other policies"):
        simulated(2, tmp_path, {"b": tr.UCB(alpha=2.0), "a": tr.UCB(alpha=9.0)})
    assert contents(tmp_path) == before


def test_folders_work_where_files_cannot_be_linked(tmp_path, monkeypatch):
    def link(*words, **options):
        raise PermissionError("no hard links here")

    monkeypatch.setattr(os, "link", link)
    simulated(2, tmp_path)
    assert simulated(3, tmp_path).replications == 3
    with pytest.raises(ValueError, match="other seed"):
        simulated(2, tmp_path, seed=5)


def test_what_killed_writers_left_is_removed(tmp_path):
    """A day later: until then another driver may be writing them."""
    simulated(2, tmp_path)
    chunks = contents(tmp_path / "chunks")
    old, fresh = (
        tmp_path / "chunks" / f".{'ab' * 16}.parquet.{ending}"
        for ending in ("k1ll_ed0", "wr1t1ng_")
    )
    unfinished = tmp_path / ".result.json.k1ll_ed2"
    for path, hours in ((old, 25), (fresh, 23), (unfinished, 25)):
        path.write_bytes(b"PAR1")
        os.utime(path, (time.time() - 3600 * hours,) * 2)
    for path in tmp_path.glob("chunks/[!.]*"):
        os.utime(path, (0, 0))
    simulated(2, tmp_path)
    assert contents(tmp_path / "chunks") == chunks | {fresh.name: b"PAR1"}
    assert not unfinished.exists()


def test_many_arms_are_saved_a_part_at_a_time(tmp_path, monkeypatch):
    """Pulls are whole numbers; saving them took five times their size."""
    import tracemalloc

    from tightrope import results as folder

    result = tr.simulate(
        tr.problems.Bernoulli(np.linspace(0.1, 0.9, 20_000)),
        {"a": tr.UCB(), "b": tr.BetaThompson()},
        horizon=5,
        replications=25,
    )
    assert result.pulls["a"].dtype == np.int64
    monkeypatch.setattr(folder, "GROUP", 2**17)
    size = sum(pulls.nbytes for pulls in result.pulls.values())
    tracemalloc.start()
    result.save(tmp_path / "many")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.5 * size
    again = tr.load(tmp_path / "many")
    for name in ("a", "b"):
        np.testing.assert_array_equal(again.pulls[name], result.pulls[name])
        assert again.pulls[name].dtype == np.int64
        np.testing.assert_array_equal(again.regret[name], result.regret[name])
