-- title: Local memory
-- question: Do kernels spill registers?
-- Loads and stores of local memory (spilled registers, arrays that are indexed at run time) as a share of the
-- instructions that reach memory. At most this share of the time in which memory is busy is saved. The value weighs it
-- with the time of each kernel.
-- needs: ncu_launch
-- includes: profile, launch
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 2 share of the measured kernel time that mending saves at most, from which on it is said
-- column: kernel | name | | kernel that it costs most
-- column: note | text | | what was measured of it
-- column: launches | count | | measured launches for which it holds
-- says: Local memory costs up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Local memory costs at most {value} of the measured kernel time.
-- advice: Allow {kernel} more registers per thread, or make the arrays of a thread indexable at compile time (unroll the loops over them).
-- source: CUDA best practices guide, local memory; share of instructions is our own bound
WITH judged AS (
    SELECT launch_id, readable, ns, calls,
        format('{:.0f} % of memory instructions use local memory', 100 * spilled) AS note,
        CASE WHEN spilled > 0 THEN spilled * memory_throughput_pct / 100
            WHEN spilled IS NOT NULL AND memory_throughput_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
    JOIN (
        SELECT launch_id, coalesce(sum(value) FILTER (name LIKE '%local%') / nullif(sum(value), 0), 0) AS spilled
        FROM launch_metric('smsp__sass_inst_executed_op_(local|global|shared)_(ld|st)\.sum') GROUP BY launch_id
    ) USING (launch_id)
), shown AS (
    SELECT {
            'name': readable, 'note': note, 'value': 100 * gain, 'ns': round(gain * ns)::BIGINT, 'count': calls,
            'launch': launch_id
        } AS piece, gain * ns AS weight, launch_id
    FROM judged WHERE gain > 0 ORDER BY gain * ns DESC, launch_id LIMIT 10
)
SELECT 100.0 * sum(gain * ns) / nullif(sum(ns), 0) AS value, round(sum(gain * ns))::BIGINT AS saving_ns,
    arg_max(readable, gain * ns) FILTER (gain > 0) AS kernel, arg_max(note, gain * ns) FILTER (gain > 0) AS note,
    count(*) FILTER (gain > 0) AS launches,
    CASE WHEN count(*) = 0
        THEN 'Memory instructions were not measured: profile with `--section InstructionStats`.' END AS unjudged,
    (SELECT list(piece ORDER BY weight DESC, launch_id) FROM shown) AS evidence
FROM judged WHERE gain IS NOT NULL;
