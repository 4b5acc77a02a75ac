-- Building blocks for sampled code of CPU threads: samples, frames of call chains.

-- The file name of a module: /usr/lib/libc.so.6 is libc.so.6.
CREATE OR REPLACE MACRO module_file(module) AS regexp_extract(module, '[^/\\]*$');

-- A frame as people read it: its function, else its module in brackets. For a function without a symbol, nsys writes an
-- address instead, which differs between frames.
CREATE OR REPLACE MACRO frame_name(symbol, module, unresolved) AS CASE
    WHEN symbol <> '' AND NOT coalesce(unresolved, false) AND NOT regexp_full_match(symbol, '0x[0-9a-fA-F]+')
        THEN symbol
    WHEN module <> '' THEN '[' || trim(module_file(module), '[]') || ']'
    ELSE '[no symbol]'
END;

-- Rank of a frame for identifying the program: 2 for its own or a library's function, 1 for its main function, 0 for
-- little information: no symbol, nsys remarks, and code of every program: start-up, threads, the Python interpreter.
CREATE OR REPLACE MACRO frame_rank(name, module) AS CASE
    WHEN starts_with(name, '[') OR regexp_matches(module_file(coalesce(module, '')), '^(lib)?python\d|^ld-') THEN 0
    WHEN regexp_matches(name, '^(_start|__libc_start\w*|start_thread|_*clone3?|_?Py[A-Z_]\w*)(@|$)') THEN 0
    WHEN name = 'main' THEN 1
    ELSE 2
END;

-- Thread samples: of the CPU, each with the call chain of its number, and of Python.
CREATE OR REPLACE VIEW stack_sample AS
SELECT 'cpu' AS source, sample_id AS chain_id, sample_id AS taken, time_ns, global_tid FROM cpu_sample
UNION ALL
SELECT 'python', stack_id, row_number() OVER (ORDER BY time_ns, global_tid), time_ns, global_tid
FROM python_sample WHERE kind = 'sample';

-- Whether a Python file is not the program's own: an installed package, or Python itself.
CREATE OR REPLACE MACRO is_installed(path) AS
regexp_matches(path, '(site|dist)-packages|/lib(64)?/python\d|<frozen');
