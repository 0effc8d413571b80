"""Cases of the micro-benchmarks that tests choose from."""

from cmlib_workloads.micro import cases

SIZES = {"L2": [65536, 131072], "L3": [524288, 1048576], "M": [2097152, 4194304]}
ALL_CASES = [*cases(SIZES, trained=True), *cases(SIZES, trained=False)]
