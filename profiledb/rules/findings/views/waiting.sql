-- Building blocks of the rules about idle GPUs, launches, steps and the host.
-- includes: idle, step, finding, nccl, program

-- Return true if a path of ranges, or a name, describes reading or making input: dataloader, next_batch, load_data,
-- collate_fn, transform_image; but not upload_chunk, load_weights or cuLibraryLoadData.
CREATE OR REPLACE MACRO is_loading(path) AS regexp_matches(path, '(?i)data_?loader|(^|[^a-z])(data_?load(ing)?'
    || '|(load|next|get|read|fetch|make)_?(next_?)?(batch|data|sample|image|input|example)(e?s)?'
    || '|fetch(ing)?|collate(_fn)?|prefetch(er|ing)?|augment(ation)?|(transform|decode|resize)_?(image|sample|jpe?g)s?'
    || '|preprocess(ing)?|input_?pipeline)([^a-z]|$)|_next_data|__next__');

-- Return true for an OS call that puts its thread to sleep for a time.
CREATE OR REPLACE MACRO is_sleeping(function) AS coalesce(contains(function, 'sleep'), false);

-- Return true for calls that free device memory at once.
CREATE OR REPLACE MACRO frees_device_memory(function) AS
regexp_matches(function, '^(cu(da)?|hip)(Free|MemFree|MemRelease)') AND NOT regexp_matches(function, 'Host|Async');

-- Return true if a path of ranges describes the compilation of kernels.
CREATE OR REPLACE MACRO is_compiling(path) AS regexp_matches(path, '(?i)nvrtc|XlaCompile|(^|[^a-z])compil(e|ing|ation)'
    || '|[a-z]Compil(e|ing|ation)|compile_?(fusion|kernel|module|program|gpu)');

-- Return true if a path of ranges describes output for people. "log" by itself may be a logarithm.
CREATE OR REPLACE MACRO is_output(path) AS regexp_matches(path, '(?i)(^|[^a-z])(print(ing)?|log(ging|ger)'
    || '|log_?(metric|loss|step|scalar|stat)s?|debug|tensorboard|wandb|add_scalars?|summary_?writer|progress_?bar|tqdm)'
    || '([^a-z]|$)');

-- The steps that count of the best loop of each process, with their times (`selected_named_step`) and their medians.
-- Loops that are not named "step" and whose numbers have holes do not count: tokens_512, tokens_1024 are sizes. Nor do
-- steps before the first or after the last operation of a GPU, if any worked.
CREATE OR REPLACE VIEW finding_step AS
WITH candidate AS (
    SELECT step.*, range.path_id, range.global_tid,
        TRY_CAST(regexp_extract(name, '(\d{1,9})\D*$', 1) AS BIGINT) AS named
    FROM selected_named_step AS step JOIN range USING (pre)
    WHERE NOT EXISTS (FROM selected_active) OR step.end_ns > (SELECT min(start_ns) FROM selected_active)
        AND step.start_ns < (SELECT max(end_ns) FROM selected_active)
), loop AS (
    SELECT pid, count(*) AS steps, median(ns) AS median_ns, bool_or(step_likeness(name) = 2) AS called_step,
        count(named) < count(*) OR count(DISTINCT named - number) = 1 OR count(DISTINCT named) = count(*)
            AND max(named) - min(named) >= count(*) AND NOT has_holes(list(DISTINCT named)) AS counts
    FROM candidate GROUP BY pid
), instance AS (
    SELECT pre, row_number() OVER (PARTITION BY global_tid, path_id ORDER BY start_ns, pre) AS nth,
        count(*) OVER (PARTITION BY path_id) AS alike
    FROM range WHERE path_id IN (SELECT path_id FROM candidate)
)
SELECT candidate.pid, number, candidate.name, candidate.start_ns, candidate.end_ns, ns, steps, median_ns,
    CASE WHEN alike > 1 THEN path || '#' || nth ELSE path END AS path,
    row_number() OVER (PARTITION BY candidate.pid ORDER BY candidate.start_ns) AS place
