-- title: CUDA API trace
-- One row per CUDA call in order of start, as `nsys stats -r cuda_api_trace` prints them. Calls with the same start
-- keep the order of the export.
-- needs: api_call
-- includes: selection, nsys
-- selects: part
-- column: Start (ns) | ns | | start of the call
-- column: Duration (ns) | ns | | duration of the call
-- column: Name | text | | name of the function without its version suffix
-- column: Result | code | | return value of the function, 0 is success
-- column: CorrID | id | | correlation id, joins the operations of the same process
-- column: Pid | id | | process id
-- column: Tid | id | | thread
-- column: T-Pri | number | | priority of the thread
-- column: Thread Name | text | | name of the thread
SELECT start_ns AS "Start (ns)", end_ns - start_ns AS "Duration (ns)",
    nsys_function(value) AS "Name", return_value AS "Result",
    correlation_id AS "CorrID", pid_of(global_tid) AS "Pid", tid_of(global_tid) AS "Tid",
    priority AS "T-Pri", thread.name AS "Thread Name"
FROM selected_api_call AS api_call
LEFT JOIN string ON string_id = name_id
LEFT JOIN thread USING (global_tid)
ORDER BY start_ns, call_id;
