-- Work, traffic and roofs of the measured launches, from any of a report's metrics. Formulas:
-- SpeedOfLight_*RooflineChart.section files of Nsight Compute 2024.1 and 2025.3.
-- includes: share, closed

-- The GPU of a Compute report. If one is joined to a Systems report, the library overrides this view.
CREATE OR REPLACE VIEW ncu_gpu AS FROM gpu;

-- Rates of an SM by compute capability: FMAs per cycle (CUDA programming guide, throughput of arithmetic instructions)
-- and FLOPs per cycle of dense FP16 matrix products (architecture white papers). They replace peaks that were not
-- captured; results from them are estimates.
CREATE OR REPLACE VIEW sm_rate AS
FROM (VALUES
    ('6.0', 32, 64, NULL), ('6.1', 4, 128, NULL), ('7.0', 32, 64, 1024), ('7.5', 2, 64, 1024), ('8.0', 32, 64, 2048),
    ('8.6', 2, 128, 1024), ('8.9', 2, 128, 1024), ('9.0', 64, 128, 4096), ('10.0', 64, 128, 8192),
    ('12.0', 2, 128, 1024)
) AS rate (cc, fp64_fma, fp32_fma, tensor_flop);

-- Whether a GPU has tensor cores: from Volta on, except the smaller dies of Turing (TU116, TU117).
CREATE OR REPLACE MACRO has_tensor_cores(cc, name) AS TRY_CAST(cc AS DOUBLE) >= 7 AND NOT regexp_matches(
    coalesce(name, ''), '(?i)GTX 16|\b(MX450|MX550|T400|T500|T550|T600|T1000|T1200|T2000)\b'
);

-- Launches with the rates of their GPU; in a report with one GPU, that one.
CREATE OR REPLACE VIEW ncu_launch_device AS
SELECT launch_id, nullif(duration_ns, 0) / 1e9 AS seconds, sm_frequency_hz, dram_bytes_per_s, dram_throughput_pct,
    coalesce(ncu_launch.cc, compute_capability) AS cc, sm_count, memory_bandwidth_bytes_per_s, fp64_fma, fp32_fma,
    CASE WHEN has_tensor_cores(sm_rate.cc, ncu_gpu.name) THEN tensor_flop END AS tensor_flop
FROM ncu_launch LEFT JOIN ncu_gpu ON gpu_id = coalesce(device_id, 0)
LEFT JOIN sm_rate ON sm_rate.cc = coalesce(ncu_launch.cc, compute_capability);

-- Roofline metrics per second: achieved in the launch, and peak. A report has a sum, a rate per second or cycle, a peak
-- per cycle, or a percentage of the peak: any of them suffices. Cycles are those of the unit during the measurement;
-- the SM clock is a row of its own, `sm_clock`. A percentage below 1 is too coarse to derive the peak.
CREATE OR REPLACE VIEW ncu_rate AS
WITH named AS (
    SELECT metric_id,
        regexp_extract(name, '^(sm|smsp|dram|lts|l1tex)__(\w+)\.(?:sum|avg)\.?(\w*)$', ['unit', 'what', 'form']) AS part
    FROM ncu_metric_name
    WHERE regexp_matches(name,
        '__(sass_thread_inst_executed_op_[dfh](add|mul|fma)_pred_on|ops_path_tensor_\w+|inst_executed_pipe_tensor'
            || '|bytes(_read|_write)?|m_xbar2l1tex_read_bytes(_mem_dshared)?|sectors_(read|write)'
            || '|lts2xbar_cycles_active|t_sectors|lsu_writeback_active\w*)\.sum(\.|$)')
        OR regexp_matches(name, '__cycles_elapsed\.avg(\.per_second)?$')
        OR name IN ('sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed',
            'lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed')
), value AS (
    SELECT launch_id, part.unit AS unit, part.what AS what, max(value) FILTER (part.form = '') AS total,
        max(value) FILTER (part.form = 'per_second') AS per_second,
        max(value) FILTER (part.form = 'per_cycle_elapsed') AS per_cycle,
        max(value) FILTER (part.form = 'peak_sustained') AS peak_per_cycle,
        max(value) FILTER (part.form = 'pct_of_peak_sustained_elapsed') AS pct
    FROM ncu_metric JOIN named USING (metric_id) WHERE part.unit <> ''
    GROUP BY ALL
), clock AS (
    SELECT launch_id, unit, coalesce(per_second, total / seconds) AS hz
    FROM value JOIN ncu_launch_device USING (launch_id) WHERE what = 'cycles_elapsed'
), timed AS (
    SELECT launch_id, value.unit, value.what, value.pct, peak_per_cycle,
        coalesce(hz, CASE WHEN value.unit IN ('sm', 'smsp', 'l1tex') THEN sm_frequency_hz END) AS hz,
        coalesce(per_second, per_cycle * hz, total / seconds) AS per_s
    FROM value JOIN ncu_launch_device USING (launch_id) LEFT JOIN clock USING (launch_id, unit)
    WHERE value.what <> 'cycles_elapsed'
    UNION ALL SELECT launch_id, unit, 'sm_clock', NULL, NULL, hz, hz FROM clock WHERE unit = 'sm'
)
SELECT launch_id, what, max(per_s) AS per_s, max(pct) AS pct,
    coalesce(max(peak_per_cycle * hz), max(per_s / pct * 100) FILTER (pct >= 1)) AS peak_per_s
