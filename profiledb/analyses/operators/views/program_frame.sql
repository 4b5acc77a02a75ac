-- Program functions among the Python functions.

-- Whether a Python function belongs to the program: not to PyTorch, a kernel compiler or Python's library.
CREATE OR REPLACE MACRO is_program_frame(name) AS regexp_matches(name, '\.py\(\d+\)') AND NOT regexp_matches(
    name, '^\s*(torch/|triton/|(contextlib|functools|threading|runpy|queue|inspect|copy|typing|enum|weakref)\.py'
    || '|(importlib|asyncio|concurrent|multiprocessing|collections|logging)/)|^\s*<|(site|dist)-packages/torch/'
    || '|/lib/python3'
);
