-- title: Iterations detected from kernels
-- Iterations of a program without NVTX ranges, from its kernels alone, in the order of their starts: those of the stream
-- with the most kernel time, or of all streams of its GPU and process where it has less than half of their time. A
-- kernel that comes back is the marker, and an iteration lasts from the start of one of its launches to the start of
-- the next, or of every second (`every`: up to every 12th). The marker has 3 to 10,000 launches, from first to last at
-- least half of the time between the first and the last kernel. What passes from marker to marker is tried at each
-- `every`, and is an iteration where it repeats: the numbers of kernels vary by at most 25 % (coefficient of variation,
-- `kernels_cv_pct`), the same kernels run in at least 95 % of them (or all but two of ten), else in half, else in none
-- where there are 8 or more; and of the first 1,000 at most 5 % last more than twice or less than half as long as the 5
-- around them in the median (with an `every` above 1 at most 2 % 1.5 times), or a single one. Of those that repeat best
-- and within one point of the steadiest, those whose grids and blocks repeat, too, come first, then the shortest. No
-- row means that no period explains the kernels. It is a guess: equal layers without anything between the iterations
-- count as iterations, so do several that always come together, and where an iteration begins is arbitrary. What runs
-- before the first and after the last marker is in none.
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
-- column: every | count | | an iteration begins with every so many launches of the marker
-- column: kernels_cv_pct | % | .2f | coefficient of variation (n - 1) of the number of kernels from marker to marker
-- column: cv_pct | % | .2f | that of the durations
-- column: gpu_id | id | | number of the GPU
-- column: stream | id | | number of the CUDA stream of the marker; empty where all streams count
-- column: kernel | text | | number of the marker in this report, as kernel_summary and its kin take it
-- column: marker | text | | readable name of the marker
SELECT number, one.start_ns - capture_window.start_ns AS start_ns, one.end_ns - capture_window.start_ns AS end_ns,
    one.* EXCLUDE (number, start_ns, end_ns)
FROM selected_iteration AS one CROSS JOIN capture_window
ORDER BY number;
