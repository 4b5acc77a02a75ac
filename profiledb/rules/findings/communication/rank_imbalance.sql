-- title: Ranks wait for each other
-- question: Do the GPUs of this report reach their collectives at different times?
-- The time that GPUs wait for the last one to start a collective, as a share of their active spans (first to last
-- operation). The last one takes as long as the transfer; the others start earlier and wait. Only the last part of a
-- wait counts, in which the GPU computes nothing that has been launched: before that the collective holds nothing up.
-- The rule pairs the nth collective of a name on each GPU; names whose counts differ between GPUs do not count, because
-- they would be paired wrongly. Within a step (without steps, within the selection) the rule subtracts from each GPU's
-- waits those of the GPU that waits least: equal work does not remove waits that all GPUs have in turn. A GPU's waits
-- count up to the time in which its CPU waits, too (`rank_cpu`): a CPU that never waits needs the whole step. If the
-- last GPU is idle for most of that time because its CPU has launched nothing, a faster CPU saves its idle time, too.
-- Its CPU has work of its own if no other thread spends half as long in the range of most of that time: then the saving
-- is the part of both times that this range explains. Else it takes longer for the same work. The rule cannot judge a
-- report of one rank: `warpdeck scaling` compares several.
-- needs: kernel
-- includes: finding, work, nccl, waiting, idle
-- selects: part
-- once: span, compute, communication, steps, functions, idle
-- parts: communication (wait_ns), host code (late_ns)
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_part = 0.25 least share of that time in one range; below it, the CPU only launches slowly, as on all ranks
-- param: least = 8 collectives of several GPUs below which none is judged
-- column: wait_ns | ns | | waits of all GPUs beyond those of the one that waits least, while their CPUs wait, too
-- column: collectives | count | | collectives that several GPUs run
-- column: last_gpu | id | | GPU that is last most often
-- column: last_pct | % | .1f | share of the collectives at which it is last
-- column: late_ns | ns | | time in which the GPU that is last waits for its CPU while others wait for it, if that is most of it
-- column: range | name | | range of the CPU in most of that time
-- column: range_pct | % | .1f | share of that time in this range
-- says: In {collectives} {collectives|collective|collectives} GPUs wait {wait_ns} ({value} of the time) for one that arrives later. GPU {last_gpu} arrives last in {last_pct} of them, because it waits {late_ns} for its CPU, {range_pct} of that in {range}.
-- says: In {collectives} {collectives|collective|collectives} GPUs wait {wait_ns} ({value} of the time) for one that arrives later. GPU {last_gpu} arrives last in {last_pct} of them, because its CPU is in {range} and has launched nothing.
-- says: In {collectives} {collectives|collective|collectives} GPUs wait {wait_ns} ({value} of the time) for one that arrives later. GPU {last_gpu} arrives last in {last_pct} of them.
-- clear: Uneven work of GPUs costs {value} of the time.
-- advice: [slow CPU] Find out why the CPU of GPU {last_gpu} takes longer than the others in {place|the loop}: cores that it shares or far from its GPU (`taskset`, `numactl`), other input, other programs on the machine.
-- advice: [late CPU] Shorten what the CPU of GPU {last_gpu} does in {place|the loop}, or share it among the ranks: the GPU arrives last because it waits for its CPU.
-- advice: [else, decode or prefill] Give all ranks the same work: balance requests by their length, not by their number; check the CPU and the clocks of GPU {last_gpu}, which arrives last.
-- advice: [else, pipeline parallel] Give all stages the same work: move layers away from the stage of GPU {last_gpu}, which arrives last.
-- advice: [else, PyTorch, training] Give all ranks the same work: equal batches and sequence lengths (a sampler that groups by length); check input, CPU and clocks of GPU {last_gpu}, which arrives last.
-- advice: [else] Give all ranks the same work; check input, CPU and clocks of GPU {last_gpu}, which arrives last.
-- change: [late CPU] host_code={range}
-- change: [else] balanced_ranks
-- source: HTA straggler; TraceLens NCCL analyzer (wait until the latest start); 5 %: ours
SELECT 0::DOUBLE AS value,
    'The report has collectives of one GPU only: `warpdeck scaling` compares the reports of several ranks.' AS unjudged,
    0 AS saving_ns, 0 AS wait_ns, NULL AS late_ns, NULL AS range, NULL AS range_pct, NULL AS cause, 0 AS collectives,
    NULL AS last_gpu, NULL AS last_pct, NULL AS evidence
FROM finding_window WHERE ns > 0 AND NOT EXISTS (FROM finding_communication);

