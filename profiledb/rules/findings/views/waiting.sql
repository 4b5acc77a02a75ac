-- Building blocks of the rules about idle GPUs, launches, steps and the host.
-- includes: idle, step

-- Whether a path of ranges, or a name, says that input is read or made there: dataloader, next_batch, load_data,
-- collate_fn, transform_image; but not upload_chunk, load_weights or cuLibraryLoadData.
CREATE OR REPLACE MACRO is_loading(path) AS regexp_matches(path, '(?i)data_?loader|(^|[^a-z])(data_?load(ing)?'
    || '|(load|next|get|read|fetch|make)_?(next_?)?(batch|data|sample|image|input|example)(e?s)?'
    || '|fetch(ing)?|collate(_fn)?|prefetch(er|ing)?|augment(ation)?|(transform|decode|resize)_?(image|sample|jpe?g)s?'
    || '|preprocess(ing)?|input_?pipeline)([^a-z]|$)|_next_data|__next__');

-- Whether a path of ranges says that something is written for people. "log" by itself may be a logarithm.
CREATE OR REPLACE MACRO is_output(path) AS regexp_matches(path, '(?i)(^|[^a-z])(print(ing)?|log(ging|ger)'
    || '|log_?(metric|loss|step|scalar|stat)s?|debug|tensorboard|wandb|add_scalars?|summary_?writer|progress_?bar|tqdm)'
    || '([^a-z]|$)');

-- The steps that count of the best loop of each process, with their times (`selected_step_time`) and their medians.
-- Loops whose names do not say "step" and have numbers with holes are none: tokens_512, tokens_1024 are sizes. Nor are
-- steps before the first or after the last operation of a GPU, where any worked.
CREATE OR REPLACE VIEW finding_step AS
WITH told AS (
    SELECT step.*, range.path_id, range.global_tid,
        TRY_CAST(regexp_extract(name, '(\d{1,9})\D*$', 1) AS BIGINT) AS named
    FROM selected_step_time('ranges') AS step JOIN range USING (pre)
    WHERE NOT EXISTS (FROM selected_active) OR step.end_ns > (SELECT min(start_ns) FROM selected_active)
        AND step.start_ns < (SELECT max(end_ns) FROM selected_active)
), loop AS (
    SELECT pid, count(*) AS steps, median(ns) AS median_ns, bool_or(step_likeness(name) = 2) AS said,
        count(named) < count(*) OR count(DISTINCT named - number) = 1 AS counts
    FROM told GROUP BY pid
), instance AS (
    SELECT pre, row_number() OVER (PARTITION BY global_tid, path_id ORDER BY start_ns, pre) AS nth,
        count(*) OVER (PARTITION BY path_id) AS alike
    FROM range WHERE path_id IN (SELECT path_id FROM told)
)
SELECT told.pid, number, told.name, told.start_ns, told.end_ns, ns, steps, median_ns,
    CASE WHEN alike > 1 THEN path || '#' || nth ELSE path END AS path,
    row_number() OVER (PARTITION BY told.pid ORDER BY told.start_ns) AS place
FROM told JOIN loop USING (pid) JOIN instance USING (pre) JOIN range_path USING (path_id)
WHERE said OR counts;