FROM timed
GROUP BY launch_id, what;

-- FLOPs per second by precision in CUDA core instructions: an FMA is two operations, and an FP16 instruction works on
-- two numbers (ncu counted it as one before 2025). If one of the three kinds is missing, it is an estimate. Compilers
-- also load constants with FP16's FMA: alone it may be no arithmetic at all.
CREATE OR REPLACE VIEW ncu_scalar_work AS
WITH op AS (
    SELECT launch_id, regexp_extract(what, '_op_([dfh])(add|mul|fma)_', ['letter', 'kind']) AS op, per_s, peak_per_s
    FROM ncu_rate WHERE starts_with(what, 'sass_thread')
), counted AS (
    SELECT launch_id, precision, count(per_s) AS kinds, sum(flops * per_s) AS flops_per_s,
        max(flops * peak_per_s) AS peak_flops_per_s,
        precision = 'fp16' AND coalesce(sum(per_s) FILTER (op.kind <> 'fma'), 0) = 0 AS is_doubtful
    FROM op JOIN (VALUES
        ('d', 'add', 'fp64', 1), ('d', 'mul', 'fp64', 1), ('d', 'fma', 'fp64', 2),
        ('f', 'add', 'fp32', 1), ('f', 'mul', 'fp32', 1), ('f', 'fma', 'fp32', 2),
        ('h', 'add', 'fp16', 2), ('h', 'mul', 'fp16', 2), ('h', 'fma', 'fp16', 4)
    ) AS meaning (letter, kind, precision, flops) ON op.letter = meaning.letter AND op.kind = meaning.kind
    GROUP BY launch_id, precision
)
SELECT launch_id, precision, flops_per_s,
    coalesce(peak_flops_per_s,
        2 * sm_count * sm_frequency_hz * CASE precision WHEN 'fp64' THEN fp64_fma WHEN 'fp32' THEN fp32_fma END)
        AS peak_flops_per_s,
    kinds < 3 OR peak_flops_per_s IS NULL OR (is_doubtful AND flops_per_s > 0) AS estimated, is_doubtful,
    CASE WHEN is_doubtful AND flops_per_s > 0 THEN 'FMAs alone, with which compilers also load constants'
        WHEN kinds < 3 THEN 'only some of add, multiply and FMA were captured'
        WHEN peak_flops_per_s IS NULL THEN 'peak from the compute capability' END AS note
FROM counted JOIN ncu_launch_device USING (launch_id)
WHERE flops_per_s IS NOT NULL;

