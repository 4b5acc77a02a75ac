-- title: Durations of kernels, sampled
-- One row per sampled launch. A kernel has at most 2,000 of them, chosen by a hash of their numbers: always the same,
-- in an order unrelated to time. A kernel with no more than that has all of them.
-- page: compare
-- needs: kernel
-- includes: selection
-- selects: part
-- column: kernel | text | | number of the kernel in this report
-- column: place | count | | position in the sample of this kernel, from 1
-- column: duration_ns | ns | | duration of the launch
WITH chosen AS (
    SELECT kernel, arg_min(end_ns - start_ns, hash(kernel_id), 2000) AS durations
    FROM selected_kernel JOIN (SELECT name_id, kernel FROM kernel_key) USING (name_id) GROUP BY kernel
)
SELECT kernel, generate_subscripts(durations, 1) AS place, unnest(durations) AS duration_ns
FROM chosen
ORDER BY kernel, place;
