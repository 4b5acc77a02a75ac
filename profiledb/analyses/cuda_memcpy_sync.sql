-- title: CUDA synchronous copies
-- Copies that hold the host until they are done, the longest first, as `nsys analyze -r cuda_memcpy_sync:rows=-1`
-- prints them. Copies to the GPU of 64,000 bytes or less, and those that nsys knows to stay on one GPU, are left out.
-- Operations are matched with calls by their correlation alone, as nsys does: where processes of one capture count the
-- same correlations, an operation also appears with a call of the other process. Of equal durations the one whose call
-- the report has first comes first.
-- needs: memop
-- needs: api_call
-- column: Duration (ns) | ns | | duration of the copy on the GPU
-- column: Start (ns) | ns | | begin of the copy on the GPU
-- column: Src Kind | text | | kind of memory of the source
-- column: Dst Kind | text | | kind of memory of the destination
-- column: Bytes (MB) | MB | .3f | size in units of 1,000,000 bytes
-- column: PID | text | | process
-- column: Device ID | text | | number of the GPU
-- column: Context ID | text | | CUDA context
-- column: Green Context ID | text | | green context, where there is one
-- column: Stream ID | text | | CUDA stream
-- column: API Name | text | | function that was called, with its version suffix
SELECT memop.end_ns - memop.start_ns AS "Duration (ns)", memop.start_ns AS "Start (ns)",
    source.label AS "Src Kind", destination.label AS "Dst Kind", bytes / 1e6 AS "Bytes (MB)",
    (global_pid >> 24) & 16777215 AS "PID", device_id AS "Device ID", context_id AS "Context ID",
    nullif(green_context_id, 0) AS "Green Context ID", stream_id AS "Stream ID", string.value AS "API Name"
FROM selected_memop AS memop JOIN api_call USING (correlation_id) JOIN string ON string_id = name_id
LEFT JOIN enum_value AS source ON source.enum = 'CUDA_MEM_KIND' AND source.id = src_kind
LEFT JOIN enum_value AS destination ON destination.enum = 'CUDA_MEM_KIND' AND destination.id = dst_kind
WHERE kind = 'memcpy' AND NOT (bytes <= 64000 AND copy_kind = 1)  -- 1: host to device
    AND NOT (src_device_id IS NOT NULL AND src_device_id = dst_device_id)
    AND string.value ILIKE 'cudaMemcpy%' AND string.value NOT ILIKE '%Async%'
ORDER BY "Duration (ns)" DESC, api_call.call_id, memop.start_ns, memop_id;