FROM candidate JOIN loop USING (pid) JOIN instance USING (pre) JOIN range_path USING (path_id)
WHERE called_step OR counts;

CREATE OR REPLACE MACRO has_finding_step() AS EXISTS (FROM finding_step);

-- The iterations that kernels tell, once for each process, if ranges tell no steps that count.
CREATE OR REPLACE VIEW unnamed_iteration AS
SELECT number, one.start_ns, one.end_ns, one.end_ns - one.start_ns AS ns, kernels_cv_pct
FROM selected_iteration AS one CROSS JOIN (SELECT DISTINCT pid_of(global_pid) AS pid FROM selected_kernel)
WHERE NOT EXISTS (FROM finding_step);

CREATE OR REPLACE VIEW no_iteration AS
SELECT NULL::BIGINT AS number, NULL::BIGINT AS start_ns, NULL::BIGINT AS end_ns, NULL::BIGINT AS ns,
    NULL::DOUBLE AS kernels_cv_pct WHERE false;

-- Times from which threads run on a core (`on_core`) or do not, and how long they ran before. Before its first event a
-- thread was in the other state.
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

-- The idle time in which the launching thread has yet to launch the next operation, with the time that it runs on a
-- core in each piece, for threads whose switches the report has; without calls that tracing slows (`traced_launch`).
CREATE OR REPLACE MACRO finding_idle_core() AS TABLE
WITH piece AS MATERIALIZED (
    SELECT row_number() OVER () AS piece_id, gap_id, device_id, tid, s, e, ns, pre, reason, function
    FROM selected_idle(2000, NULL)
    WHERE reason NOT IN ('launch latency', 'unknown', 'page migration')
        AND coalesce(function NOT IN (FROM traced_launch()), true)
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

-- Waits of the CPU for the GPU, from `s` to `e`, each with the time `ns` that it takes only because the CPU waits: a
-- synchronization all of its call, and in PyTorch the 2.5 µs of Python around it; a copy of up to 64 bytes to the host
-- that ends within its call, or right before a synchronization, all of its call, and in PyTorch and CuPy the 10 µs of
-- Python around it (`READING_NS` of wait_changes.py); another copy to the host that ends within its call, until its
-- end; another copy of pageable memory, or a blocking one, until the GPU has nothing left to do before it (the start of
-- a gap, if one lies in the call). Programs that use NCCL cannot leave out (`kept`)
-- `cudaEventSynchronize`, because DistributedDataParallel measures itself with it in its first ten iterations; nor can
-- cuDNN's search for its fastest algorithm. A call inside another one counts with it.
CREATE OR REPLACE MACRO finding_wait() AS TABLE
WITH gap AS MATERIALIZED (
    SELECT DISTINCT tid, start_ns AS a FROM selected_idle(2000, NULL) WHERE tid IS NOT NULL
), call AS (
    SELECT call_id, global_tid AS tid, start_ns AS s, end_ns AS e, process_range, function, category
    FROM api_call JOIN api_function USING (name_id)
    WHERE category IN ('synchronization', 'blocking copy', 'queued copy')
    QUALIFY e > coalesce(max(e) OVER (
        PARTITION BY global_tid ORDER BY s, e DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0)
), next AS (
    SELECT *, lead(category) OVER thread = 'synchronization' AND lead(s) OVER thread - e < 5000 AS then_waits
    FROM call WINDOW thread AS (PARTITION BY tid ORDER BY s)
), copied AS (
    SELECT call_id, max(end_ns) FILTER (copy_kind = 2) AS read_ns, min(start_ns) AS begun_ns,
        bool_or(src_kind = 0) AS pageable, bool_and(copy_kind = 2 AND bytes <= 64) AS few
    FROM memop WHERE kind = 'memcpy' AND call_id IN (SELECT call_id FROM call) GROUP BY call_id
), met AS (
    SELECT next.*, coalesce(few AND (read_ns <= e OR then_waits), false) AS reads,
        CASE WHEN category = 'synchronization' OR reads THEN e WHEN read_ns <= e THEN read_ns
            WHEN a <= least(begun_ns, e) AND (pageable OR category = 'blocking copy') THEN a END AS until_ns
    FROM next LEFT JOIN copied USING (call_id) ASOF LEFT JOIN gap ON gap.tid = next.tid AND gap.a >= next.s
), python AS (
    SELECT coalesce(bool_or(trait = 'PyTorch'), false) AS waits, count(*) > 0 AS reads FROM program_sign
    WHERE trait IN ('PyTorch', 'CuPy')
)
SELECT tid, s, e, process_range, function, category,
    until_ns - s + CASE WHEN met.reads AND python.reads THEN 10000
        WHEN category = 'synchronization' AND python.waits THEN 2500 ELSE 0 END AS ns,
    function = 'cudaEventSynchronize' AND (
        EXISTS (FROM kernel_name WHERE is_communication(short, class)) OR coalesce(path ILIKE '%cudnn%', false)
    ) AS kept
FROM met CROSS JOIN python LEFT JOIN (SELECT pre, path_id FROM range) ON pre = process_range
LEFT JOIN range_path USING (path_id)
WHERE until_ns > s;

-- The time `lost_ns` by which each gap of the selection shrinks if the CPU does not spend the time `ns` in some calls,
-- a table of tid, s, e, ns, kept and any other columns, none inside another. The CPU then reaches all later launches
-- earlier, by the sum of these times. A gap that ends with a launch after its start shrinks by as much, at most by all
-- of it and by the time that earlier gaps have not used up: with the time D that the CPU has gained when it launches
-- the end of a gap, the GPU is ahead by d = min(D, d before + gap). `call` is the longest call since the previous
-- launch, `host_ns` the work of the CPU in the gap besides launches. A `kept` call waits for the GPU as before, so the
-- gain until then is lost. The CPU gets ahead by as many launches as CUDA queues, about 1,024: after as many operations
-- it starts anew. A thread that another one drives gains with it; one without such calls, with the thread of its
-- process that has most of them: PyTorch launches backward from a thread of its own.
CREATE OR REPLACE MACRO finding_ahead(calls) AS TABLE
WITH every AS MATERIALIZED (FROM query_table(calls)
), asked AS (FROM every WHERE NOT kept
), driver AS (
    SELECT global_tid AS tid, arg_max(driver_tid, share_pct) AS root FROM thread_driver GROUP BY global_tid
), waiter AS (
    SELECT tid, pid_of(tid) AS pid, row_number() OVER (PARTITION BY pid_of(tid) ORDER BY sum(ns) DESC, tid) AS place
    FROM asked GROUP BY tid
), stretch AS (
    SELECT device_id, start_ns AS low, row_number() OVER (ORDER BY device_id, start_ns) AS stretch FROM selected_active
), numbered AS (
    SELECT *, min(start_ns) OVER (PARTITION BY device_id, block) AS block_ns
    FROM (
        SELECT device_id, start_ns, row_number() OVER (PARTITION BY device_id ORDER BY start_ns) // 1024 AS block
        FROM finding_operation
    )
), gap AS (
    SELECT gap_id, any_value(device_id) AS device_id, any_value(tid) AS tid, any_value(start_ns) AS a,
        any_value(start_ns + duration_ns) AS b, any_value(duration_ns) AS duration_ns,
        any_value(next.call_id) AS next_id,
        coalesce(sum(ns) FILTER (reason NOT IN ('launch call', 'launch latency')), 0)::BIGINT AS host_ns
    FROM selected_idle(2000, NULL) WHERE tid IS NOT NULL GROUP BY gap_id
), launched AS (
    SELECT gap.*, follower.start_ns AS launched_ns, CASE WHEN gap.tid IN (SELECT tid FROM waiter) THEN gap.tid
            ELSE coalesce(driver.root, waiter.tid) END AS root
    FROM gap JOIN api_call AS follower ON call_id = next_id AND follower.end_ns > a  -- else it was queued
    LEFT JOIN driver ON driver.tid = gap.tid
    LEFT JOIN waiter ON waiter.pid = pid_of(gap.tid) AND place = 1
), barrier AS (
    SELECT tid, e AS barrier_ns FROM every WHERE kept
), placed AS (
    SELECT launched.*, stretch, block, greatest(low, block_ns) AS block_ns,
        greatest(low, coalesce(barrier_ns, low)) AS barrier_ns
    FROM launched ASOF JOIN stretch ON launched.device_id = stretch.device_id AND launched.a >= stretch.low
    ASOF JOIN numbered ON launched.device_id = numbered.device_id AND launched.b >= numbered.start_ns
    ASOF LEFT JOIN barrier ON launched.root = barrier.tid AND launched.launched_ns >= barrier_ns
), block AS MATERIALIZED (
    SELECT *, CASE WHEN barrier_ns > block_ns THEN least(barrier_ns, min(a) OVER (PARTITION BY part)) ELSE block_ns END
            AS since_ns
    FROM (SELECT *, row(device_id, stretch, root, barrier_ns, block) AS part FROM placed)
), counted AS MATERIALIZED (
    SELECT *, sum(ns) OVER (PARTITION BY tid ORDER BY e, s ROWS UNBOUNDED PRECEDING) AS total_ns FROM asked
), blamed AS (  -- the longest call since the previous launch
    SELECT gap_id, arg_max(one, (one.ns, one.s)) AS call
    FROM (
        SELECT counted.*, device_id FROM counted JOIN (SELECT DISTINCT root, device_id FROM block) ON root = tid
    ) AS one ASOF JOIN block ON block.root = one.tid AND block.device_id = one.device_id AND block.launched_ns >= one.e
    GROUP BY gap_id
), ahead AS (
    SELECT block.* EXCLUDE (tid), last_value(call IGNORE NULLS) OVER (
            PARTITION BY block.device_id, root ORDER BY a ROWS UNBOUNDED PRECEDING
        ) AS call, greatest(0, counted.total_ns - coalesce(before.total_ns, 0)) AS ahead_ns
    FROM block LEFT JOIN blamed USING (gap_id)
    ASOF JOIN counted ON block.root = counted.tid AND block.launched_ns >= counted.e
    ASOF LEFT JOIN counted AS before ON block.root = before.tid AND block.since_ns >= before.e
), used AS (
    SELECT *, sum(duration_ns) OVER until_here AS gaps_ns FROM ahead
    WINDOW until_here AS (PARTITION BY part ORDER BY a ROWS UNBOUNDED PRECEDING)
), moved AS (
    SELECT *, gaps_ns + least(0, min(ahead_ns - gaps_ns) OVER until_here) AS moved_ns FROM used
    WINDOW until_here AS (PARTITION BY part ORDER BY a ROWS UNBOUNDED PRECEDING)
)
SELECT gap_id, device_id, root, a, b, duration_ns, host_ns, call, call.s, call.e, call.ns AS waited_ns,
    (moved_ns - lag(moved_ns, 1, 0) OVER (PARTITION BY part ORDER BY a))::BIGINT AS lost_ns
FROM moved QUALIFY lost_ns > 0;

-- Gaps that shrink, by `ns`, if the CPU does not wait for the GPU: `finding_ahead` of `finding_wait`. From `s` to `e`
-- the CPU was in the longest such call before the gap's end, and wasted `waited_ns` of it. `few`: the gap follows a
-- copy of a few bytes to the host.
CREATE OR REPLACE MACRO finding_synced_gap() AS TABLE
WITH wait AS MATERIALIZED (FROM finding_wait()
)
SELECT gap_id, gap.device_id, root AS tid, s, e, a, duration_ns, host_ns, waited_ns, lost_ns AS ns, call.function,
    call.category, call.process_range, coalesce(memop.bytes <= 64 AND memop.copy_kind = 2, false) AS few
FROM finding_ahead('wait') AS gap
LEFT JOIN (
    SELECT device_id, end_ns, min(bytes) AS bytes, min(copy_kind) AS copy_kind FROM selected_memop
    WHERE kind = 'memcpy' GROUP BY ALL
) AS memop ON memop.device_id = gap.device_id AND memop.end_ns = a
WHERE EXISTS (FROM wait);
