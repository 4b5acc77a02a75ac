-- title: CUDA synchronous memory sets
-- Memory sets that hold the host until they are done, those of pinned and of unified memory, the longest first, as
-- `nsys analyze -r cuda_memset_sync:rows=-1` prints them.
-- Operations are matched with calls by their correlation alone, as nsys does: where processes of one capture count the
-- same correlations, an operation also appears with a call of the other process. Of equal durations the one whose call
-- the report has first comes first.
-- needs: memop
-- needs: api_call
-- column: Duration (ns) | ns | | duration of the memory set on the GPU
-- column: Start (ns) | ns | | begin of the memory set on the GPU
-- column: Memory Kind | text | | kind of the memory that is set
-- column: Bytes (MB) | MB | .3f | size in units of 1,000,000 bytes
-- column: PID | text | | process
-- column: Device ID | text | | number of the GPU
-- column: Context ID | text | | CUDA context
-- column: Green Context ID | text | | green context, where there is one
-- column: Stream ID | text | | CUDA stream
-- column: API Name | text | | function that was called, with its version suffix
SELECT memop.end_ns - memop.start_ns AS "Duration (ns)", memop.start_ns AS "Start (ns)",
    label AS "Memory Kind", bytes / 1e6 AS "Bytes (MB)",
    (global_pid >> 24) & 16777215 AS "PID", device_id AS "Device ID", context_id AS "Context ID",
    nullif(green_context_id, 0) AS "Green Context ID", stream_id AS "Stream ID", string.value AS "API Name"
FROM selected_memop AS memop JOIN api_call USING (correlation_id) JOIN string ON string_id = name_id
LEFT JOIN enum_value ON enum = 'CUDA_MEM_KIND' AND enum_value.id = dst_kind
WHERE kind = 'memset' AND dst_kind IN (1, 4)  -- pinned, managed
    AND string.value ILIKE 'cudaMemset%' AND string.value NOT ILIKE '%Async%'
ORDER BY "Duration (ns)" DESC, api_call.call_id, memop.start_ns, memop_id;
