"""Black boxes: counted, batched, retried, journalled, and never asked more than allowed."""

import time

import numpy as np
import pytest

import weightlift as wl
from weightlift.errors import BudgetError, FileFormatError, OracleError
from weightlift.samples import oracle as module
from weightlift.samples.oracle import Oracle


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(module, "LIMITS", module.Limits(first_pause=1e-3, longest_pause=2e-3))


def rows(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3))


def total(X):
    return X.sum(axis=1)


def test_rows_are_counted_batched_and_kept():
    sizes = []

    def f(X):
        sizes.append(len(X))
        return total(X)

    oracle = Oracle(f, 3, batch_size=4)
    Y = oracle.ask(rows(10))
    assert sizes == [4, 4, 2]
    assert (oracle.queries, oracle.calls) == (10, 3)
    assert (oracle.rows[1] == Y).all()
    samples = oracle.draw(5, rng=np.random.default_rng(1))
    assert samples.n == 5


def test_budget_is_refused_before_it_is_exceeded():
    oracle = Oracle(total, 3, budget=10)
    oracle.ask(rows(8))
    with pytest.raises(BudgetError, match="leaves 2 of 10"):
        oracle.ask(rows(3))
    assert oracle.queries == 8
    oracle.ask(rows(2))


def test_failures_are_retried_and_then_explained():
    tries = []

    def flaky(X):
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("no route")
        return total(X)

    assert Oracle(flaky, 3).ask(rows(2)).shape == (2, 1)
    tries.clear()
    with pytest.raises(OracleError, match="no route"):
        Oracle(flaky, 3, retries=1).ask(rows(2))
    assert len(tries) == 2


def test_a_changing_number_of_outputs_is_refused():
    answers = iter([np.zeros((2, 3)), np.zeros((2, 4))])
    oracle = Oracle(lambda X: next(answers), 3)
    oracle.ask(rows(2))
    with pytest.raises(OracleError, match="3 before"):
        oracle.ask(rows(2))


def test_an_oracle_that_hangs_is_left():
    began = time.monotonic()
    with pytest.raises(OracleError, match="max_time"):
        Oracle(lambda X: time.sleep(5), 3, max_time=0.2).ask(rows(1))
    assert time.monotonic() - began < 2


class TestJournal:
    def test_answers_are_not_asked_again(self, tmp_path):
        path, asked = tmp_path / "answers", []

        def f(X):
            asked.append(len(X))
            return np.column_stack([total(X), X[:, 0]])

        first = Oracle(f, 3, journal=path)
        Y = first.ask(rows(7))
        first.close()
        second = Oracle(f, 3, journal=path)
        assert (second.ask(rows(7)) == Y).all()
        assert (second.queries, second.replayed, sum(asked)) == (7, 7, 7)
        second.ask(rows(2, seed=9))
        second.close()
        assert sum(asked) == 9

    @pytest.mark.parametrize("cut", [1, 20, 40, 100])
    def test_a_torn_tail_is_cut_off(self, tmp_path, cut):
        path = tmp_path / "answers"
        oracle = Oracle(total, 3, journal=path, batch_size=5)
        Y = oracle.ask(rows(10))
        oracle.close()
        content = path.read_bytes()
        path.write_bytes(content[:-cut])
        again = Oracle(total, 3, journal=path, batch_size=5)
        assert (again.ask(rows(10)) == Y).all()
        assert again.replayed == 5
        again.close()
        assert path.read_bytes() == content

    def test_altered_answers_are_not_believed(self, tmp_path):
        path = tmp_path / "answers"
        oracle = Oracle(total, 3, journal=path)
        oracle.ask(rows(4))
        oracle.close()
        content = bytearray(path.read_bytes())
        content[-3] ^= 1
        path.write_bytes(content)
        again = Oracle(total, 3, journal=path)
        again.ask(rows(4))
        again.close()
        assert again.replayed == 0

    def test_another_file_or_shape_is_refused(self, tmp_path):
        path = tmp_path / "answers"
        path.write_text("something else\n")
        with pytest.raises(FileFormatError, match="not one of this release"):
            Oracle(total, 3, journal=path)
        Oracle(total, 4, journal=tmp_path / "four").close()
        with pytest.raises(FileFormatError, match="4 inputs"):
            Oracle(total, 3, journal=tmp_path / "four")

    def test_two_runs_do_not_share_it(self, tmp_path):
        pytest.importorskip("fcntl")
        first = Oracle(total, 3, journal=tmp_path / "answers")
        with pytest.raises(FileFormatError, match="in use"):
            Oracle(total, 3, journal=tmp_path / "answers")
        first.close()

    def test_an_interrupted_extraction_goes_on(self, tmp_path):
        truth = wl.teachers.biased(6, 3, rng=0)
        left = [60]

        def dies(X):
            left[0] -= len(X)
            if left[0] < 0:
                raise KeyboardInterrupt
            return truth.predict(X)

        with pytest.raises(KeyboardInterrupt):
            wl.extract(dies, 6, journal=tmp_path / "answers", batch_size=8)
        asked = []

        def counts(X):
            asked.append(len(X))
            return truth.predict(X)

        found = wl.extract(counts, 6, journal=tmp_path / "answers", batch_size=8)
        assert found.certificate.status is wl.Status.EXACT
        assert found.replayed + sum(asked) == found.queries
        assert found.replayed >= 48
