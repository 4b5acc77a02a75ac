-- title: GPU hot
-- question: Is the GPU so hot that it may lower its clocks?
-- The highest temperature in °C in the power log beside the report, in the time of the selection; the hottest GPU that
-- worked counts. Temperature lags behind the work.
-- needs: power_log
-- needs: kernel or graph_launch
-- includes: finding, sidecar, power
-- selects: part
-- unit: count
-- fires: above
-- weight: warning
-- param: threshold = 85 fires at or above this temperature in °C
-- column: gpu_id | id | | the hottest GPU
-- column: readings | count | | readings in the time of the selection
-- says: GPU {gpu_id} reaches {value} °C, where it may lower its clocks.
-- clear: The GPU reaches {value} °C.
-- advice: [not HIP] Check airflow, fans and neighboring cards; `nvidia-smi -q -d TEMPERATURE,PERFORMANCE` shows limits and slowdowns.
-- advice: [HIP] Check airflow, fans and neighboring cards; `amd-smi metric --temperature` shows temperatures.
-- source: NVIDIA omniperf diagnose-perf (over 85 °C)
WITH reading AS (
    SELECT one.gpu_id, one.temperature_c FROM (FROM power_reading WHERE temperature_c IS NOT NULL) AS one
    ASOF JOIN selected_active AS part ON one.gpu_id = part.device_id AND one.time_ns >= part.start_ns
    WHERE one.time_ns <= part.end_ns
)
SELECT max(temperature_c) AS value, 'No temperature of the log lies in the time of the selection.' AS unjudged,
    arg_max(gpu_id, temperature_c) AS gpu_id, count(*) AS readings
FROM reading;
