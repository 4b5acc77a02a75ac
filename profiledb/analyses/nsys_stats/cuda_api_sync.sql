-- title: CUDA synchronization calls
-- Calls that block the CPU until the GPU is done, cudaDeviceSynchronize and cudaStreamSynchronize, longest first, as
-- `nsys analyze -r cuda_api_sync:rows=-1` prints them. Equal durations keep the order of the report.
-- needs: api_call
-- includes: selection
-- selects: part
-- column: Duration (ns) | ns | | duration of the call
-- column: Start (ns) | ns | | start of the call
-- column: PID | text | | process id
-- column: TID | text | | thread of the call
-- column: API Name | text | | name of the function with its version suffix
SELECT end_ns - start_ns AS "Duration (ns)", start_ns AS "Start (ns)", pid_of(global_tid) AS "PID",
    tid_of(global_tid) AS "TID", value AS "API Name"
FROM selected_api_call AS api_call JOIN string ON string_id = name_id
WHERE value ILIKE 'cudaDeviceSynchronize%' OR value ILIKE 'cudaStreamSynchronize%'
ORDER BY "Duration (ns)" DESC, call_id;
