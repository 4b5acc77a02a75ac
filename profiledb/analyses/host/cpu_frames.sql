-- title: Call chains of CPU samples
-- Every function of every CPU sample, outermost first, for other programs: `warpdeck export_speedscope` writes them as
-- a profile. Samples without a call chain have one row. See `cpu_functions`.
-- page: host
-- needs: cpu_sample or python_sample
-- includes: selection, host
-- selects: part
-- param: source = cpu (cpu, python) samples of the CPU, or of the threads' Python stacks
-- param: moments = all (all, idle) all samples, or only those taken while no GPU was busy, between its operations
-- param: thread =  process and thread id in the form of `host_threads`; empty: all threads
-- param: limit = 100000 at most this many samples, the first ones
-- column: number | id | | number of the sample, in time order
-- column: samples | count | | number of matching samples, before the limit
-- column: thread | text | | process and thread id, with the name of the thread
-- column: time_ns | ns | | time of the sample, from the start of the capture
-- column: depth | count | | number of enclosing functions
-- column: function | text | | function, or the module in brackets if it has no symbol
-- column: module | text | | file of the function
WITH asked AS MATERIALIZED (
    SELECT *, count(*) OVER () AS samples FROM selected_sample($source, $moments, $thread)
), few AS MATERIALIZED (FROM asked ORDER BY number LIMIT $limit::BIGINT
)
SELECT number, samples, concat_ws(' ', thread_label(few.global_tid), name) AS thread,
    time_ns - (SELECT start_ns FROM capture_window) AS time_ns,
    row_number() OVER (PARTITION BY number ORDER BY depth DESC, function, module) - 1 AS depth,
    coalesce(function, '[no symbol]') AS function, module
FROM few LEFT JOIN host_frame($source) ON callchain_id = sample_id
LEFT JOIN host_thread ON host_thread.global_tid = few.global_tid
ORDER BY number, 5;
