-- title: One kernel takes most of the time
-- question: Does a single kernel take most of the kernel time?
-- The share of the kernel with the largest total in the kernel time of the selection, without communication, whose time
-- includes waits for other ranks. The value is 0 if the kernel takes less than `least_pct` percent of the active span
-- (first to last operation of each GPU), or less than `least_ns` per launch.
-- needs: kernel
-- includes: finding, nccl, work
-- selects: part
-- once: span, names, sums
-- unit: %
-- fires: above
-- weight: note
-- param: threshold = 50 fires at or above this share of the kernel time
-- param: least_ns = 2000 the value is 0 below this mean duration: launches are then the cost
-- param: least_pct = 5 share of the active span below which the value is 0, percent
-- column: kernel | name | | its name
-- column: base | text | | its name without parameters, as ncu's filter takes it
-- column: total_ns | ns | | sum of its durations
-- column: launches | count | | number of its launches
-- says: {kernel} takes {value} of the kernel time ({total_ns} in {launches} {launches|launch|launches}).
-- clear: No kernel that matters takes more than {value} of the kernel time.
-- advice: [not HIP] Profile {kernel} with `ncu --set full -k {base|regex:NAME} --launch-count 3 -o report PROGRAM`, then link that report in the Library: it shows what limits the kernel.
-- advice: [HIP] Profile {kernel} with `rocprof-compute profile`: it shows what limits the kernel.
-- source: nsys-ai (one name over 50 % of the kernel time)
WITH by_kernel AS (
    SELECT kernel, sum(ns)::BIGINT AS ns, sum(launches)::BIGINT AS launches,
        any_value(readable) AS name, any_value(short) AS short
    FROM finding_kernel_sum JOIN kernel_key USING (name_id) WHERE NOT is_communication(short, class)
        AND NOT is_spinning(short) GROUP BY kernel
), ranked AS (SELECT *, sum(ns) OVER () AS all_ns FROM by_kernel ORDER BY ns DESC, kernel LIMIT 3
), first_kernel AS (SELECT * FROM ranked ORDER BY ns DESC, kernel LIMIT 1
), shown AS (
    SELECT {
            'name': name, 'value': 100.0 * ns / nullif(all_ns, 0), 'ns': ns, 'count': launches, 'kernel': kernel
        } AS piece
    FROM ranked
)
SELECT CASE WHEN 100 * first_kernel.ns < $least_pct::DOUBLE * finding_window.ns
            OR first_kernel.ns < $least_ns::BIGINT * launches THEN 0
        ELSE 100.0 * first_kernel.ns / nullif(all_ns, 0) END AS value, name AS kernel,
    CASE WHEN regexp_full_match(short, '\w+') THEN short END AS base, first_kernel.ns AS total_ns,
    launches,
    (SELECT list(piece ORDER BY piece.ns DESC) FROM shown) AS evidence
FROM first_kernel CROSS JOIN finding_window;
