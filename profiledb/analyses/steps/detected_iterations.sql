-- title: Iterations detected from kernels
-- Iterations of a program without NVTX ranges, from its kernels alone: on the stream with the most kernel time, the one
-- kernel that comes back after the same number of kernels each time is the marker, and an iteration lasts from the
-- start of a marker to the start of the next. A marker has 3 to 10,000 calls, from first to last at least half of the
-- time between the first and the last kernel of the stream, and numbers of kernels between its calls that vary by at
-- most 25 % (coefficient of variation, `kernels_cv_pct`). Of those within one point of the steadiest the one with the
-- most calls is taken, of these the first; `cv_pct` tells how much the times vary. No row means that nothing repeats
-- so. It is a guess: equal layers without anything between the iterations count as iterations, so do several that
-- always come together, and where an iteration begins is arbitrary. What runs before the first and after the last
-- marker is in none.
-- needs: kernel
-- includes: selection, step
-- selects: part
-- column: number = Iteration | count | | number of the iteration in the order of time, from 1
-- column: start_ns = Start | ns | | start of its marker, from the start of the capture
-- column: end_ns | ns | | start of the next marker, from the start of the capture
-- column: duration_ns | ns | | to the start of the next marker
-- column: kernels | count | | kernels that start in it on this GPU
-- column: busy_ns = GPU busy | ns | | time in which this GPU ran anything of the selection
-- column: iterations | count | | number of iterations
-- column: kernels_cv_pct | % | .2f | coefficient of variation (n - 1) of the number of kernels from marker to marker on the stream
-- column: cv_pct | % | .2f | that of the durations
-- column: gpu_id | id | | number of the GPU
-- column: stream | id | | number of the CUDA stream of the marker
-- column: kernel | text | | number of the marker in this report, as kernel_summary and its kin take it
-- column: marker | text | | readable name of the marker
SELECT number, one.start_ns - capture_window.start_ns AS start_ns, one.end_ns - capture_window.start_ns AS end_ns,
    one.* EXCLUDE (number, start_ns, end_ns)
FROM selected_iteration AS one CROSS JOIN capture_window
ORDER BY number;
