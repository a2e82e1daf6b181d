"""Numbers beside peers and rooflines, as ratios in one run; not part of the wheel. `python -m benchmarks --help` lists them."""
