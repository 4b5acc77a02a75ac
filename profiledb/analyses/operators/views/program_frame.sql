-- Functions of the program among those of Python.

-- Whether a Python function is of the program: none of PyTorch, of a compiler of kernels or of Python's library.
CREATE OR REPLACE MACRO is_program_frame(name) AS regexp_matches(name, '\.py\(\d+\)') AND NOT regexp_matches(
    name, '^\s*(torch/|triton/|(contextlib|functools|threading|runpy|queue|inspect|copy|typing|enum|weakref)\.py'
    || '|(importlib|asyncio|concurrent|multiprocessing|collections|logging)/)|^\s*<|(site|dist)-packages/torch/'
    || '|/lib/python3'
);
