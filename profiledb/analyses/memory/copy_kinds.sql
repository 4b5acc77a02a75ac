-- title: Memcpy and memset by kind of memory and function
-- Memcpy and memset operations by direction, memory kind on both sides and function, longest total of calls first.
-- `held` is the reason why the CPU waits in the call. synchronous: a Memcpy without Async, except those that return
-- early: copies to the GPU of 64,000 bytes or less and copies inside one GPU; a Memset without Async of pinned or
-- managed memory. pageable: an asynchronous copy with pageable memory on one side, which blocks the CPU until the data
-- is staged. These are the cases of `cuda_memcpy_sync`, `cuda_memset_sync` and `cuda_memcpy_async`, here also for
-- driver functions and counted once each.
-- page: memory
-- show: direction 150, source, destination, function 180, held 182, call_ns, longest_call_ns, copy_ns, count, bytes
-- show: bytes_per_s
-- prefetch: part
-- needs: memop
-- includes: memory
-- selects: part
-- once: functions
-- column: direction | text | | memcpy direction, or memset
-- column: source = From | text | | memory kind of the source
-- column: destination = To | text | | memory kind of the destination, or of the memory that is set
-- column: function | text | | called function, without its version suffix
-- column: held = Blocked the CPU because | text | | reason why the CPU waits in the call; empty if it does not wait
-- column: count = Operations | count | | number of operations
-- column: bytes = Size | bytes | | sum of sizes
-- column: copy_ns = GPU | ns | | sum of durations on the GPU
-- column: call_ns = CPU | ns | | sum of call durations on the CPU
-- column: longest_call_ns | ns | | duration of the longest call
-- column: bytes_per_s = Bandwidth | bytes/s | .0f | sum of sizes over sum of durations on the GPU
WITH copy AS (
    SELECT direction, src_kind, dst_kind, kind, bytes, duration_ns, function, api_call.call_id,
        api_call.end_ns - api_call.start_ns AS call_ns,
        CASE WHEN function ILIKE 'cu%Memcpy%Async%' AND (src_kind = 0 OR dst_kind = 0) THEN 'pageable'
            WHEN function ILIKE 'cu%Memcpy%' AND function NOT ILIKE '%Async%' AND NOT (bytes <= 64000 AND copy_kind = 1)
                AND NOT coalesce(src_device_id = dst_device_id, false)
                AND copy_kind NOT IN (5, 6, 7, 8) THEN 'synchronous'
            WHEN function ILIKE 'cu%Memset%' AND function NOT ILIKE '%Async%' AND dst_kind IN (1, 4) THEN 'synchronous'
        END AS held
    FROM selected_copy LEFT JOIN api_call USING (call_id)
    LEFT JOIN api_function ON api_function.name_id = api_call.name_id
), summary AS (
    SELECT direction, src_kind, dst_kind, function, held, count(*) AS count, sum(bytes)::BIGINT AS bytes,
        sum(duration_ns)::BIGINT AS copy_ns, sum(call_ns)::BIGINT AS call_ns, max(call_ns) AS longest_call_ns
    FROM copy GROUP BY ALL
)
SELECT direction, source.label AS source, destination.label AS destination, function, held, count, bytes, copy_ns,
    call_ns, longest_call_ns, bytes * 1e9 / nullif(copy_ns, 0) AS bytes_per_s
FROM summary
LEFT JOIN enum_value AS source ON source.enum = 'CUDA_MEM_KIND' AND source.id = src_kind
LEFT JOIN enum_value AS destination ON destination.enum = 'CUDA_MEM_KIND' AND destination.id = dst_kind
ORDER BY call_ns DESC NULLS LAST, copy_ns DESC, direction, function, held, source, destination;
