-- title: Stretches of low use
-- question: Does the GPU work much less in some stretches than in the rest?
-- The share of low parts among 30 equal parts of the active span (first to last operation of each GPU, without excluded
-- time). A part is low if the GPU is busy for less than half of it. A GPU that is busy for less than `busy` percent of
-- its other parts has none: it is idle everywhere, which other rules report. Neighboring low parts form one stretch.
-- The rule does not judge selections below `least_ns`, whose parts would show the alternation within a step.
-- needs: kernel or memop or graph_launch
-- includes: finding, idle
-- selects: part
-- once: span, functions, idle
-- parts: idle
-- level: frame
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this share of the active span
-- param: busy = 70 the GPU must be busy for at least this share of the other parts, percent
-- param: least_ns = 300000000 shorter selections are not judged
-- column: stretches | count | | stretches of low use
-- column: low_pct | % | .1f | busy share of these stretches
-- column: rest_pct | % | .1f | busy share of the rest of the time
-- says: The GPU is only {low_pct} busy in {stretches} {stretches|stretch|stretches} ({value} of the time), and {rest_pct} busy in the rest.
-- clear: The GPU's use is even: no stretch stands out.
-- advice: [Trainer] Validate and save less often (`eval_steps`, `save_steps`), if these stretches are validation or checkpoints: the timeline shows them.
-- advice: [else, Lightning] Validate and save less often (`Trainer(val_check_interval=...)`, `ModelCheckpoint(every_n_train_steps=...)`), if these stretches are validation or checkpoints: the timeline shows them.
-- advice: [else, PyTorch, training] Take checkpoints, validation and logging out of the loop, if these stretches hold them: the timeline shows them. `torch.distributed.checkpoint.async_save` writes in another thread.
-- advice: [else] Move the work of these stretches to another thread or process: the timeline shows what runs there, often logging, output or the input of a new part.
-- source: Nsight Systems rule gpu_time_util (30 chunks, 50 %), with the union instead of the sum; comparison with the rest: ours
WITH stretch_of AS MATERIALIZED (  -- `begin_ns` is its start without the time between stretches
    SELECT device_id, start_ns, end_ns, (sum(end_ns - start_ns) OVER earlier - (end_ns - start_ns))::BIGINT AS begin_ns
    FROM selected_active WINDOW earlier AS (PARTITION BY device_id ORDER BY start_ns)
), active AS (
    SELECT device_id, 0::BIGINT AS low, sum(end_ns - start_ns)::BIGINT AS high FROM stretch_of GROUP BY device_id
), edge AS (
    SELECT device_id, n, low + (high - low) * n // 30 AS t FROM active CROSS JOIN range(31) AS part (n)
), hole AS (
    SELECT hole.device_id, a - start_ns + begin_ns AS a, b - start_ns + begin_ns AS b
    FROM selected_hole(1) AS hole ASOF JOIN stretch_of ON hole.device_id = stretch_of.device_id AND hole.a >= start_ns
), placed AS (  -- gaps by the part in which they start; 64 bits suffice below 2^58 ns
    SELECT device_id, CASE WHEN high - low < 288230376151711744 THEN ((a - low + 1) * 30 - 1) // (high - low)
            ELSE ((a - low + 1)::HUGEINT * 30 - 1) // (high - low) END::BIGINT AS n, sum(b - a) AS ns, max(b) AS b
    FROM hole JOIN active USING (device_id) GROUP BY ALL
), reached AS (
    SELECT edge.device_id, n, t,
        coalesce(sum(ns) OVER before, 0) - greatest(0, coalesce(max(b) OVER before - t, 0)) AS idle_ns
    FROM edge LEFT JOIN placed USING (device_id, n)
    WINDOW before AS (PARTITION BY device_id ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), part AS (
    SELECT device_id, n, t AS start_ns, lead(t) OVER lane AS end_ns, lead(t) OVER lane - t AS ns,
        lead(idle_ns) OVER lane - idle_ns AS idle_ns
    FROM reached WINDOW lane AS (PARTITION BY device_id ORDER BY n)
), rated_part AS MATERIALIZED (
    SELECT *, low AND stands AS is_low FROM (
        SELECT *, coalesce(100 - 100.0 * sum(idle_ns) FILTER (NOT low) OVER gpu / sum(ns) FILTER (NOT low) OVER gpu
            >= $busy::DOUBLE, false) AS stands
        FROM (SELECT *, 2 * idle_ns > ns AS low FROM part WHERE end_ns IS NOT NULL)
        WINDOW gpu AS (PARTITION BY device_id)
    )
), stretch AS MATERIALIZED (
    SELECT device_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns, sum(ns) AS ns, sum(idle_ns) AS idle_ns
    FROM (
        SELECT *, n - row_number() OVER (PARTITION BY device_id ORDER BY n) AS island FROM rated_part WHERE is_low
    ) GROUP BY device_id, island
), total AS (
    SELECT sum(ns) AS ns, coalesce(sum(ns) FILTER (is_low), 0) AS low_ns,
        coalesce(sum(idle_ns) FILTER (is_low), 0) AS low_idle_ns,
        100 - 100.0 * sum(idle_ns) FILTER (is_low) / sum(ns) FILTER (is_low) AS low_pct,
        100 - 100.0 * sum(idle_ns) FILTER (NOT low AND stands) / sum(ns) FILTER (NOT low AND stands) AS rest_pct
    FROM rated_part
), shown AS (
    SELECT idle_ns, start_ns, {
            'name': format('Busy for {:.1f} %', 100 - 100.0 * idle_ns / ns), 'ns': idle_ns::BIGINT,
            'start_ns': start_ns, 'end_ns': end_ns, 'device': device_id
        } AS piece
    FROM (
        SELECT stretch.device_id, ns, idle_ns, stretch_of.start_ns + stretch.start_ns - begin_ns AS start_ns,
            least(stretch_of.start_ns + stretch.end_ns - begin_ns, stretch_of.end_ns) AS end_ns
        FROM stretch ASOF JOIN stretch_of
            ON stretch.device_id = stretch_of.device_id AND stretch.start_ns >= stretch_of.begin_ns
    ) ORDER BY idle_ns DESC, start_ns LIMIT 10
), judged AS (
    SELECT *, coalesce(rest_pct >= $busy::DOUBLE, false) AS stands_out FROM total
)
SELECT CASE WHEN finding_window.ns >= $least_ns::BIGINT * gpus
        THEN CASE WHEN stands_out THEN 100.0 * low_ns / nullif(judged.ns, 0) ELSE 0 END END AS value,
    CASE WHEN finding_window.ns < $least_ns::BIGINT * gpus THEN 'The selection is too short for parts to be told.' END
        AS unjudged,
    CASE WHEN stands_out THEN low_idle_ns ELSE 0 END::BIGINT AS saving_ns, low_pct, rest_pct,
    (SELECT count(*) FROM stretch) AS stretches,
    (SELECT list(piece ORDER BY idle_ns DESC, start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN judged;
