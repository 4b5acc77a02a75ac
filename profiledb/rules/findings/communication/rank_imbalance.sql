-- title: Ranks wait for each other
-- question: Do the GPUs of this report reach their collectives at different times?
-- The time that GPUs wait for the last one to start a collective, as a share of their active spans (first to last
-- operation). The last one takes as long as the transfer; the others start earlier and wait. The rule pairs the nth
-- collective of a name on each GPU; names whose counts differ between GPUs do not count, because they would be paired
-- wrongly. Within a step (without steps, within the selection) the rule subtracts from each GPU's waits those of the
-- GPU that waits least: equal work does not remove waits that all GPUs have in turn. The rule cannot judge a report of
-- one rank: `warpdeck scaling` compares several.
-- needs: kernel
-- includes: finding, work, nccl, waiting
-- selects: part
-- once: compute, communication, steps
-- parts: communication
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least = 8 collectives of several GPUs below which none is judged
-- column: wait_ns | ns | | waits of all GPUs beyond those of the one that waits least
-- column: collectives | count | | collectives that several GPUs run
-- column: last_gpu | id | | GPU that is last most often
-- column: last_pct | % | .1f | share of the collectives at which it is last
-- says: In {collectives} {collectives|collective|collectives} GPUs wait {wait_ns} ({value} of the time) for one that arrives later. GPU {last_gpu} arrives last in {last_pct} of them.
-- clear: Uneven work of GPUs costs {value} of the time.
-- advice: [decode or prefill] Give all ranks the same work: balance requests by their length, not by their number; check the CPU and the clocks of GPU {last_gpu}, which arrives last.
-- advice: [else, pipeline parallel] Give all stages the same work: move layers away from the stage of GPU {last_gpu}, which arrives last.
-- advice: [else, PyTorch, training] Give all ranks the same work: equal batches and sequence lengths (a sampler that groups by length); check input, CPU and clocks of GPU {last_gpu}, which arrives last.
-- advice: [else] Give all ranks the same work; check input, CPU and clocks of GPU {last_gpu}, which arrives last.
-- change: balanced_ranks
-- source: HTA straggler; TraceLens NCCL analyzer (wait until the latest start); 5 %: ours
WITH numbered AS (
    SELECT kernel_id, short, device_id, stream_id, start_ns, end_ns,
        row_number() OVER (PARTITION BY device_id, short ORDER BY start_ns, kernel_id) AS nth,
        count(*) OVER (PARTITION BY device_id, short) AS runs
    FROM finding_communication
), alike AS (
    SELECT short FROM numbered GROUP BY short HAVING min(runs) = max(runs) AND count(DISTINCT device_id) > 1
), joined AS (
    SELECT numbered.*, max(start_ns) OVER same AS last_start, min(start_ns) OVER same AS first_ns
    FROM numbered SEMI JOIN alike USING (short) WINDOW same AS (PARTITION BY short, nth)
), met AS (
    SELECT short, nth, first_ns, max(end_ns) AS end_ns, arg_max(device_id, start_ns) AS last_gpu,
        sum(greatest(0, least(end_ns, last_start) - start_ns))::BIGINT AS wait_ns
    FROM joined GROUP BY short, nth, first_ns
), step AS (
    SELECT number, start_ns FROM finding_step WHERE pid = (SELECT min(pid) FROM finding_step)
), waited AS (  -- of each GPU in a step
    SELECT number, device_id, sum(greatest(0, least(end_ns, last_start) - joined.start_ns)) AS ns
    FROM joined ASOF LEFT JOIN step ON first_ns >= step.start_ns GROUP BY number, device_id
), uneven AS (SELECT sum(ns) - count(*) * min(ns) AS ns FROM waited GROUP BY number
), total AS (
    SELECT least(coalesce((SELECT sum(ns) FROM uneven), 0)::BIGINT, (SELECT ns FROM finding_window)) AS wait_ns,
        count(*) AS collectives
    FROM met
), latest AS (SELECT last_gpu, count(*) AS times FROM met GROUP BY last_gpu ORDER BY times DESC, last_gpu LIMIT 1
), shown AS (
    SELECT {
            'name': short, 'note': 'GPU ' || last_gpu || ' last', 'ns': wait_ns, 'start_ns': first_ns, 'end_ns': end_ns,
            'device': last_gpu
        } AS piece
    FROM met ORDER BY wait_ns DESC, first_ns LIMIT 10
)
SELECT CASE WHEN collectives >= $least::INTEGER OR every = 0
        THEN 100.0 * wait_ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN collectives > 0 THEN 'The selection has too few collectives that several GPUs ran.'
        ELSE 'The report has collectives of one GPU only: `warpdeck scaling` compares the reports of several ranks.'
        END AS unjudged,
    wait_ns AS saving_ns, wait_ns, collectives, last_gpu, 100.0 * times / nullif(collectives, 0) AS last_pct,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN (SELECT count(*) AS every FROM finding_communication)
LEFT JOIN latest ON true;
