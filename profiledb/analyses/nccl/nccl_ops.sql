-- title: Operations of NCCL
-- One row per NCCL kernel (its name starts with nccl). Operation, data type, algorithm and protocol come from the name.
-- NCCL uses one kernel for several algorithms, protocols and reductions (best_kernel of its generate.py), usually named
-- RING_LL and Sum: the actual protocol may differ, and signed integers are named unsigned. Bytes and reduction come
-- from the NVTX payload of NCCL's call: the sum over a group that launched one kernel for several calls, for sends and
-- receives the larger of both; empty if unknown. In PyTorch profiler traces they follow from the recorded elements and
-- types of collectives. A duration includes the wait for late ranks.
-- page: scaling
-- needs: kernel
-- includes: selection, step, nccl
-- selects: part
-- param: steps = ranges (ranges, kernels, nothing) source of the steps
-- param: points = 100000 at most this many rows, the first ones
-- column: operation | text | | AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, SendRecv, AlltoAll ...; other
-- column: bytes | bytes | | message size of NCCL: for AllGather, ReduceScatter and AlltoAll the part of one rank
-- column: size_bytes | bytes | | size as nccl-tests counts it: the whole of these parts; empty if the ranks are unknown
-- column: duration_ns | ns | | duration on the GPU
-- column: algbw_gb_per_s | GB/s | .2f | size over duration, 10^9 bytes per second
-- column: start_ns | ns | | start, from the start of the capture
-- column: step | count | | number of the step that launched it, empty outside steps
-- column: gpu_id | id | | number of the GPU
-- column: stream | id | | number of the CUDA stream
-- column: pid | text | | process id
-- column: data_type | text | | type of the elements
-- column: reduction | text | | reduction operation, from NCCL's call
-- column: algorithm | text | | algorithm in the kernel's name
-- column: protocol | text | | protocol in the kernel's name
-- column: calls | count | | number of program calls that the kernel serves
-- column: communicator | text | | number of the communicator, or the process group with its ranks
-- column: sequence | count | | number of the operation in its process group, the same on all ranks, if captured
-- column: ranks | count | | ranks of the communicator, or the number that the program states
-- column: kernel | text | | name of the kernel
WITH step AS MATERIALIZED (
    FROM selected_step_time($steps)
), op AS MATERIALIZED (
    SELECT *, pid_of(global_pid) AS pid FROM selected_nccl_op ORDER BY start_ns, kernel_id LIMIT $points::BIGINT
), around AS ( -- on a thread that autograd drives, both NCCL's range around the call and the driver's range match
    SELECT kernel_id, pid, process_range FROM op
    UNION ALL SELECT kernel_id, pid, further.process_range FROM op JOIN call_range AS further USING (call_id)
), by_range AS (
    SELECT kernel_id, min(number) AS number FROM around ASOF JOIN (FROM step WHERE pre IS NOT NULL) AS step
        ON around.pid = step.pid AND process_range >= pre WHERE process_range <= post GROUP BY kernel_id
), by_time AS (
    SELECT kernel_id, number FROM op ASOF JOIN (FROM step WHERE pre IS NULL) AS step
        ON op.pid = step.pid AND op.start_ns >= step.start_ns WHERE op.start_ns < step.end_ns
)
SELECT operation, bytes, size_bytes, op.duration_ns, size_bytes / nullif(op.duration_ns, 0) AS algbw_gb_per_s,
    op.start_ns - capture_window.start_ns AS start_ns, number AS step, device_id AS gpu_id, stream_id AS stream, pid,
    data_type, reduction, algorithm, protocol, calls, communicator, sequence, ranks, kernel
FROM op LEFT JOIN (FROM by_range UNION ALL FROM by_time) USING (kernel_id) CROSS JOIN capture_window
ORDER BY op.start_ns, kernel_id;
