-- title: Measurements of a timer with their ranges
-- One row per measurement of the timings beside the report, with the range of its label and step, paired as in
-- `timing_compare`, and one row per unpaired range. If a label has more than `points` rows, a regular subset is kept.
-- page: timer_check
-- needs: timing
-- needs: range
-- includes: selection, sidecar, timing
-- selects: part, mode
-- param: label =  keeps this label, as in `timing_compare`
-- param: points = 2000 at most this many rows per label
-- column: label | text | | label of the measurement, as in `timing_compare`
-- column: step | count | | step of the measurement, or of an unpaired range; empty in warm-up
-- column: is_warmup | bool | | whether the measurement belongs to warm-up
-- column: timer_ns | ns | | measured time
-- column: cpu_ns | ns | | duration of the range on the CPU
-- column: gpu_ns | ns | | time of the range on the GPU, from the first operation to the end of the last
-- column: start_ns | ns | | start of the range, from the start of the capture
-- column: is_pair | bool | | whether the measurement has a range
-- column: total | count | | number of rows of this label, shown or not
WITH pair AS (
    SELECT *, count(*) OVER (PARTITION BY label) AS total,
        row_number() OVER (PARTITION BY label ORDER BY step, start_ns, range_id) - 1 AS number
    FROM selected_timing_pair(selected_mode()) WHERE $label::VARCHAR IS NULL OR label = $label::VARCHAR
)
SELECT label, step, is_warmup, timer_ns, cpu_ns, gpu_ns, pair.start_ns - capture_window.start_ns AS start_ns, is_pair,
    total
FROM pair CROSS JOIN capture_window
WHERE number % (total // (1 + $points::INTEGER) + 1) = 0
ORDER BY label, number;
