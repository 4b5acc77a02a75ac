-- Building blocks of the analyses of one launch of a Compute report.
-- includes: ncu

-- Metrics whose whole name matches a regular expression. Names are searched first: a report has some thousands of them,
-- but may have millions of values.
CREATE OR REPLACE MACRO launch_metric(pattern) AS TABLE
SELECT launch_id, name, unit, value, "text"
FROM ncu_metric JOIN (
    SELECT metric_id, name, unit FROM ncu_metric_name WHERE regexp_full_match(name, pattern)
) AS named USING (metric_id);

-- Values within such metrics: occupancy by block size, instructions by opcode.
CREATE OR REPLACE MACRO launch_instance(pattern) AS TABLE
SELECT launch_id, name, position, key, key_text, value
FROM ncu_metric_instance JOIN (
    SELECT metric_id, name FROM ncu_metric_name WHERE regexp_full_match(name, pattern)
) AS named USING (metric_id);

-- Total shared memory of a block; unknown if none of the three parts is known.
CREATE OR REPLACE MACRO shared_bytes(static_bytes, dynamic_bytes, driver_bytes) AS
CASE WHEN coalesce(static_bytes, dynamic_bytes) IS NOT NULL
    THEN coalesce(static_bytes, 0) + coalesce(dynamic_bytes, 0) + coalesce(driver_bytes, 0) END;

-- Maximum warps of an SM for a launch: from its GPU, else from the theoretical occupancy.
CREATE OR REPLACE VIEW launch_warps AS
WITH metric AS (
    SELECT launch_id, max(value) FILTER (name LIKE 'device%') AS stated,
        max(value) FILTER (name LIKE 'sm\_\_%' ESCAPE '\') AS theoretical
    FROM launch_metric('device__attribute_max_warps_per_multiprocessor|sm__maximum_warps_avg_per_active_cycle')
    GROUP BY launch_id
)
SELECT launch_id, theoretical AS theoretical_warps,
    coalesce(stated, max_warps_per_sm, round(100 * theoretical / nullif(theoretical_occupancy_pct, 0))) AS max_warps
FROM ncu_launch LEFT JOIN metric USING (launch_id) LEFT JOIN ncu_gpu ON gpu_id = coalesce(device_id, 0);

-- Warp states of the launches (see the analysis ncu_stalls), ranked from the largest share.
CREATE OR REPLACE VIEW launch_stall AS
WITH metric AS (
    SELECT launch_id, name, value, regexp_extract(name, '_stalled_(\w+?)(_per_issue_active)?(\.ratio)?$', 1) AS state
    FROM launch_metric(
        'smsp__average_warps_issue_stalled_\w+_per_issue_active\.ratio|smsp__pcsamp_warps_issue_stalled_\w+'
        || '|smsp__average_warp_latency_per_inst_issued\.ratio')
    WHERE value IS NOT NULL AND NOT ends_with(name, '_not_issued')
), named AS (
    SELECT launch_id,
        CASE state WHEN 'no_instructions' THEN 'no_instruction' WHEN 'warpgroup_arrive' THEN 'gmma' ELSE state
        END AS reason, max(value) FILTER (name LIKE '%average%') AS cycles_per_issue,
        max(value) FILTER (name LIKE '%pcsamp%') AS samples
    FROM metric WHERE state <> '' GROUP BY launch_id, reason
), latency AS (
    SELECT launch_id, value AS latency_cycles FROM metric WHERE state = ''
), share AS (
    SELECT *, 100 * cycles_per_issue / nullif(latency_cycles, 0) AS share_pct,
        100 * samples / nullif(sum(samples) OVER (PARTITION BY launch_id), 0) AS samples_pct
    FROM named LEFT JOIN latency USING (launch_id)
)
SELECT *, row_number() OVER (
        PARTITION BY launch_id ORDER BY coalesce(share_pct, samples_pct, cycles_per_issue) DESC NULLS LAST, reason
    ) AS rank
FROM share;