-- FLOPs per second of the tensor cores by input type, from sm__ops_path_tensor_*: among names that contain each other
-- (with and without output type, sparsity, instruction) the broadest captured one. From compute capability 8.0 on, the
-- peak of a name without sparsity includes it, twice the dense one; FP64 has none.
CREATE OR REPLACE VIEW ncu_tensor_type AS
WITH named AS (
    SELECT launch_id, per_s, peak_per_s,
        regexp_extract(what,
            '^ops_path_tensor_(?:op_(\w+?)_)?src_([a-z]+\d+)(?:_dst_([a-z]+\d+))?(?:_sparsity_(on|off))?$',
            ['op', 'type', 'dst', 'sparsity']) AS part
    FROM ncu_rate WHERE starts_with(what, 'ops_path_tensor_')
), level AS (
    SELECT launch_id, part.type AS type, per_s, peak_per_s, part.sparsity AS sparsity,
        (part.op <> '')::INTEGER * 4 + (part.dst <> '')::INTEGER * 2 + (part.sparsity <> '')::INTEGER AS detail
    FROM named WHERE part.type <> ''
), widest AS (
    SELECT * FROM level QUALIFY detail = min(detail) OVER (PARTITION BY launch_id, type)
)
SELECT launch_id, type, sum(per_s) AS flops_per_s,
    max(CASE WHEN sparsity = '' AND type <> 'fp64' AND cc::DOUBLE >= 8 THEN peak_per_s / 2 ELSE peak_per_s END)
        FILTER (sparsity = '' OR per_s > 0 OR sparsity = 'off') AS peak_flops_per_s,
    bool_or(sparsity = '' AND type <> 'fp64' AND cc::DOUBLE >= 8 AND cc <> '9.0') AS estimated
FROM widest JOIN ncu_launch_device USING (launch_id)
GROUP BY launch_id, type;

-- FLOPs per second of the tensor cores. Several types share the peak of the mixture. Without operation counts, the
-- estimate is the share of cycles with a busy pipe, as if all were dense FP16 products; on Volta its instructions, of
-- 512 FLOPs each, as in ncu's chart. Below 5 % there is no estimate: conversions and packed FP16 arithmetic use the
-- same pipe.
CREATE OR REPLACE VIEW ncu_tensor_work AS
WITH counted AS (
    SELECT launch_id, sum(flops_per_s) AS flops_per_s,
        coalesce(sum(flops_per_s) / nullif(sum(flops_per_s / peak_flops_per_s), 0),
            max(peak_flops_per_s) FILTER (type IN ('bf16', 'fp16')), max(peak_flops_per_s)) AS peak_flops_per_s,
        bool_or(estimated) AS estimated,
        string_agg(type, ' + ' ORDER BY flops_per_s DESC) FILTER (flops_per_s > 0) AS types
    FROM ncu_tensor_type GROUP BY launch_id
), pipe AS (
    SELECT launch_id, max(pct) FILTER (what = 'pipe_tensor_cycles_active') AS busy_pct,
        max(per_s * 512) FILTER (what = 'inst_executed_pipe_tensor') AS volta_per_s,
        max(peak_per_s * 512) FILTER (what = 'inst_executed_pipe_tensor') AS volta_peak
    FROM ncu_rate WHERE what IN ('pipe_tensor_cycles_active', 'inst_executed_pipe_tensor') GROUP BY launch_id
), guessed AS (
    SELECT launch_id, CASE WHEN busy_pct >= 5 THEN busy_pct END AS busy_pct,
        CASE WHEN cc = '7.0' AND volta_per_s > 0 THEN volta_per_s END AS volta_per_s, volta_peak,
        sm_count * sm_frequency_hz * tensor_flop AS dense_per_s
    FROM pipe JOIN ncu_launch_device USING (launch_id)
)
SELECT launch_id, 'tensor' AS precision,
    coalesce(flops_per_s, volta_per_s, busy_pct / 100 * dense_per_s) AS flops_per_s,
    CASE WHEN flops_per_s IS NOT NULL THEN peak_flops_per_s WHEN volta_per_s IS NOT NULL THEN volta_peak
        ELSE dense_per_s END AS peak_flops_per_s,
    CASE WHEN flops_per_s IS NOT NULL THEN estimated
        OR coalesce(busy_pct > 5 + 100 * flops_per_s / peak_flops_per_s, false) ELSE true END AS estimated,
    CASE WHEN flops_per_s IS NULL AND volta_per_s IS NOT NULL THEN 'tensor instructions, counted as 512 FLOPs each'
        WHEN flops_per_s IS NULL THEN 'from the cycles in which the tensor pipe was busy, as dense FP16'
        WHEN busy_pct > 5 + 100 * flops_per_s / peak_flops_per_s
            THEN 'the tensor pipe was busier than the captured types explain'
        WHEN estimated AND flops_per_s > 0 THEN 'dense peak taken as half of the one with sparsity' END AS note,
    types
