-- title: Stages wait for each other
-- question: Does the GPU wait in transfers between the stages of a pipeline?
-- The time in which transfers wait for their peer and the GPU computes nothing, as a share of the active span (first to
-- last operation of each GPU). An NCCL kernel that sends and receives runs until its peer arrives: its time beyond the
-- shortest of its name on the same GPU is a wait, and the bubble of a pipeline while another GPU computes. If none of
-- the report's does, the CPU of another stage is late. All-to-all exchanges use the same kernels, and NCCL before 2.19
-- gives other operations the same name: they do not count if operators, ranges or NCCL's own ranges identify them (more
-- than four messages in one kernel).
-- needs: kernel
-- includes: finding, work, nccl, ranges
-- selects: part
-- once: span, compute, communication, messages
-- parts: communication
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least = 8 fewest transfers of a GPU that are judged
-- column: transfers | count | | transfers that are judged
-- column: wait_ns | ns | | waits in which the GPU computes nothing
-- column: shortest_ns | ns | .1f | time of the shortest transfer
-- column: longest_ns | ns | .1f | time of the longest transfer
-- says: The GPU waits {wait_ns} ({value} of the time) for its peers in {transfers} {transfers|transfer|transfers} to and from other GPUs and computes nothing meanwhile. The shortest transfer takes {shortest_ns}, the longest {longest_ns}.
-- clear: Waits in transfers to and from other GPUs cost {value} of the time.
-- advice: Split a batch into more micro-batches: of m micro-batches and p stages (p - 1) / (m + p - 1) of the time is bubble; schedules that interleave stages (1F1B with virtual stages, zero bubble) have less.
-- advice: Give all stages the same work: embeddings and the head of the vocabulary make the first and the last one longer; `warpdeck scaling` compares the ranks.
-- source: GPipe (Huang et al. 2019) and Megatron-LM (Narayanan et al. 2021) on bubbles; shortest transfer and 5 %: ours
SELECT NULL AS value, 'The selection has too few transfers between two GPUs.' AS unjudged, 0 AS saving_ns,
    0 AS transfers, 0 AS wait_ns, NULL AS shortest_ns, NULL AS longest_ns, NULL AS evidence
FROM finding_communication HAVING count(*) = 0;

WITH sent AS (
    SELECT one.*, path FROM finding_communication AS one LEFT JOIN nccl_message USING (kernel_id)
    LEFT JOIN (SELECT kernel_id, operation FROM nccl_collective) AS traced USING (kernel_id)
    LEFT JOIN (SELECT pre, path_id FROM range) ON pre = process_range LEFT JOIN range_path USING (path_id)
    WHERE nccl_operation(short) = 'SendRecv' AND coalesce(calls, 1) <= 4
        AND coalesce(traced.operation, 'SendRecv') = 'SendRecv'
        AND NOT coalesce(regexp_matches(path, '(?i)all_?(to_?all|reduce|gather)|reduce_?scatter|broadcast'), false)
), timed AS (
    SELECT sent.*, min(end_ns - start_ns) OVER kind AS shortest_ns
    FROM sent WINDOW kind AS (PARTITION BY device_id, name_id)
    QUALIFY count(*) OVER (PARTITION BY device_id) >= $least::INTEGER
), wait AS MATERIALIZED (
    SELECT * REPLACE (end_ns - shortest_ns AS end_ns), end_ns - start_ns AS ns FROM timed
), bubble AS MATERIALIZED ( -- noqa: ST03
    SELECT wait.device_id, greatest(wait.start_ns, one.start_ns) AS start_ns, least(wait.end_ns, one.end_ns) AS end_ns
    FROM wait JOIN finding_compute AS one
        ON one.device_id <> wait.device_id AND one.start_ns < wait.end_ns AND one.end_ns > wait.start_ns
    UNION ALL SELECT device_id, start_ns, end_ns FROM wait WHERE (SELECT gpus FROM finding_window) = 1
), taken AS (FROM finding_cover('bubble', 'finding_compute')
), total AS (
    SELECT count(*) AS transfers, min(shortest_ns) AS shortest_ns, max(ns) AS longest_ns FROM wait
), shown AS (
    SELECT {
            'name': short, 'ns': ns, 'start_ns': start_ns, 'end_ns': start_ns + ns, 'device': device_id,
            'stream': stream_id
        } AS piece
    FROM wait ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN transfers > 0 THEN 100.0 * taken.bare_ns / nullif(finding_window.ns, 0) END AS value,
    'The selection has too few transfers between two GPUs.' AS unjudged,
    taken.bare_ns AS saving_ns, transfers, taken.bare_ns AS wait_ns, shortest_ns, longest_ns,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN taken CROSS JOIN total;
