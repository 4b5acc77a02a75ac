-- title: Operations of NCCL
-- One row per kernel of NCCL (its name begins with nccl). Operation, data type, algorithm and protocol are read from
-- the name. NCCL has one kernel for several algorithms, protocols and reductions (best_kernel of its generate.py),
-- called RING_LL and Sum as a rule: what ran may be another protocol, and a signed integer is called an unsigned one.
-- Bytes and reduction are what NCCL says of the call that launched it, in the payload of its NVTX range: of a group
-- that launched one kernel for several calls the sum, of sends and receives the larger of both; empty where it is not
-- known. Where the PyTorch profiler captured it, they follow from the elements and types that it keeps of collectives.
-- A duration holds the wait for the ranks that came later.
-- page: scaling
-- needs: kernel
-- includes: selection, step, nccl
-- selects: part
-- param: steps = ranges (ranges, kernels, nothing) what tells the steps
-- param: points = 100000 at most this many rows, the first ones
-- column: operation | text | | AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, SendRecv, AlltoAll ...; other
-- column: bytes | bytes | | message as NCCL counts it: of AllGather, ReduceScatter and AlltoAll the part of one rank
-- column: size_bytes | bytes | | size as nccl-tests counts it: the whole of these parts; empty where the ranks are not known
-- column: duration_ns | ns | | duration on the GPU
-- column: algbw_gb_per_s | GB/s | .2f | size over duration, 10^9 bytes per second
-- column: start_ns | ns | | start, from the start of the capture
-- column: step | count | | number of the step that launched it, empty outside of steps
-- column: gpu_id | id | | number of the GPU
-- column: stream | id | | number of the CUDA stream
-- column: pid | text | | process
-- column: data_type | text | | type of the elements
-- column: reduction | text | | reduction operation, as NCCL says of the call
-- column: algorithm | text | | algorithm in the name of the kernel
-- column: protocol | text | | protocol in the name of the kernel
-- column: calls | count | | calls of the program that the kernel stands for
-- column: communicator | text | | number of the communicator, or the process group with its ranks
-- column: sequence | count | | number of the operation in its process group, the same on all ranks, where captured
-- column: ranks | count | | ranks of the communicator, or those that the program says that it has
-- column: kernel | text | | name of the kernel
WITH step AS MATERIALIZED (
    FROM selected_step_time($steps)
), op AS MATERIALIZED (
    SELECT *, pid_of(global_pid) AS pid FROM selected_nccl_op ORDER BY start_ns, kernel_id LIMIT $points::BIGINT
), around AS ( -- a thread that autograd drives has the range of NCCL itself around the call, and that of its driver
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