FROM counted FULL JOIN guessed USING (launch_id)
WHERE coalesce(flops_per_s, volta_per_s, busy_pct / 100 * dense_per_s) IS NOT NULL;

-- Bytes per second of a launch by memory level, and the peak of the level. L1 counts the write-back of global loads and
-- stores, L2 its data to the SMs: as L2 counts it, else as the L1 caches receive it without data from other SMs' shared
-- memory, which is the same except for data that goes to several SMs at once. The share of the peak is L2's own if
-- captured. If ncu has only L2's tag lookups, they are an estimate: they also count stores and repeated lookups, up to
-- three times the sent data.
CREATE OR REPLACE VIEW ncu_traffic AS
WITH wide AS (
    SELECT launch_id, first(per_s) FILTER (what = 'bytes') AS dram,
        first(peak_per_s) FILTER (what = 'bytes') AS dram_peak,
        first(per_s) FILTER (what = 'bytes_read') + first(per_s) FILTER (what = 'bytes_write') AS dram_sum,
        max(peak_per_s) FILTER (what IN ('bytes_read', 'bytes_write')) AS dram_sum_peak,
        32 * (first(per_s) FILTER (what = 'sectors_read')
            + first(per_s) FILTER (what = 'sectors_write')) AS dram_sectors,
        32 * first(per_s) FILTER (what = 'lts2xbar_cycles_active') AS l2,
        32 * first(peak_per_s) FILTER (what = 'lts2xbar_cycles_active') AS l2_peak,
        first(pct) FILTER (what = 'lts2xbar_cycles_active') AS l2_pct,
        first(per_s) FILTER (what = 'm_xbar2l1tex_read_bytes')
            - coalesce(first(per_s) FILTER (what = 'm_xbar2l1tex_read_bytes_mem_dshared'), 0) AS l2_received,
        first(peak_per_s) FILTER (what = 'm_xbar2l1tex_read_bytes') AS l2_received_peak,
        32 * first(per_s) FILTER (what = 't_sectors') AS l2_tags,
        32 * first(peak_per_s) FILTER (what = 't_sectors') AS l2_tags_peak,
        128 * coalesce(first(per_s) FILTER (what = 'lsu_writeback_active_mem_lgds'),
            first(per_s) FILTER (what = 'lsu_writeback_active_mem_lg')) AS l1,
        128 * coalesce(first(peak_per_s) FILTER (what = 'lsu_writeback_active_mem_lgds'),
            first(peak_per_s) FILTER (what = 'lsu_writeback_active_mem_lg')) AS l1_peak,
        128 * first(per_s) FILTER (what = 'lsu_writeback_active') AS l1_all,
        128 * first(peak_per_s) FILTER (what = 'lsu_writeback_active') AS l1_all_peak,
        first(per_s) FILTER (what = 'sm_clock') AS measured_sm_hz
    FROM ncu_rate GROUP BY launch_id
), launch AS (
    SELECT wide.*, launch.*, dram_throughput_pct / 100 * memory_bandwidth_bytes_per_s AS dram_share
    FROM ncu_launch_device AS launch LEFT JOIN wide USING (launch_id)
), level AS (
    SELECT launch_id, 'dram' AS level,
        coalesce(dram, dram_sum, dram_sectors, dram_bytes_per_s, dram_share) AS bytes_per_s,
        coalesce(dram_peak, dram_sum_peak, memory_bandwidth_bytes_per_s) AS peak_bytes_per_s,
        CASE WHEN coalesce(dram, dram_sum, dram_sectors, dram_bytes_per_s) IS NULL
            THEN 'traffic from the percentage of the peak'
            WHEN coalesce(dram_peak, dram_sum_peak) IS NULL THEN 'peak of the memory at its highest clock' END AS note
    FROM launch
    UNION ALL
    SELECT launch_id, 'l2', coalesce(l2, l2_received, l2_tags),
        CASE WHEN l2 IS NOT NULL THEN l2_peak
            WHEN l2_received IS NOT NULL THEN coalesce(CASE WHEN l2_pct >= 1 THEN l2_received / l2_pct * 100 END,
                l2_received_peak)
            ELSE l2_tags_peak END,
        CASE WHEN l2 IS NOT NULL THEN NULL WHEN l2_received IS NOT NULL THEN 'L2 traffic as the L1 caches received it'
            ELSE 'L2 traffic from tag lookups, which can be three times what L2 sends' END
    FROM launch
    UNION ALL
    SELECT launch_id, 'l1', coalesce(l1, l1_all),
        coalesce(CASE WHEN l1 IS NULL THEN l1_all_peak ELSE l1_peak END,
            128 * sm_count * coalesce(measured_sm_hz, sm_frequency_hz)),
        CASE WHEN l1 IS NULL AND cc::DOUBLE > 7.2 THEN 'L1 traffic with that of shared memory' END
    FROM launch
)
SELECT launch_id, level, bytes_per_s, peak_bytes_per_s, note IS NOT NULL AS estimated, note FROM level
WHERE bytes_per_s IS NOT NULL;

