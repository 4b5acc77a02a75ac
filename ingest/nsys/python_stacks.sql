-- Fill the tables of Python stacks from what python_stacks.py has decoded (catalog "src" is the export).

INSERT INTO python_sample BY NAME
SELECT kind, start AS time_ns, "globalTid" AS global_tid, state AS thread_state, stack_id
FROM python_event JOIN src.NVTX_EVENTS USING (row_id);

INSERT INTO python_frame BY NAME
SELECT stack_id, depth, cut(from_html(f.value), 4096) AS "function", cut(from_html(p.value), 4096) AS file, line
FROM python_place
LEFT JOIN src.StringIds AS f ON f.id = python_place."function" LEFT JOIN src.StringIds AS p ON p.id = python_place.file;
