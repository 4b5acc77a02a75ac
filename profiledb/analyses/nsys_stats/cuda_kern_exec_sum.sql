-- title: CUDA kernel launch and execution time summary
-- Times of launch calls, queues and kernels by thread, GPU, function and kernel, as `nsys stats -r cuda_kern_exec_sum`
-- prints them (`by=short` is its option `base`). Only kernels that did not start before their call returned have a
-- queue time, and QCount counts these. Kernels without a call in the report are missing. Rows with the same mean total
-- are ordered by thread, GPU and names. Kernels and calls with an end before their start are left out, unlike in nsys.
-- includes: selection, nsys
-- selects: part
-- param: by = demangled (demangled, short, mangled) kernel name to group by
-- needs: kernel
-- needs: api_call
-- column: PID | id | | process of the call
-- column: TID | id | | thread of the call
-- column: DevId | id | | GPU
-- column: Count | count | | number of kernels
-- column: QCount | count | | number of kernels with a queue time
-- column: TAvg (ns) | ns | .1f | mean time from start of the call to end of both
-- column: TMed (ns) | ns | .1f | median time from start of the call to end of both
-- column: TMin (ns) | ns | | shortest time from start of the call to end of both
-- column: TMax (ns) | ns | | longest time from start of the call to end of both
-- column: TStdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for one, of the time from start of the call to end of both
-- column: AAvg (ns) | ns | .1f | mean duration of the call
-- column: AMed (ns) | ns | .1f | median duration of the call
-- column: AMin (ns) | ns | | shortest duration of the call
-- column: AMax (ns) | ns | | longest duration of the call
-- column: AStdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for one, of the call
-- column: QAvg (ns) | ns | .1f | mean queue time
-- column: QMed (ns) | ns | .1f | median queue time
-- column: QMin (ns) | ns | | shortest queue time
-- column: QMax (ns) | ns | | longest queue time
-- column: QStdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for one or none, as in nsys, of queue times
-- column: KAvg (ns) | ns | .1f | mean duration of the kernel
-- column: KMed (ns) | ns | .1f | median duration of the kernel
-- column: KMin (ns) | ns | | shortest duration of the kernel
-- column: KMax (ns) | ns | | longest duration of the kernel
-- column: KStdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for one, of the kernel
-- column: API Name | text | | name of the function without its version suffix
-- column: Kernel Name | text | | name of the kernel
WITH functions AS (
    SELECT string_id, nsys_function(value) AS function,
        min(string_id) OVER (PARTITION BY function) AS function_key
    FROM string WHERE string_id IN (SELECT name_id FROM api_call)
), call AS (
    SELECT start_ns, end_ns, correlation_id, global_tid, global_tid - (global_tid & 16777215) AS global_pid,
        function, function_key
    FROM api_call LEFT JOIN functions ON string_id = name_id
), launch AS (
    SELECT global_tid, device_id, function_key, function, name_key, name,
        greatest(call.end_ns, kernel.end_ns) - call.start_ns AS total, call.end_ns - call.start_ns AS api,
        CASE WHEN kernel.start_ns >= call.end_ns THEN kernel.start_ns - call.end_ns END AS queue,
        kernel.end_ns - kernel.start_ns AS run
    FROM selected_kernel AS kernel
    JOIN call ON call.correlation_id = kernel.correlation_id AND call.global_pid = kernel.global_pid
    LEFT JOIN kernel_names($by) AS names ON names.name_id = kernel.name_id
)
SELECT pid_of(global_tid) AS "PID", tid_of(global_tid) AS "TID", device_id AS "DevId",
    count(*) AS "Count", count(queue) AS "QCount",
    nsys_round(avg(total)) AS "TAvg (ns)", nsys_round(median(total)) AS "TMed (ns)", min(total) AS "TMin (ns)",
    max(total) AS "TMax (ns)", nsys_round(deviation(total)) AS "TStdDev (ns)",
    nsys_round(avg(api)) AS "AAvg (ns)", nsys_round(median(api)) AS "AMed (ns)", min(api) AS "AMin (ns)",
    max(api) AS "AMax (ns)", nsys_round(deviation(api)) AS "AStdDev (ns)",
    nsys_round(avg(queue)) AS "QAvg (ns)", nsys_round(median(queue)) AS "QMed (ns)", min(queue) AS "QMin (ns)",
    max(queue) AS "QMax (ns)", nsys_round(deviation(queue)) AS "QStdDev (ns)",
    nsys_round(avg(run)) AS "KAvg (ns)", nsys_round(median(run)) AS "KMed (ns)", min(run) AS "KMin (ns)",
    max(run) AS "KMax (ns)", nsys_round(deviation(run)) AS "KStdDev (ns)",
    any_value(function) AS "API Name", any_value(name) AS "Kernel Name"
FROM launch
GROUP BY PID, TID, device_id, function_key, name_key
ORDER BY "TAvg (ns)" DESC, "PID", "TID", device_id, "API Name", "Kernel Name";