-- Since when threads run on a core (`on_core`) or do not, and how long they ran before. What a thread did before its
-- first event is the other of both.
CREATE OR REPLACE MACRO finding_core() AS TABLE
WITH event AS (
    SELECT global_tid AS tid, time_ns AS t, bool_or(scheduled_in) AS on_core FROM sched_event GROUP BY ALL
    UNION ALL
    SELECT global_tid, -9000000000000000000, NOT arg_min(scheduled_in, time_ns) FROM sched_event GROUP BY global_tid
)
SELECT tid, t, on_core, sum(CASE WHEN on_core THEN ns ELSE 0 END) OVER (
        PARTITION BY tid ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before_ns
FROM (SELECT *, (lead(t) OVER (PARTITION BY tid ORDER BY t) - t)::HUGEINT AS ns FROM event);

-- The idle time in which the launching thread had not yet launched the next operation, with how much of each piece it
-- ran on a core: of threads whose switches the report has.
CREATE OR REPLACE MACRO finding_idle_core() AS TABLE
WITH piece AS MATERIALIZED (
    SELECT row_number() OVER () AS piece_id, gap_id, device_id, tid, s, e, ns, pre, reason, function
    FROM selected_idle(2000, NULL)
    WHERE reason NOT IN ('launch latency', 'unknown', 'page migration')
        AND tid IN (SELECT DISTINCT global_tid FROM sched_event)
), core AS MATERIALIZED (FROM finding_core()
), at_edge AS (
    SELECT piece_id, is_end, coalesce(before_ns, 0) + CASE WHEN on_core THEN edge.t - core.t ELSE 0 END AS run_ns
    FROM (
        SELECT piece_id, tid, s AS t, false AS is_end FROM piece
        UNION ALL SELECT piece_id, tid, e, true FROM piece
    ) AS edge ASOF JOIN core ON core.tid = edge.tid AND edge.t >= core.t
), ran AS (
    SELECT piece_id, (max(run_ns) FILTER (is_end) - max(run_ns) FILTER (NOT is_end))::BIGINT AS core_ns
    FROM at_edge GROUP BY piece_id
)
SELECT piece.*, core_ns FROM piece JOIN ran USING (piece_id);

-- Gaps before which the thread that launches the operation after them waited for the GPU: it was in a synchronization
-- or a copy (from `s` to `e`) when the gap began, and launched after that had returned. `waited_ns` is for how long it
-- had waited, `ns` the shorter of this and the gap: a launch that had not waited would have come so much earlier. A
-- synchronization that lies in the gap waited for nothing, and costs what the call takes.
-- `host_ns` is the work of the CPU in the gap besides launches. `few`: the gap follows a copy of a few bytes to the
-- host.
CREATE OR REPLACE MACRO finding_synced_gap() AS TABLE
WITH gap AS MATERIALIZED (
    SELECT gap_id, any_value(device_id) AS device_id, any_value(tid) AS tid, any_value(start_ns) AS a,
        any_value(duration_ns) AS duration_ns, any_value(next.call_id) AS next_id,
        coalesce(sum(ns) FILTER (reason NOT IN ('launch call', 'launch latency')), 0)::BIGINT AS host_ns
    FROM selected_idle(2000, NULL) WHERE tid IS NOT NULL GROUP BY gap_id
), call AS (  -- a call inside another one counts with it
    SELECT global_tid AS tid, start_ns AS s, end_ns AS e, process_range, function, category
    FROM api_call JOIN api_function USING (name_id)
    WHERE category IN ('synchronization', 'blocking copy', 'queued copy') AND global_tid IN (SELECT tid FROM gap)
    QUALIFY e > coalesce(max(e) OVER (
        PARTITION BY global_tid ORDER BY s, e DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0)
), met AS (
    SELECT gap.*, s, e, process_range, function, category
    FROM gap ASOF JOIN call ON gap.tid = call.tid AND gap.a >= call.s WHERE e >= a AND e <= a + duration_ns
    UNION ALL
    SELECT gap.*, s, e, process_range, function, category
    FROM (FROM call WHERE category = 'synchronization') AS call ASOF JOIN gap ON gap.tid = call.tid AND call.s > gap.a
    WHERE e <= a + duration_ns
), waited AS (
    SELECT *, CASE WHEN s > a THEN e - s ELSE a - s END AS waited_ns FROM met
)
SELECT waited.*, least(waited_ns, duration_ns)::BIGINT AS ns,
    coalesce(memop.bytes <= 64 AND memop.copy_kind = 2, false) AS few
FROM waited JOIN (SELECT call_id, start_ns AS launched_ns FROM api_call) AS follower ON call_id = next_id
LEFT JOIN (
    SELECT device_id, end_ns, min(bytes) AS bytes, min(copy_kind) AS copy_kind FROM selected_memop
    WHERE kind = 'memcpy' GROUP BY ALL
) AS memop ON memop.device_id = waited.device_id AND memop.end_ns = a
WHERE launched_ns >= e AND waited_ns > 0;
