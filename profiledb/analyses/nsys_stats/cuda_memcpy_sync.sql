-- title: CUDA synchronous copies
-- Copies that block the CPU until they are done, longest first, as `nsys analyze -r cuda_memcpy_sync:rows=-1` prints
-- them. Copies to the GPU of 64,000 bytes or less, and those that nsys knows to stay on one GPU, are left out.
-- Operations and calls match by correlation id alone, as in nsys: if processes of one capture use the same ids, an
-- operation also appears with a call of the other process. Equal durations keep the order of the calls in the report.
-- needs: memop
-- needs: api_call
-- includes: selection, nsys
-- selects: part
-- column: Duration (ns) | ns | | duration of the copy on the GPU
-- column: Start (ns) | ns | | start of the copy on the GPU
-- column: Src Kind | text | | memory kind of the source
-- column: Dst Kind | text | | memory kind of the destination
-- column: Bytes (MB) | MB | .3f | size in units of 1,000,000 bytes
-- column: PID | text | | process id
-- column: Device ID | text | | number of the GPU
-- column: Context ID | text | | CUDA context
-- column: Green Context ID | text | | green context, if any
-- column: Stream ID | text | | CUDA stream
-- column: API Name | text | | called function, with its version suffix
SELECT end_ns - start_ns AS "Duration (ns)", start_ns AS "Start (ns)", source AS "Src Kind",
    destination AS "Dst Kind", bytes / 1e6 AS "Bytes (MB)",
    pid_of(global_pid) AS "PID", device_id AS "Device ID", context_id AS "Context ID",
    nullif(green_context_id, 0) AS "Green Context ID", stream_id AS "Stream ID", function AS "API Name"
FROM selected_memory_call
WHERE kind = 'memcpy' AND NOT (bytes <= 64000 AND copy_kind = 1)  -- 1: host to device
    AND NOT (src_device_id IS NOT NULL AND src_device_id = dst_device_id)
    AND function ILIKE 'cudaMemcpy%' AND function NOT ILIKE '%Async%'
ORDER BY "Duration (ns)" DESC, asked_id, start_ns, memop_id;