WITH joined AS MATERIALIZED (FROM finding_joint_collective
), computed AS (
    SELECT joined.*, greatest(joined.start_ns, least(until_ns, coalesce(before.end_ns, joined.start_ns))) AS from_ns
    FROM joined ASOF LEFT JOIN finding_compute AS before
        ON before.device_id = joined.device_id AND before.start_ns < until_ns
), launch AS (  -- of compute, and when the CPU was free for it: a synchronization before may wait for the collective
    SELECT device_id, kernel.start_ns, call.end_ns AS launched_ns, call.global_tid AS tid
    FROM selected_kernel AS kernel JOIN api_call AS call USING (call_id)
    WHERE EXISTS (FROM joined)
        AND kernel.name_id NOT IN (SELECT name_id FROM kernel_name WHERE is_communication(short, class))
), followed AS (
    SELECT computed.*, launched_ns, tid FROM computed
    ASOF LEFT JOIN launch ON launch.device_id = computed.device_id AND computed.until_ns <= launch.start_ns
), held AS (
    SELECT global_tid AS tid, start_ns AS s, end_ns AS e FROM api_call JOIN api_function USING (name_id)
    WHERE category IN ('synchronization', 'blocking copy')
), blocked AS (  -- only the last part of a wait holds the GPU up, in which nothing computes that has been launched
    SELECT followed.*, greatest(0, until_ns - greatest(from_ns, CASE WHEN e > until_ns THEN from_ns
            ELSE coalesce(launched_ns, from_ns) END))::BIGINT AS ns
    FROM followed ASOF LEFT JOIN held ON held.tid = followed.tid AND held.s < until_ns
), met AS (
    SELECT short, nth, first_ns, max(end_ns) AS end_ns, arg_max(device_id, start_ns) AS last_gpu,
        sum(ns)::BIGINT AS wait_ns, min(until_ns - ns) AS since_ns, max(until_ns) AS until_ns
    FROM blocked GROUP BY short, nth, first_ns
), step AS (
    SELECT number, start_ns FROM finding_step WHERE pid = (SELECT min(pid) FROM finding_step)
), waited AS (  -- of each GPU in a step
    SELECT number, device_id, sum(ns) AS ns
    FROM blocked ASOF LEFT JOIN step ON first_ns >= step.start_ns GROUP BY number, device_id
), uneven AS (
    SELECT device_id, ns - min(ns) OVER (PARTITION BY number) AS ns FROM waited
), pause AS MATERIALIZED ( -- noqa: ST03
    SELECT launch.device_id, greatest(call.start_ns, finding_window.start_ns) AS start_ns,
        least(call.end_ns, finding_window.end_ns) AS end_ns
    FROM (SELECT DISTINCT device_id, tid FROM launch) AS launch
    JOIN api_call AS call ON call.global_tid = tid JOIN api_function USING (name_id)
    CROSS JOIN finding_window
    WHERE call_waits(category, call.end_ns - call.start_ns)
    UNION ALL  -- what the CPU has launched ahead
    SELECT launch.device_id, max(launched_ns), any_value(finding_window.end_ns)
    FROM launch CROSS JOIN finding_window GROUP BY launch.device_id
), spare AS (
    SELECT device_id, sum(end_ns - start_ns) AS ns FROM finding_union('pause') GROUP BY device_id
), spared AS (  -- least() ignores NULL: nothing tells what the CPU does if no launch is in the report
    SELECT least(sum(uneven.ns), any_value(spare.ns)) AS ns
    FROM uneven LEFT JOIN spare USING (device_id) GROUP BY device_id
), total AS (
    SELECT least(coalesce((SELECT sum(ns) FROM spared), 0)::BIGINT, (SELECT ns FROM finding_window)) AS wait_ns,
        count(*) AS collectives
    FROM met
), late AS MATERIALIZED ( -- noqa: ST03
    SELECT last_gpu AS device_id, since_ns AS start_ns, until_ns AS end_ns FROM met
), awaited AS MATERIALIZED (FROM finding_union('late')
), slow AS (
    SELECT pattern, sum(least(e, awaited.end_ns) - greatest(s, awaited.start_ns))::BIGINT AS ns
    FROM awaited JOIN selected_idle(2000, NULL) AS piece
        ON piece.device_id = awaited.device_id AND s < awaited.end_ns AND e > awaited.start_ns
    LEFT JOIN idle_pattern USING (pre)
    WHERE reason NOT IN ('unknown', 'page migration') GROUP BY pattern
), cpu AS (
    SELECT sum(ns)::BIGINT AS late_ns, arg_max(pattern, ns) AS range,
        sum(ns) FILTER (pattern = (SELECT arg_max(pattern, ns) FROM slow)) / sum(ns) AS range_part
    FROM slow
    HAVING 2 * sum(ns) > (SELECT sum(end_ns - start_ns) FROM awaited) AND range_part >= $least_part::DOUBLE
), spent AS (  -- of each thread in that range
    SELECT global_tid, sum(end_ns - start_ns) AS ns FROM selected_range JOIN path_pattern USING (path_id)
    WHERE pattern = (SELECT range FROM cpu) GROUP BY global_tid
), cause AS (
    SELECT CASE WHEN count_if(2 * ns > most_ns) = 1 THEN 'late CPU' ELSE 'slow CPU' END AS cause
    FROM spent CROSS JOIN (SELECT max(ns) AS most_ns FROM spent)
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
    (least(wait_ns + coalesce(late_ns, 0), finding_window.ns)
        * CASE WHEN late_ns > 0 AND cause.cause = 'late CPU' THEN range_part ELSE 1 END)::BIGINT AS saving_ns,
    wait_ns, late_ns, range, 100.0 * range_part AS range_pct,
    IF(late_ns > 0, cause.cause, NULL) AS cause, collectives, last_gpu,
    100.0 * times / nullif(collectives, 0) AS last_pct,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN (SELECT count(*) AS every FROM finding_communication)
LEFT JOIN latest ON true LEFT JOIN cpu ON true CROSS JOIN cause;
