-- Building blocks of the rules about launches that Nsight Compute measured.
-- includes: selection, ncu, pair

-- How much time a measured launch stands for. In a Compute report alone it is its own duration; where the report is
-- linked to a Systems report, judge.py puts that of the kernels there in its place (joined.sql).
CREATE OR REPLACE VIEW finding_launch_time AS
SELECT launch_id, duration_ns AS ns, 1::BIGINT AS calls FROM ncu_launch WHERE duration_ns > 0;

-- These launches with what the rules compare. `headroom` is the part of the time that is left until the busier one of
-- compute and memory is at its peak: no remedy of latency saves more.
CREATE OR REPLACE VIEW finding_launch AS
WITH name AS (
    SELECT demangled, any_value(class) AS class, any_value(short) AS short FROM ncu_kernel_name GROUP BY demangled
)
SELECT ncu_launch.*, ns, calls, sm_count, class, readable_name(coalesce(short, kernel), kernel) AS readable,
    1 - greatest(sm_throughput_pct, memory_throughput_pct) / 100 AS headroom
FROM ncu_launch JOIN finding_launch_time USING (launch_id) LEFT JOIN name ON demangled = kernel
LEFT JOIN ncu_gpu ON gpu_id = coalesce(device_id, 0);
