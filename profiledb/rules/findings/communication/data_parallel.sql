-- title: One process drives several GPUs
-- question: Does one process copy its model to all GPUs in each step, as PyTorch's nn.DataParallel does?
-- The share of the active span (first to last operation of each GPU) in which GPUs compute nothing during the passes of
-- such a process. A pass begins with broadcasts of NCCL, which copy the model to each GPU, and ends with the last
-- reduction before the next broadcast, which adds the gradients on one GPU. In between, threads of one process launch
-- the kernels of all GPUs, and Python lets one of them run at a time. Only processes with kernels on several GPUs
-- count, and `passes` passes or more. With a process for each GPU some of this time remains: each of them launches
-- kernels, too, and all of them reduce gradients.
-- needs: kernel
-- includes: finding, work, nccl
-- selects: part
-- once: span, compute, communication
-- parts: communication, copies, copy call, synchronization, host code, OS runtime call, other CUDA call, launch call
-- parts: launch latency, between operations, module loading
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: passes = 3 fewest passes that count
-- column: devices | count | | GPUs of these processes
-- column: passes | count | | passes that broadcast the model and reduce its gradients
-- column: broadcasts | count | | broadcasts in them, on all GPUs
-- column: bare_ns | ns | | time of all GPUs in these passes in which they compute nothing
-- says: One process drives {devices} GPUs: in {passes} passes it copies its model to each of them by {broadcasts} broadcasts and reduces the gradients on one. Meanwhile the GPUs compute nothing for {bare_ns} in total ({value} of the time).
-- clear: Processes that drive several GPUs keep them waiting {value} of the time.
-- advice: [PyTorch, not DDP, not FSDP] Start a process for each GPU, `torchrun --nproc-per-node {devices}`, with `DistributedDataParallel(model, device_ids=[local_rank])`. `nn.DataParallel` copies the model to all GPUs in each step, and its threads share one Python interpreter, in which one thread runs at a time.
-- advice: [else] Start a process for each GPU, which keeps its copy of the model and reduces gradients by all-reduce.
-- advice: [Hugging Face] `Trainer` takes `nn.DataParallel` if `python` starts it where several GPUs are visible: start it by `torchrun` or `accelerate launch`, or set `CUDA_VISIBLE_DEVICES=0`.
-- source: PyTorch documentation, DataParallel ("it is recommended to use DistributedDataParallel"); threshold: ours. Pair on two H200: 207 ms a step, 52 with a process for each GPU
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS devices, 0 AS passes, 0 AS broadcasts, 0 AS bare_ns, NULL AS evidence
FROM finding_window WHERE ns > 0 AND (gpus = 1 OR NOT EXISTS (FROM finding_communication));

WITH driven AS MATERIALIZED (
    SELECT global_pid, device_id FROM selected_kernel GROUP BY global_pid, device_id
    QUALIFY count(*) OVER (PARTITION BY global_pid) > 1
), sent AS (
    SELECT global_pid, start_ns, end_ns, nccl_operation(short) = 'Broadcast' AS is_copy
    FROM finding_communication
    WHERE nccl_operation(short) IN ('Broadcast', 'Reduce') AND global_pid IN (SELECT global_pid FROM driven)
), turned AS (
    SELECT *, is_copy AND NOT lag(is_copy, 1, false) OVER (PARTITION BY global_pid ORDER BY start_ns, end_ns) AS opens
    FROM sent
), numbered AS (
    SELECT *, count_if(opens) OVER (
            PARTITION BY global_pid ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
        ) AS pass
    FROM turned
), pass AS MATERIALIZED (
    SELECT global_pid, pass, min(start_ns) AS start_ns, max(end_ns) AS end_ns, count_if(is_copy) AS broadcasts
    FROM numbered WHERE pass > 0
    GROUP BY global_pid, pass HAVING NOT bool_and(is_copy)
    QUALIFY count(*) OVER (PARTITION BY global_pid) >= $passes::BIGINT
), taken AS MATERIALIZED ( -- noqa: ST03
    SELECT device_id, start_ns, end_ns FROM pass JOIN driven USING (global_pid)
), lost AS (FROM finding_cover('taken', 'finding_compute')
), total AS (
    SELECT count(*) AS passes, coalesce(sum(broadcasts), 0)::BIGINT AS broadcasts, (
            SELECT count(DISTINCT device_id) FROM taken
        ) AS devices
    FROM pass
), shown AS (
    SELECT {
            'name': 'Pass ' || pass, 'ns': end_ns - start_ns, 'count': broadcasts, 'start_ns': start_ns,
            'end_ns': end_ns
        } AS piece
    FROM pass ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * lost.bare_ns / nullif(finding_window.ns, 0) AS value, lost.bare_ns AS saving_ns, devices, passes,
    broadcasts, lost.bare_ns, (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN lost CROSS JOIN total;
