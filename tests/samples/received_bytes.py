"""Fits a network on a cluster whose address is given; prints the bytes that this process received, and those of the rows."""

import sys

import dask.array as da
import numpy as np
from distributed import Client
from tornado.iostream import IOStream

import weightlift as wl
from weightlift.initialization import tensor_init
from weightlift.refinement import gauss_newton

received = 0


def counted(read, size):
    def wrapper(self, what, *arguments, **options):
        global received
        received += size(what)
        return read(self, what, *arguments, **options)

    return wrapper


IOStream.read_bytes = counted(IOStream.read_bytes, int)
IOStream.read_into = counted(IOStream.read_into, len)

if __name__ == "__main__":
    n, d, k, chunks = 200_000, 16, 2, 8
    truth = wl.teachers.conditioned(d, k, activation="relu", rng=0)
    with Client(sys.argv[1]) as client:
        X = da.random.default_rng(1).standard_normal((n, d), chunks=(n // chunks, d))
        y = wl.samples.dask.predict(truth, X)
        source = wl.samples.open(X, y)
        start = tensor_init(source, k, "relu").network
        fit = gauss_newton(source, start, free="Wa", iterations=20)
        assert wl.match(fit.network, truth).max_error < 1e-9
        assert np.isfinite(fit.risks).all()
    print(received, 8 * n * (d + 1))
