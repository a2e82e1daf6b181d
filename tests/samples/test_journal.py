"""The journal of answers: not asked again, torn tails cut off, altered or foreign files refused."""

import numpy as np
import pytest
from tests.samples.test_oracle import rows, total

import weightlift as wl
from weightlift.errors import FileFormatError
from weightlift.samples.oracle import Oracle


def test_answers_are_not_asked_again(tmp_path):
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
def test_a_torn_tail_is_cut_off(tmp_path, cut):
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


def test_altered_answers_are_not_believed(tmp_path):
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


def test_another_file_or_shape_is_refused(tmp_path):
    path = tmp_path / "answers"
    path.write_text("something else\n")
    with pytest.raises(FileFormatError, match="not one of this release"):
        Oracle(total, 3, journal=path)
    Oracle(total, 4, journal=tmp_path / "four").close()
    with pytest.raises(FileFormatError, match="4 inputs"):
        Oracle(total, 3, journal=tmp_path / "four")


def test_two_runs_do_not_share_it(tmp_path):
    pytest.importorskip("fcntl")
    first = Oracle(total, 3, journal=tmp_path / "answers")
    with pytest.raises(FileFormatError, match="in use"):
        Oracle(total, 3, journal=tmp_path / "answers")
    first.close()


def test_an_interrupted_extraction_goes_on(tmp_path):
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
