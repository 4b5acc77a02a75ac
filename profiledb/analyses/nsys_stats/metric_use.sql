-- title: GPU metrics by bin
-- Means of three sampled GPU metrics in bins of equal length, as the utilization map of `nsys recipe` has them: use of
-- the SMs, of their issue slots, and of the tensor cores. Samples before the session do not count, those after
-- `stop_ns` neither; a sample between two bins belongs to the earlier one. Time and GPU filters do not apply.
-- needs: gpu_metric
-- param: bin_ns = 1000000 length of a bin, ns
-- param: shift_ns = 0 time by which the session began after the first bin, ns
-- param: stop_ns =  end of the session, ns; empty: no end
-- column: gpu_id | id | | number of the GPU
-- column: bin | count | | number of the bin, from 0
-- column: sm_active | % | .1f | mean of the samples of SM Active
-- column: sm_issue | % | .1f | mean of the samples of SM Issue
-- column: tensor_active | % | .1f | mean of the samples of Tensor Active
WITH binned AS (
    SELECT gpu_id, ceil((time_ns + $shift_ns::BIGINT) / $bin_ns::BIGINT)::BIGINT - 1 AS bin,
        avg(COLUMNS(* EXCLUDE (gpu_id, time_ns)))
    FROM gpu_metric
    WHERE time_ns >= 0 AND time_ns + $shift_ns::BIGINT > 0
        AND time_ns <= coalesce(try_cast($stop_ns AS BIGINT), time_ns)
    GROUP BY gpu_id, 2
), long AS (UNPIVOT binned ON COLUMNS(* EXCLUDE (gpu_id, bin)) INTO NAME metric VALUE mean)
SELECT gpu_id, bin, max(mean) FILTER (regexp_matches(metric, '^SMs? Active')) AS sm_active,
    max(mean) FILTER (regexp_matches(metric, '^SM Issue')) AS sm_issue,
    max(mean) FILTER (regexp_matches(metric, '^Tensor Active')) AS tensor_active
FROM long
GROUP BY gpu_id, bin
ORDER BY gpu_id, bin;
