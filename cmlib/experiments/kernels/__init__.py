"""Read the recordings of kernels: small programs in a good and a bad form.

Kernels replace the programs of Table 2 in the AutoPerf paper. `programs` lists them, and `recordings` reads what
``cmlib record-kernels`` recorded.
"""
