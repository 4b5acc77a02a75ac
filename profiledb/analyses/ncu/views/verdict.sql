-- Limiter of each launch that ncu measured: one verdict, and the limits from roofline and warps beside it.
-- includes: selection, ncu, launch

-- One row per launch. The verdict is that of the speed of light, on every page. The roofline gives the roof of the
-- launch, from floating-point work and device memory traffic alone; the largest stall is the main wait of warps, which
-- other warps may cover. Neither is a second verdict.
CREATE OR REPLACE VIEW launch_verdict AS
WITH point AS (
    SELECT launch_id, roof, pct_of_roof, flops_per_s FROM ncu_roofline_point WHERE is_main AND level = 'dram'
), stall AS (
    SELECT launch_id, arg_min(reason, rank) AS stall, arg_min(coalesce(share_pct, samples_pct), rank) AS stall_pct
    FROM launch_stall WHERE reason NOT IN ('selected', 'not_selected') GROUP BY launch_id
)
SELECT launch_id, ncu_verdict(sm_throughput_pct, memory_throughput_pct, dram_throughput_pct) AS verdict,
    verdict_reason(verdict, sm_throughput_pct, memory_throughput_pct, dram_throughput_pct, waves_per_sm)
        AS reason,
    sm_throughput_pct AS compute_pct, memory_throughput_pct AS memory_pct, waves_per_sm, roof, pct_of_roof,
    flops_per_s, stall, stall_pct
FROM ncu_launch LEFT JOIN point USING (launch_id) LEFT JOIN stall USING (launch_id);
