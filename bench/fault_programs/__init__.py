"""Programs with one fault each, and the smallest change that removes it, to judge conclusions with.

They differ from those of ``workloads.faults``, which set thresholds, in model, framework, sizes and names of ranges.
``python -m bench.fault_programs NAME [--mended]`` runs one, ``python -m bench.fault_programs.capture FOLDER`` captures
all halves for ``python -m bench.conclusions FOLDER``. NAME is PROGRAM.FAULT, a fault of ``bench.faults``.

A module per group: images, language, arrays (CuPy, Numba, JAX), host and ranks.
"""
