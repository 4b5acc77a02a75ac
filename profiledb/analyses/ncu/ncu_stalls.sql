-- title: What the warps of a launch wait for
-- A row a launch and reason, the largest first. Each warp has one state in each cycle: cycles_per_issue are the cycles
-- that a warp spends in it for an instruction that it issues, and all states together are the latency of the warp. The
-- state "selected" is the issue itself and no stall. Samples are those of the program counter sampling, which counts
-- the same states apart from that. A reason has the same name in all versions of ncu: gmma, no_instruction.
-- needs: ncu_metric
-- includes: launch
-- param: launch =  number of the launch (analysis ncu_speed_of_light); all where none is given
-- column: launch_id | id | | number of the launch
-- column: rank | count | | 1 for the largest
-- column: reason | text | | name of the state, as in ncu's metrics
-- column: cycles_per_issue | text | .2f | cycles for an instruction that is issued
-- column: share_pct | % | .1f | share of the latency of a warp
-- column: latency_cycles | text | .2f | cycles between two instructions of a warp: all states together
-- column: samples | count | .0f | samples of this state
-- column: samples_pct | % | .1f | share of all samples of the launch
WITH metric AS MATERIALIZED (
    SELECT launch_id, name, value, regexp_extract(name, '_stalled_(\w+?)(_per_issue_active)?(\.ratio)?$', 1) AS state
    FROM launch_metric(
        'smsp__average_warps_issue_stalled_\w+_per_issue_active\.ratio|smsp__pcsamp_warps_issue_stalled_\w+'
        || '|smsp__average_warp_latency_per_inst_issued\.ratio')
    WHERE value IS NOT NULL AND NOT ends_with(name, '_not_issued')
        AND ($launch::INTEGER IS NULL OR launch_id = $launch::INTEGER)
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
SELECT launch_id,
    row_number() OVER (PARTITION BY launch_id
        ORDER BY coalesce(share_pct, samples_pct, cycles_per_issue) DESC NULLS LAST, reason)
        AS rank,
    reason, cycles_per_issue, share_pct, latency_cycles, samples, samples_pct
FROM share
ORDER BY launch_id, rank;
