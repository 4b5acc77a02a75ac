-- title: CUDA asynchronous copies of pageable memory
-- Copies that were asked for asynchronously but block the CPU all the same, because one side is pageable memory, the
-- longest first, as `nsys analyze -r cuda_memcpy_async:rows=-1` prints them. Pinned memory would not block it.
-- Operations are matched with calls by their correlation alone, as nsys does: where processes of one capture count the
-- same correlations, an operation also appears with a call of the other process. Of equal durations the one whose call
-- the report has first comes first.
-- needs: memop
-- needs: api_call
-- includes: selection, nsys
-- selects: part
-- column: Duration (ns) | ns | | duration of the copy on the GPU
-- column: Start (ns) | ns | | start of the copy on the GPU
-- column: Src Kind | text | | memory kind of the source
-- column: Dst Kind | text | | kind of memory of the destination
-- column: Bytes (MB) | MB | .3f | size in units of 1,000,000 bytes
-- column: PID | text | | process id
-- column: Device ID | text | | number of the GPU
-- column: Context ID | text | | CUDA context
-- column: Green Context ID | text | | green context, where there is one
-- column: Stream ID | text | | CUDA stream
-- column: API Name | text | | function that was called, with its version suffix
SELECT end_ns - start_ns AS "Duration (ns)", start_ns AS "Start (ns)", source AS "Src Kind",
    destination AS "Dst Kind", bytes / 1e6 AS "Bytes (MB)",
    pid_of(global_pid) AS "PID", device_id AS "Device ID", context_id AS "Context ID",
    nullif(green_context_id, 0) AS "Green Context ID", stream_id AS "Stream ID", function AS "API Name"
FROM selected_memory_call
WHERE kind = 'memcpy' AND (src_kind = 0 OR dst_kind = 0) AND function ILIKE 'cudaMemcpy%Async%'
ORDER BY "Duration (ns)" DESC, asked_id, start_ns, memop_id;