-- The roofline: one row per launch, precision and level with both work and traffic measured. The share of the roof,
-- work over min(peak work, intensity * peak traffic), is the larger of the two shares of a peak; it needs both, and
-- above 105 % it is a contradiction instead (above_roof). is_main marks the precision in which a launch comes closest
-- to a peak; for a launch without arithmetic any one, with no work and intensity 0. Peaks of work hold at sm_clock_hz,
-- the SM clock during the measurement.
CREATE OR REPLACE VIEW ncu_roofline_point AS
WITH work AS (
    SELECT *, flops_per_s / peak_flops_per_s AS share FROM (
        SELECT *, NULL::VARCHAR AS types FROM ncu_scalar_work
        UNION ALL BY NAME SELECT *, false AS is_doubtful FROM ncu_tensor_work
    )
), counts AS (
    SELECT *, flops_per_s > 0 AND NOT (is_doubtful AND coalesce(share, 0) < 0.05) AS is_work FROM work
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY launch_id
        ORDER BY is_work DESC, is_doubtful, share DESC NULLS LAST, flops_per_s DESC, precision) = 1 AS is_main
    FROM counts
), point AS (
    SELECT launch_id, precision, level, flops_per_s, bytes_per_s, flops_per_s / nullif(bytes_per_s, 0) AS intensity,
        peak_flops_per_s, peak_bytes_per_s,
        CASE WHEN flops_per_s / peak_flops_per_s > bytes_per_s / peak_bytes_per_s THEN precision
            WHEN flops_per_s / peak_flops_per_s <= bytes_per_s / peak_bytes_per_s THEN level END AS roof,
        ranked.estimated OR traffic.estimated AS estimated, is_main,
        nullif(concat_ws('; ', ranked.note, traffic.note), '') AS note, types,
        coalesce(clock.per_s, sm_frequency_hz) AS sm_clock_hz
    FROM ranked JOIN ncu_traffic AS traffic USING (launch_id) JOIN ncu_launch_device USING (launch_id)
    LEFT JOIN ncu_rate AS clock ON clock.launch_id = ranked.launch_id AND clock.what = 'sm_clock'
), held AS (
    SELECT *, CASE roof WHEN precision THEN flops_per_s WHEN level THEN bytes_per_s END AS reached,
        CASE roof WHEN precision THEN peak_flops_per_s ELSE peak_bytes_per_s END AS peak,
        CASE WHEN estimated THEN 'An estimate may be off (' || note || ')'
            ELSE 'The passes ran at different clocks, or time and traffic come from different passes' END AS cause
    FROM point
)
SELECT * EXCLUDE (reached, peak, cause), share_of_peak(reached, peak) AS pct_of_roof,
    peak_contradiction(reached, peak, CASE roof WHEN precision THEN 'FLOP' ELSE 'B' END,
        CASE roof WHEN precision THEN precision ELSE upper(level) END || ' at the measured clock', cause) AS above_roof
