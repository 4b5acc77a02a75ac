-- title: Tokens computed again
-- question: Does a model that generates compute all earlier tokens again for each new one?
-- The most that a cache of keys and values saves, as a share of the active span (first to last operation of each GPU).
-- Without it each pass has one token more than the one before: the grid of a normalization or an activation grows by
-- the same number of blocks from pass to pass, by `most_pct` percent at most. If `passes` passes of a stream or more
-- grow so, and four fifths of the passes that grow by as much as the median, each counts with the time to the next one,
-- less the time that the CPU takes to launch it, which stays. With a cache only copies and attention grow. Passes with
-- a kernel of a backward pass or an optimizer before the next one do not count: batches of a training may get longer.
-- needs: kernel
-- needs: api_call
-- includes: finding, tokens
-- selects: part
-- once: span, names
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: passes = 6 fewest passes that must grow
-- param: most_pct = 20 most growth from pass to pass, percent
-- column: passes | count | | passes that compute earlier tokens again
-- column: pass_ns | ns | | median time of such a pass
-- column: launch_ns | ns | | median time in which the CPU launches such a pass
-- column: kernel | name | | kernel whose grid grows
-- says: Each of {passes} passes computes all earlier tokens again, in {pass_ns} (median): the grid of {kernel} grows by the same number of blocks from pass to pass. The CPU launches a pass in {launch_ns}.
-- clear: Passes that compute earlier tokens again take {value} of the time.
-- advice: [Hugging Face] Generate with the cache of keys and values: `model.generate(..., use_cache=True)`, `model.config.use_cache = True`. Trainings with `gradient_checkpointing` turn it off.
-- advice: [else, PyTorch] Keep keys and values of earlier tokens (a KV cache of fixed size), and compute only the new token in each pass.
-- advice: [else] Keep keys and values of earlier tokens, and compute only the new token in each pass.
-- advice: [PyTorch, eager, not CUDA graphs] With a cache the passes are small, so launches may then limit them: a static cache (`cache_implementation="static"`) and CUDA graphs (`torch.compile(mode="reduce-overhead")`).
-- source: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS passes, NULL AS pass_ns, NULL AS launch_ns, NULL AS kernel,
    NULL AS evidence
FROM finding_window
WHERE ns > 0 AND $passes::BIGINT > 0 AND $most_pct::DOUBLE > 0 AND NOT EXISTS (FROM finding_token_name);

WITH pass AS MATERIALIZED (FROM finding_pass
), trained AS (
    SELECT device_id, start_ns AS at_ns FROM selected_kernel WHERE name_id IN (
            SELECT name_id FROM kernel_name
            WHERE class = 'optimizer' OR regexp_matches(demangled, '(?i)backward|bwd|wgrad')
        )
), beside AS (
    SELECT *, blocks - lag(blocks) OVER lane AS grown, lag(blocks) OVER lane AS before,
        lag(launches) OVER lane AS launches_before, coalesce(lead(start_ns) OVER lane, end_ns) AS next_ns
    FROM pass WINDOW lane AS (PARTITION BY device_id, stream_id, name_id ORDER BY pass)
), again AS (
    SELECT beside.* FROM beside
    ASOF LEFT JOIN trained ON beside.device_id = trained.device_id AND beside.start_ns <= trained.at_ns
    WHERE grown > 0 AND 100 * grown <= $most_pct::DOUBLE * before AND launches = launches_before AND launches > 1
        AND coalesce(at_ns >= next_ns, true)
), usual AS (
    SELECT device_id, stream_id, name_id, median(grown) AS grown, count(*) AS passes FROM again GROUP BY ALL
    HAVING count(*) >= $passes::BIGINT
), regular AS (
    SELECT again.*, usual.passes FROM again JOIN usual USING (device_id, stream_id, name_id)
    WHERE abs(again.grown - usual.grown) <= 1
), chosen AS (
    SELECT device_id, stream_id, name_id FROM regular JOIN (
        SELECT device_id, stream_id, name_id, count(*) AS passes FROM pass GROUP BY ALL
    ) AS every USING (device_id, stream_id, name_id)
    GROUP BY device_id, stream_id, name_id
    HAVING count(*) >= $passes::BIGINT AND 5 * count(*) >= 4 * any_value(regular.passes)
        AND 2 * count(*) >= any_value(every.passes)
    QUALIFY row_number() OVER (PARTITION BY device_id ORDER BY count(*) DESC, max(launches), name_id) = 1
), found AS MATERIALIZED (
    SELECT *, greatest(0, next_ns - start_ns - coalesce(launch_ns, 0))::BIGINT AS saved_ns FROM (
        SELECT regular.*, (last_ns - first_ns) * launches / (launches - 1) AS launch_ns
        FROM regular SEMI JOIN chosen USING (device_id, stream_id, name_id)
        LEFT JOIN (SELECT call_id AS first_call, start_ns AS first_ns FROM api_call) USING (first_call)
        LEFT JOIN (SELECT call_id AS last_call, start_ns AS last_ns FROM api_call) USING (last_call)
    )
), total AS (
    SELECT count(*) AS passes, coalesce(sum(saved_ns), 0)::BIGINT AS ns, median(next_ns - start_ns)::BIGINT AS pass_ns,
        median(launch_ns)::BIGINT AS launch_ns, any_value(name_id) AS name_id
    FROM found
), shown AS (
    SELECT {
            'name': 'a pass', 'ns': next_ns - start_ns, 'count': launches, 'start_ns': start_ns, 'end_ns': next_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM found ORDER BY next_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, passes, pass_ns, launch_ns,
    (SELECT readable FROM kernel_key WHERE kernel_key.name_id = total.name_id) AS kernel,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
