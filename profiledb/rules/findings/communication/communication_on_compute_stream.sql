-- title: Communication on the compute stream
-- question: Do compute and communication share a stream and follow each other?
-- The time of communication without compute on any stream, as a share of the active span (first to last operation of
-- each GPU), on streams where communication and other kernels each take `least_pct` percent of the kernel time or more.
-- A stream of its own removes no wait for another rank: if the report has the other ranks, the saving is without waits,
-- which `rank_imbalance` judges: without the time until the last GPU starts the same collective, and without the time
-- beyond the quickest tenth of a kind.
-- needs: kernel
-- includes: finding, work, nccl
-- selects: part
-- once: span, compute, communication, sums, messages
-- parts: communication
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: least_pct = 5 both must take at least this share of a stream's kernel time, percent
-- column: bare_ns | ns | | time with communication alone on these streams
-- column: streams | count | | streams with both
-- column: collectives | count | | communication kernels on these streams
-- column: waits_pct | % | .1f | share of the collectives' time beyond the quickest tenth of their kind and size, if at least half
-- says: Compute and communication share a stream, so they run one after the other: for {bare_ns} ({value} of the time) the GPU only communicates. Collectives of one kind and size differ: {waits_pct} of their time is beyond the quickest tenth, so it is mostly waiting for other ranks.
-- says: Compute and communication share a stream, so they run one after the other: for {bare_ns} ({value} of the time) the GPU only communicates.
-- clear: Communication on streams that also compute takes {value} of the time.
-- advice: [waits] -> compare_ranks
-- advice: [waits here] -> find_late_gpu
-- advice: [tensor parallel or FSDP or DeepSpeed] -> overlap_communication
-- advice: [else, own all-reduce] Send the gradients of {place|each layer} while `backward` goes on: wrap the model into `DistributedDataParallel`, or call `all_reduce(..., async_op=True)` on buckets from hooks and `work.wait()` before the optimizer.
-- advice: [else, PyTorch] Communicate beside compute in {place|the step}: `async_op=True`, and `work.wait()` where the result is needed.
-- advice: [else, JAX or XLA] Let XLA run collectives beside compute: `XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true`.
-- advice: [else] Give NCCL a stream of its own (`cudaStreamCreateWithFlags(.., cudaStreamNonBlocking)`), and order both with events (`cudaStreamWaitEvent`).
-- source: nsys-ai (both 5 % of a stream's time); share of the time: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS bare_ns, NULL AS waits_pct, NULL AS cause, 0 AS streams,
    0 AS collectives, NULL AS evidence
FROM finding_window WHERE ns > 0 AND NOT EXISTS (FROM finding_communication);

WITH mark AS (SELECT name_id FROM kernel_name WHERE is_communication(short, class)
), by_stream AS (
    SELECT device_id, stream_id, sum(ns) AS ns,
        coalesce(sum(ns) FILTER (name_id IN (SELECT name_id FROM mark)), 0) AS comm_ns
    FROM finding_kernel_sum GROUP BY device_id, stream_id
), mixed AS (
    SELECT device_id, stream_id, comm_ns, ns FROM by_stream
    WHERE 100 * least(comm_ns, ns - comm_ns) >= $least_pct::DOUBLE * ns AND ns > 0
), comm AS MATERIALIZED (SELECT * FROM finding_communication SEMI JOIN mixed USING (device_id, stream_id)
), taken AS (FROM finding_cover('comm', 'finding_compute')
), moving AS MATERIALIZED ( -- noqa: ST03
    SELECT comm.* REPLACE (coalesce(until_ns, comm.start_ns) AS start_ns)
    FROM comm LEFT JOIN (SELECT kernel_id, until_ns FROM finding_joint_collective) USING (kernel_id)
    WHERE (SELECT gpus FROM finding_window) > 1
), moved AS (FROM finding_cover('moving', 'finding_compute')
), shown AS (
    SELECT {
            'name': 'stream ' || stream_id, 'ns': comm_ns::BIGINT, 'value': 100.0 * comm_ns / ns, 'device': device_id,
            'stream': stream_id
        } AS piece
    FROM mixed ORDER BY comm_ns DESC, device_id, stream_id LIMIT 10
)
SELECT 100.0 * taken.bare_ns / nullif(finding_window.ns, 0) AS value,
    CASE WHEN finding_window.gpus > 1 THEN least(moved.bare_ns, taken.bare_ns * (1 - coalesce(waits.pct, 0) / 100))
        ELSE taken.bare_ns END::BIGINT AS saving_ns,
    taken.bare_ns,
    waits.pct AS waits_pct, CASE WHEN waits.pct IS NULL THEN NULL WHEN finding_window.gpus = 1 THEN 'waits'
        ELSE 'waits here' END AS cause,
    (SELECT count(*) FROM mixed) AS streams, (SELECT count(*) FROM comm) AS collectives,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.device, piece.stream) FROM shown) AS evidence
FROM finding_window CROSS JOIN taken CROSS JOIN moved CROSS JOIN finding_collective_wait AS waits;
