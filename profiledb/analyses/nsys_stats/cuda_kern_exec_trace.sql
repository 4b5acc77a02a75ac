-- title: CUDA kernel launch and execution time trace
-- Kernels with their launch calls, in the order of the calls, as `nsys stats -r cuda_kern_exec_trace` prints them
-- (`by=short` is its option `base`). A kernel that started before its call returned has no queue time. Kernels without
-- a call in the report have no row. Calls with the same start, and kernels of the same call, keep the order of the
-- export. Kernels and calls with an end before their start are left out, unlike in nsys.
-- includes: selection, nsys
-- selects: part
-- param: by = demangled (demangled, short, mangled) kernel name to show
-- needs: kernel
-- needs: api_call
-- column: API Start (ns) | ns | | start of the call on the CPU
-- column: API Dur (ns) | ns | | duration of the call
-- column: Queue Start (ns) | ns | | end of the call, if the kernel started after it
-- column: Queue Dur (ns) | ns | | from the end of the call to the start of the kernel
-- column: Kernel Start (ns) | ns | | start of the kernel on the GPU
-- column: Kernel Dur (ns) | ns | | duration of the kernel
-- column: Total Dur (ns) | ns | | from the start of the call to the end of kernel and call
-- column: PID | id | | process of the call
-- column: TID | id | | thread of the call
-- column: DevId | id | | GPU
-- column: API Function | text | | name of the function without its version suffix
-- column: GridXYZ | blocks | | blocks of the grid in x, y and z, each in four characters or more
-- column: BlockXYZ | threads | | threads per block in x, y and z, each in four characters or more
-- column: Kernel Name | text | | name of the kernel
WITH call AS (
    SELECT call_id, start_ns, end_ns, correlation_id, name_id, global_tid,
        global_tid - (global_tid & 16777215) AS global_pid
    FROM api_call
)
SELECT call.start_ns AS "API Start (ns)", call.end_ns - call.start_ns AS "API Dur (ns)",
    CASE WHEN kernel.start_ns >= call.end_ns THEN call.end_ns END AS "Queue Start (ns)",
    CASE WHEN kernel.start_ns >= call.end_ns THEN kernel.start_ns - call.end_ns END AS "Queue Dur (ns)",
    kernel.start_ns AS "Kernel Start (ns)", kernel.end_ns - kernel.start_ns AS "Kernel Dur (ns)",
    greatest(call.end_ns, kernel.end_ns) - call.start_ns AS "Total Dur (ns)",
    pid_of(global_tid) AS "PID", tid_of(global_tid) AS "TID", device_id AS "DevId",
    nsys_function(value) AS "API Function",
    format('{:4d} {:4d} {:4d}', grid_x, grid_y, grid_z) AS "GridXYZ",
    format('{:4d} {:4d} {:4d}', block_x, block_y, block_z) AS "BlockXYZ", name AS "Kernel Name"
FROM selected_kernel AS kernel
JOIN call ON call.correlation_id = kernel.correlation_id AND call.global_pid = kernel.global_pid
LEFT JOIN kernel_names($by) AS names ON names.name_id = kernel.name_id
LEFT JOIN string ON string_id = call.name_id
ORDER BY call.start_ns, kernel_id, call.call_id;
