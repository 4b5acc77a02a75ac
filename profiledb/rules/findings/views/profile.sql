-- Building blocks of the rules about launches that Nsight Compute measured.
-- includes: selection, ncu, pair

-- The time that a measured launch stands for: its own duration in a Compute report alone. If the report is linked to a
-- Systems report, judge.py replaces it with the time of the kernels there (joined.sql).
CREATE OR REPLACE VIEW finding_launch_time AS
SELECT launch_id, duration_ns AS ns, 1::BIGINT AS calls FROM ncu_launch WHERE duration_ns > 0;

-- These launches with the figures that the rules compare, and their headroom (ncu_left).
CREATE OR REPLACE VIEW finding_launch AS
WITH name AS (
    SELECT demangled, any_value(class) AS class, any_value(short) AS short FROM ncu_kernel_name GROUP BY demangled
)
SELECT ncu_launch.*, ns, calls, sm_count, ncu_gpu.name AS gpu_name, class,
    IF(kernel = '(unnamed)', format('launch {}', launch_id), readable_name(coalesce(short, kernel), kernel))
        AS readable,
    headroom, is_busy, dram_left
FROM ncu_launch JOIN finding_launch_time USING (launch_id) LEFT JOIN ncu_left USING (launch_id)
LEFT JOIN name ON demangled = kernel
LEFT JOIN ncu_gpu ON gpu_id = coalesce(device_id, 0);

-- Percent of its roof at which a launch counts as at it: memory-bound kernels of the samples with nothing to fix reach
-- 85 to 95 % of the bandwidth, those with something to fix less than 85 %.
CREATE OR REPLACE MACRO at_roof_pct() AS 85;

-- The share of its roof that a launch reaches, as text in `roof_note`: the bandwidth of the device memory, or the peak
-- of its arithmetic. Without the roofline only launches at the bandwidth are known.
CREATE OR REPLACE VIEW finding_roof AS
WITH point AS (
    SELECT launch_id, max(pct_of_roof) AS pct_of_roof, any_value(roof) AS peak
    FROM ncu_roofline_point WHERE is_main AND level = 'dram' GROUP BY launch_id
), nearest AS (
    SELECT launch_id, coalesce(dram_throughput_pct >= coalesce(pct_of_roof, at_roof_pct()), false) AS is_memory,
        IF(is_memory, dram_throughput_pct, pct_of_roof) AS roof_pct, IF(is_memory, 'dram', peak) AS peak
    FROM ncu_launch LEFT JOIN point USING (launch_id)
)
SELECT launch_id, roof_pct, IF(peak = 'dram', 'memory', 'compute') AS roof, roof_pct >= at_roof_pct() AS is_at_roof,
    format('{:.0f} % of {}', roof_pct, roof_title(peak)) AS roof_note
FROM nearest WHERE roof_pct IS NOT NULL;

-- The row of a rule about launches: what it gains in all, the ten launches that gain most, and why it cannot judge if
-- no launch was measured. `judged` has launch_id, readable, note, ns, calls and `gain`, the share of its time that a
-- launch gains; NULL if that was not measured.
CREATE OR REPLACE MACRO finding_gain(judged, unmeasured) AS TABLE
WITH shown AS (
    SELECT {
            'name': readable, 'note': note, 'value': 100 * gain, 'ns': round(gain * ns)::BIGINT, 'count': calls,
            'launch': launch_id
        } AS piece, gain * ns AS weight, launch_id
    FROM query_table(judged) WHERE gain > 0 ORDER BY gain * ns DESC, launch_id LIMIT 10
)
SELECT 100.0 * sum(gain * ns) / nullif(sum(ns), 0) AS value, round(sum(gain * ns))::BIGINT AS saving_ns,
    arg_max(readable, gain * ns) FILTER (gain > 0) AS kernel, arg_max(note, gain * ns) FILTER (gain > 0) AS note,
    count(*) FILTER (gain > 0) AS launches, CASE WHEN count(*) = 0 THEN unmeasured END AS unjudged,
    (SELECT list(piece ORDER BY weight DESC, launch_id) FROM shown) AS evidence
FROM query_table(judged) WHERE gain IS NOT NULL;
