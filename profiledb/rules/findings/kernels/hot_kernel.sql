-- title: One kernel takes most of the time
-- question: Does a single kernel take most of the kernel time?
-- The share of the kernel with the largest total in the kernel time of the selection, without communication, whose time
-- includes waits for other ranks. The value is 0 if the kernel takes less than `least_pct` percent of the active span
-- (first to last operation of each GPU), or less than `least_ns` per launch. The cause is `few results` if nine of ten
-- of its first `looked` launches follow a memset or a copy to the GPU of at most `few_bytes` bytes and precede a copy
-- of as many bytes to the host, with no other kernel between, and have a thread per byte or more: they then seem to add
-- into a few numbers, which atomics do one after the other.
-- needs: kernel
-- includes: finding, nccl, work
-- selects: part
-- once: span, names, sums
-- unit: %
-- fires: above
-- weight: note
-- param: threshold = 50 fires at or above this share of the kernel time
-- param: least_ns = 2000 the value is 0 below this mean duration: launches are then the cost
-- param: looked = 50 launches that are looked at for the cause
-- param: few_bytes = 65536 most bytes of a result of few numbers
-- param: least_pct = 5 share of the active span below which the value is 0, percent
-- column: kernel | name | | its name
-- column: filter | text | | the filter by which ncu finds it
-- column: total_ns | ns | | sum of its durations
-- column: launches | count | | number of its launches
-- column: result_bytes | bytes | | bytes that are set before a launch and read after it
-- says: {kernel} takes {value} of the kernel time ({total_ns} in {launches} {launches|launch|launches}). The program sets {result_bytes} before a launch, and reads as many after it.
-- says: {kernel} takes {value} of the kernel time ({total_ns} in {launches} {launches|launch|launches}).
-- clear: No kernel that matters takes more than {value} of the kernel time.
-- advice: [few results] If the threads of {kernel} add into these {result_bytes} by atomics, they wait for each other: let each block add in shared memory first, and then its sums to the result.
-- advice: [Numba, not few results] Look for FP64 in {kernel} first: a constant of Python beside arrays of FP32 makes Numba compute in FP64, and `np.float32(0.5)` does not.
-- advice: [not HIP] Profile {kernel} with `ncu --set full -k {filter|regex:NAME} --launch-count 3 -o report PROGRAM`, then link that report in the Library: it shows what limits the kernel.
-- advice: [HIP] Profile {kernel} with `rocprof-compute profile`: it shows what limits the kernel.
-- source: nsys-ai (one name over 50 % of the kernel time)
WITH by_kernel AS (
    SELECT kernel, sum(ns)::BIGINT AS ns, sum(launches)::BIGINT AS launches,
        any_value(readable) AS name, any_value(short) AS short
    FROM finding_kernel_sum JOIN kernel_key USING (name_id) WHERE NOT is_communication(short, class)
        AND NOT is_spinning(short) GROUP BY kernel
), ranked AS (SELECT *, sum(ns) OVER () AS all_ns FROM by_kernel ORDER BY ns DESC, kernel LIMIT 3
), first_kernel AS (SELECT * FROM ranked ORDER BY ns DESC, kernel LIMIT 1
), launch AS MATERIALIZED (
    SELECT kernel_id, device_id, start_ns, end_ns,
        grid_x::BIGINT * grid_y * grid_z * block_x * block_y * block_z AS threads
    FROM selected_kernel SEMI JOIN (SELECT name_id FROM kernel_key JOIN first_kernel USING (kernel)) USING (name_id)
    ORDER BY start_ns, kernel_id LIMIT $looked::BIGINT
), ready AS (
    SELECT device_id, end_ns AS at_ns, bytes FROM selected_memop
    WHERE bytes <= $few_bytes::BIGINT AND (copy_kind = 1 OR kind = 'memset')
), back AS (
    SELECT device_id, start_ns AS at_ns, bytes FROM selected_memop
    WHERE bytes <= $few_bytes::BIGINT AND copy_kind = 2
), met AS MATERIALIZED (
    SELECT kernel_id, launch.device_id, ready.at_ns AS low, back.at_ns AS high, back.bytes
    FROM launch ASOF JOIN ready ON launch.device_id = ready.device_id AND launch.start_ns >= ready.at_ns
    ASOF JOIN back ON launch.device_id = back.device_id AND launch.end_ns <= back.at_ns
    WHERE ready.bytes = back.bytes AND threads >= back.bytes
), adding AS (
    SELECT any_value(bytes) AS bytes FROM met ANTI JOIN selected_kernel AS other
        ON other.device_id = met.device_id AND other.start_ns > low AND other.start_ns < high
        AND other.kernel_id <> met.kernel_id
    HAVING count(DISTINCT bytes) = 1 AND 10 * count(*) >= 9 * (SELECT count(*) FROM launch)
), shown AS (
    SELECT {
            'name': name, 'value': 100.0 * ns / nullif(all_ns, 0), 'ns': ns, 'count': launches, 'kernel': kernel
        } AS piece
    FROM ranked
)
SELECT CASE WHEN 100 * first_kernel.ns < $least_pct::DOUBLE * finding_window.ns
            OR first_kernel.ns < $least_ns::BIGINT * launches THEN 0
        ELSE 100.0 * first_kernel.ns / nullif(all_ns, 0) END AS value, name AS kernel,
    CASE WHEN regexp_full_match(short, '\w+') THEN short
        ELSE 'regex:' || nullif(regexp_extract(short, '\w+'), '') END AS filter, first_kernel.ns AS total_ns, launches,
    (SELECT bytes FROM adding) AS result_bytes,
    CASE WHEN EXISTS (FROM adding) THEN 'few results' END AS cause,
    (SELECT list(piece ORDER BY piece.ns DESC) FROM shown) AS evidence
FROM first_kernel CROSS JOIN finding_window;