FROM held;

-- A roof in words: "DRAM bandwidth", "the FP32 peak".
CREATE OR REPLACE MACRO roof_title(roof) AS CASE
    WHEN roof IN ('dram', 'l2', 'l1') THEN upper(roof) || ' bandwidth'
    WHEN roof = 'tensor' THEN 'the tensor core peak'
    ELSE 'the ' || upper(roof) || ' peak' END;

-- Parts of a launch's time that its roofs leave, from the speed of light. Less waiting saves at most `headroom`, until
-- the busier of compute and memory is at its peak; less work inside the SMs saves at most `dram_left`, because the
-- device memory traffic stays. From 60 % of either peak a launch runs well with the warps that it has (`is_busy`):
-- matrix products keep their results in registers, and occupancy is low by design.
CREATE OR REPLACE VIEW ncu_left AS
SELECT launch_id, CASE WHEN dram_throughput_pct > 100 THEN 0 ELSE 1 - dram_throughput_pct / 100 END AS dram_left,
    greatest(sm_throughput_pct, memory_throughput_pct) AS busiest_pct,
    CASE WHEN busiest_pct > 100 THEN 0 ELSE 1 - busiest_pct / 100 END AS headroom, busiest_pct >= 60 AS is_busy
FROM ncu_launch;

-- Results of ncu's rules with the part of the estimate that a launch can reach, percent. Rules about accesses spare
-- traffic if UncoalescedGlobalAccess has counted sectors that nobody requested: these estimates stay unchanged. L2
-- compression gets none: it needs memory that the program allocates as compressible, which is rare. Nor do less
-- waiting in launches that run well without, and changes inside the kernels of closed libraries.
CREATE OR REPLACE VIEW ncu_advice AS
WITH flagged AS (
    SELECT ncu_rule.*, kernel, bool_or(rule = 'UncoalescedGlobalAccess') OVER (PARTITION BY launch_id) AS is_uncoalesced
    FROM ncu_rule LEFT JOIN (SELECT launch_id, kernel FROM ncu_launch) USING (launch_id)
)
SELECT flagged.* EXCLUDE (is_uncoalesced, kernel),
    CASE WHEN speedup_type <> 'global' OR speedup_pct IS NULL OR rule = 'MemoryL2Compression' THEN NULL
        WHEN is_busy AND rule IN ('TheoreticalOccupancy', 'AchievedOccupancy', 'CPIStall', 'IssueSlotUtilization')
            THEN NULL
        WHEN is_closed_kernel(kernel) AND rule NOT IN ('LaunchConfiguration', 'WorkloadImbalance', 'FPInstructions')
            THEN NULL
        WHEN is_uncoalesced AND rule IN ('UncoalescedGlobalAccess', 'MemoryCacheAccessPattern') THEN speedup_pct
        ELSE least(speedup_pct, 100 * CASE
            WHEN rule IN (
                'MemoryCacheAccessPattern', 'UncoalescedSharedAccess', 'SharedMemoryConflicts', 'ThreadDivergence',
                'FPInstructions'
            ) THEN dram_left ELSE headroom END) END AS reach_pct
FROM flagged LEFT JOIN ncu_left USING (launch_id);
