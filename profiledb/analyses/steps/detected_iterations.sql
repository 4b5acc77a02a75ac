-- title: Iterations detected from kernels
-- Iterations of a program without ranges, from its kernels alone, in the order of their starts: those of the stream
-- with the most kernel time, or of all streams of its GPU and process where it has less than half of their time or
-- launches. A kernel that comes back is the marker, with 3 to 10,000 launches, from first to last at least half of the
-- kernels; an iteration lasts from the start of a launch to that of the next, or of every second, third and so on to
-- every 12th (`every`). Where fewer than 10 kernels repeat at times that vary by more than their mean and a pause
-- follows each time after as many launches, it lasts from pause to pause. Such a period is an iteration where it
-- explains the kernels: the number of its kernels varies by at most 25 % (coefficient of variation, `kernels_cv_pct`),
-- and those that run the same kernels, names by number, are 95 % of all (or all but two of ten, or 80 % where the
-- numbers vary by at most 1 %), else half of five or more, and hold half of the kernels; else each has as many kernels,
-- or there are 8 or more of 4 kernels or more. Those that stand out of both neighbors, lasting more than twice or less
-- than half as long, are at most 5 %, or 25 % where the marker is at most one of four kernels, or a single one. Several
-- launches of the marker alone are a period only where they take the same time: the 10th and the 90th percentile are at
-- most 20 % of the median apart. Of the periods that repeat best and within one point of the steadiest, one from pause
-- to pause comes first, then those whose grids and blocks repeat, too, then the shortest. No row means that no period
-- explains the kernels. It is a guess: equal layers without anything between the iterations count as iterations, so do
-- several that always come together, and where an iteration begins is arbitrary. What lies in one step that a range
-- tells is none: layers repeat there. What runs before the first and after the last marker is in none.
-- page: phases
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
