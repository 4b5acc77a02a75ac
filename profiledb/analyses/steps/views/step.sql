-- Time of a rank: its steps, and the work in them.
-- includes: selection, ranges

-- Whether so few periods differ from the rest that the rest is the rule; occasional additional kernels then count less.
CREATE OR REPLACE MACRO is_regular(unlike, periods, cv_pct) AS unlike <= 0.05 * periods
    OR unlike <= least(2, 0.2 * periods) OR cv_pct > 0 AND cv_pct <= 1 AND unlike <= 0.2 * periods;

-- Whether a value is more than this many times that of either neighbor; false at an edge.
CREATE OR REPLACE MACRO is_spike(value, before, after, times) AS before IS NOT NULL AND after IS NOT NULL
    AND coalesce(value > times * greatest(before, after), false);

CREATE OR REPLACE MACRO two_to_64() AS 18446744073709551616::HUGEINT;

-- Starts of iterations derived from kernels (method: detected_iterations), in report time: the launches of the marker,
-- with the marker and where it was looked for (`lane`). A period starts with every so many launches of a name; sums of
-- hashes identify its kernels, which avoids a set of kernels for each.
CREATE OR REPLACE VIEW iteration_start AS
WITH stream AS (
    SELECT global_pid, device_id, stream_id, sum(end_ns - start_ns) AS ns, count(*) AS kernels
    FROM selected_kernel GROUP BY ALL
), lane AS ( -- the whole GPU if streams take turns
    SELECT global_pid, device_id, stream_id, 2 * ns < sum(ns) OVER one OR 2 * kernels < sum(kernels) OVER one AS shared
    FROM stream WINDOW one AS (PARTITION BY global_pid, device_id)
    ORDER BY ns DESC, global_pid, device_id, stream_id LIMIT 1
), here AS MATERIALIZED (
    SELECT name_id, start_ns, row_number() OVER one AS position, sum((hash(name_id) >> 28)::HUGEINT
            + (hash(name_id, grid_x, grid_y, grid_z, block_x) >> 28)::HUGEINT * two_to_64()) OVER one AS ran
    FROM (SELECT *, (SELECT lane FROM lane) AS lane FROM selected_kernel)
    WHERE global_pid IS NOT DISTINCT FROM lane.global_pid AND device_id IS NOT DISTINCT FROM lane.device_id
        AND (lane.shared OR stream_id IS NOT DISTINCT FROM lane.stream_id)
    WINDOW one AS (ORDER BY start_ns, kernel_id)
), size AS (SELECT count(*) AS launches FROM here
), candidate AS (
    SELECT name_id FROM (
        SELECT name_id, max(position) - min(position) AS apart FROM here GROUP BY name_id
        HAVING count(*) BETWEEN 3 AND 10000
    ) CROSS JOIN size WHERE apart >= 0.5 * launches
), call AS MATERIALIZED (
    SELECT name_id, start_ns, position, ran, row_number() OVER one - 1 AS nth,
        lead(position) OVER one - position AS gap, lead(start_ns) OVER one - start_ns AS gap_ns
    FROM here SEMI JOIN candidate USING (name_id) WINDOW one AS (PARTITION BY name_id ORDER BY position)
), alike AS ( -- names of one loop have as many launches each: the steadiest represents all
    SELECT name_id, count(*) AS calls, min(position) AS first, stddev_samp(gap) / avg(gap) AS cv,
        avg(gap) < 10 AND stddev_samp(gap_ns) > avg(gap_ns) AS is_uneven
    FROM call GROUP BY name_id
    QUALIFY row_number() OVER (PARTITION BY calls ORDER BY cv, first) = 1
    ORDER BY cv, first LIMIT 12
), pause AS ( -- a few kernels over and over, and a pause after as many
    SELECT name_id, nth, nth - lag(nth) OVER (PARTITION BY name_id ORDER BY nth) AS apart FROM (
        SELECT name_id, nth + 1 AS nth, is_spike(gap_ns, lag(gap_ns) OVER one, lead(gap_ns) OVER one, 2) AS is_long
        FROM call JOIN alike USING (name_id) WHERE is_uneven WINDOW one AS (PARTITION BY name_id ORDER BY nth)
    ) WHERE is_long
), paused AS (
    SELECT name_id, mode(apart) AS every, mode(nth % usual) AS phase
    FROM pause JOIN (SELECT name_id, mode(apart) AS usual FROM pause GROUP BY name_id) USING (name_id)
    GROUP BY name_id HAVING count(apart) >= 2 AND count(*) FILTER (apart = usual) >= 0.8 * count(apart) AND every > 12
), period AS MATERIALIZED (
    SELECT name_id, first, every, (nth - phase) // every AS number, lead(start_ns) OVER one - start_ns AS ns,
        lead(position) OVER one - position AS kernels, lead(ran) OVER one - ran AS ran
    FROM call JOIN alike USING (name_id) JOIN (
        SELECT name_id, unnest([1, 2, 3, 4, 5, 6, 8, 10, 12]) AS every, 0 AS phase FROM alike UNION ALL FROM paused
    ) USING (name_id)
    WHERE nth % every = phase
    WINDOW one AS (PARTITION BY name_id, every ORDER BY nth)
    QUALIFY ns IS NOT NULL
), equal AS ( -- number of periods that run the most common kernels, by names and by names with sizes
    SELECT name_id, every, max(same) AS by_name, max(alike_too) AS by_shape, arg_max(kernels, same) AS usual_kernels
    FROM (
        SELECT name_id, every, names, any_value(kernels) AS kernels, sum(n) AS same, max(n) AS alike_too FROM (
            SELECT name_id, every, ran % two_to_64() AS names, any_value(kernels) AS kernels, count(*) AS n
            FROM period GROUP BY name_id, every, ran
        ) GROUP BY name_id, every, names
    ) GROUP BY name_id, every
), steady AS (
    SELECT name_id, every, any_value(first) AS first, count(*) AS periods, avg(kernels) AS kernels,
        100 * stddev_samp(kernels) / avg(kernels) AS kernels_cv_pct,
        (quantile_cont(ns, 0.9) - quantile_cont(ns, 0.1)) / nullif(median(ns), 0) AS deviation,
        count(*) - any_value(by_name) AS unlike, count(*) - any_value(by_shape) AS unlike_shapes,
        any_value(by_name * usual_kernels) AS usual
    FROM period JOIN equal USING (name_id, every) GROUP BY name_id, every
), fit AS ( -- 0: nearly all periods run the same, 1: most do, 2: each runs about as many kernels
    SELECT *, usual / launches AS explained, kernels_cv_pct * sqrt(every) AS spread_pct, kernels < 4 * every AS is_few,
        periods >= 3 AND is_regular(unlike_shapes, periods, kernels_cv_pct) AS same_shapes,
        CASE
            WHEN explained < 0.5 THEN 2
            WHEN is_regular(unlike, periods, kernels_cv_pct) THEN 0
            WHEN 2 * unlike <= periods AND periods >= 5 THEN 1
            ELSE 2
        END AS tier
    FROM steady CROSS JOIN size
    WHERE kernels_cv_pct <= 25 AND periods >= 2
        AND (tier < 2 OR every = 1 AND kernels >= 4 AND periods >= CASE kernels_cv_pct WHEN 0 THEN 3 ELSE 8 END)
        AND (every = 1 OR kernels >= 2 * every OR deviation <= 0.2)
), off AS ( -- outliers that last far longer or shorter than both neighbors
    SELECT name_id, every, count(*) AS looked, count(*) FILTER (
            is_spike(ns, before, after, 2) OR is_spike(1 / ns, 1 / before, 1 / after, 2)) AS off
    FROM (
        SELECT name_id, every, ns, lag(ns) OVER one AS before, lead(ns) OVER one AS after
        FROM period SEMI JOIN fit USING (name_id, every) WINDOW one AS (PARTITION BY name_id, every ORDER BY number)
    ) GROUP BY name_id, every
), clean AS (
    SELECT fit.*, min(tier) OVER () AS best FROM fit JOIN off USING (name_id, every)
    WHERE off <= greatest(1, looked * CASE WHEN is_few THEN 0.05 ELSE 0.25 END)
), marker AS (
    SELECT name_id, every, kernels_cv_pct FROM (
        SELECT *, min(spread_pct) OVER () AS least_pct, min(unlike / periods) OVER () AS least_unlike
        FROM clean WHERE tier = best
    ) WHERE spread_pct <= least_pct + 1 AND unlike / periods <= least_unlike + 0.1
    ORDER BY every <= 12, NOT same_shapes, periods DESC, every, first LIMIT 1
)
SELECT start_ns AS ns, position, name_id, every, kernels_cv_pct, lane
FROM call JOIN marker USING (name_id) LEFT JOIN paused USING (name_id, every) CROSS JOIN lane
WHERE nth % every = coalesce(phase, 0);

-- These iterations; none if they lie in one step of a range.
CREATE OR REPLACE VIEW selected_iteration AS
WITH edge AS MATERIALIZED (FROM iteration_start
), marker AS MATERIALIZED (
    SELECT any_value(name_id) AS name_id, any_value(every) AS every, any_value(kernels_cv_pct) AS kernels_cv_pct,
        any_value(lane) AS lane
    FROM edge
), begun AS ( -- other work of the GPU; no join with marker here: DuckDB would take 1 M rows for one, and loop
    SELECT edge.ns, count(*) AS others FROM (
        SELECT start_ns FROM (SELECT *, (SELECT lane FROM marker) AS lane FROM selected_kernel)
        WHERE device_id IS NOT DISTINCT FROM lane.device_id AND (
                global_pid IS DISTINCT FROM lane.global_pid
                OR NOT lane.shared AND stream_id IS DISTINCT FROM lane.stream_id
            )
    ) AS one ASOF JOIN edge ON one.start_ns >= edge.ns GROUP BY edge.ns
), worked AS ( -- by the edge before, if any
    SELECT edge.ns, sum(one.end_ns - one.start_ns) AS busy_ns, max(one.end_ns) AS until_ns FROM (
        SELECT start_ns, end_ns FROM selected_busy
        WHERE device_id IS NOT DISTINCT FROM (SELECT lane.device_id FROM marker)
    ) AS one ASOF LEFT JOIN edge ON one.start_ns >= edge.ns GROUP BY edge.ns
), summed AS ( -- busy_ns is the GPU's working time up to the edge
    SELECT ns, position, coalesce(sum(busy_ns) OVER before, 0) - greatest(0, max(until_ns) OVER before - ns) AS busy_ns
    FROM edge FULL JOIN worked USING (ns)
    WINDOW before AS (ORDER BY ns NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), iteration AS (
    SELECT ns AS low, lead(ns) OVER one AS high, lead(position) OVER one - position + coalesce(others, 0) AS kernels,
        lead(busy_ns) OVER one - busy_ns AS busy_ns
    FROM summed LEFT JOIN begun USING (ns) WHERE ns IS NOT NULL WINDOW one AS (ORDER BY ns)
)
SELECT row_number() OVER (ORDER BY low) AS number, low AS start_ns, high AS end_ns, high - low AS duration_ns, kernels,
    busy_ns::BIGINT AS busy_ns, count(*) OVER () AS iterations, every, kernels_cv_pct,
    100 * stddev_samp(high - low) OVER () / nullif(avg(high - low) OVER (), 0) AS cv_pct, lane.device_id AS gpu_id,
    CASE WHEN NOT lane.shared THEN lane.stream_id END AS stream, kernel, readable AS marker
FROM iteration CROSS JOIN marker LEFT JOIN kernel_key USING (name_id)
WHERE high IS NOT NULL AND NOT EXISTS ( -- repetition within one step comes from its layers
        FROM projection JOIN range USING (range_id) JOIN range_path USING (path_id)
        CROSS JOIN (SELECT min(low) AS first_ns, max(low) AS last_ns FROM iteration)
        WHERE mode = 'process' AND step_likeness(range_path.name) = 2
            AND projection.start_ns <= first_ns AND projection.end_ns >= last_ns
    );

-- No iterations: these, where kernels tell none.
CREATE OR REPLACE VIEW no_kernel_iteration AS
SELECT NULL::BIGINT AS number, NULL::BIGINT AS start_ns, NULL::BIGINT AS end_ns, NULL::BIGINT AS duration_ns,
    NULL::BIGINT AS kernels, NULL::BIGINT AS busy_ns, NULL::BIGINT AS iterations, NULL::BIGINT AS every,
    NULL::DOUBLE AS kernels_cv_pct, NULL::DOUBLE AS cv_pct, NULL::INTEGER AS gpu_id, NULL::BIGINT AS stream,
    NULL::INTEGER AS kernel, NULL::VARCHAR AS marker WHERE false;

-- Steps of each process that ranges tell (selected_counted_step: the best loop of the process), as disjoint stretches
-- of time. A step starts with its range on the CPU, or later, when the GPU has finished the steps before; it ends with
-- its range, or later, with its last operation on the GPU. So steps that wait for the GPU last as long as their ranges,
-- and steps that only launch as long as their GPU work. Warm-up before the first step that counts is also a step before
-- it, selected or not. `ns` is the duration of a step: a first step without a predecessor whose work extends into the
-- next step takes as long as its range or that work, because it alone found the GPU idle.
CREATE OR REPLACE VIEW selected_named_step AS
WITH step AS (
    SELECT pid_of(global_tid) AS pid, range_id, number, name, pre, post, start_ns, cpu_ns, busy_ns,
        greatest(end_ns, coalesce(gpu_start_ns + gpu_ns, end_ns)) AS until_ns
    FROM selected_counted_step('process') JOIN (SELECT range_id, post FROM range) USING (range_id)
    WHERE leads
), first AS (
    SELECT step.pid, range.global_tid, range.parent_id, step.start_ns, without_number(step.name) AS title
    FROM step JOIN range USING (range_id) QUALIFY step.start_ns = min(step.start_ns) OVER (PARTITION BY step.pid)
), warmup AS (
    SELECT pid, max(greatest(one.end_ns, coalesce(ran.end_ns, one.end_ns))) AS until_ns
    FROM first JOIN range AS one ON one.global_tid = first.global_tid AND one.start_ns < first.start_ns
        AND one.parent_id IS NOT DISTINCT FROM first.parent_id
    JOIN range_path USING (path_id) LEFT JOIN (FROM projection WHERE mode = 'process') AS ran USING (range_id)
    WHERE is_warmup(range_path.name) OR without_number(range_path.name) = title
    GROUP BY pid
), trimmed AS (
    SELECT pid, number, name, pre, post, greatest(
            start_ns, coalesce(max(step.until_ns) OVER before, start_ns), coalesce(warmup.until_ns, start_ns)
        ) AS start_ns, step.until_ns AS end_ns, CASE WHEN max(step.until_ns) OVER before IS NULL
                AND warmup.until_ns IS NULL THEN greatest(cpu_ns, coalesce(busy_ns, 0)) END AS alone_ns
    FROM step LEFT JOIN warmup USING (pid)
    WINDOW before AS (PARTITION BY pid ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT pid, number, name, pre, post, start_ns, end_ns,
    least(end_ns - start_ns, coalesce(alone_ns, end_ns - start_ns)) AS ns
FROM trimmed WHERE end_ns > start_ns;

-- Steps of each process from `ranges` (selected_named_step), from `kernels` (selected_iteration, a guess), or from
-- `nothing`: one, from its first to its last kernel. Only the requested source is computed.
CREATE OR REPLACE MACRO selected_step_time(told_by) AS TABLE
WITH process AS (
    SELECT pid_of(global_pid) AS pid, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM selected_kernel GROUP BY ALL
)
FROM selected_named_step WHERE told_by = 'ranges'
UNION ALL
SELECT pid, number, NULL, NULL, NULL, one.start_ns, one.end_ns, one.end_ns - one.start_ns
FROM selected_iteration AS one CROSS JOIN (SELECT DISTINCT pid_of(global_pid) AS pid FROM selected_kernel)
WHERE told_by = 'kernels'
UNION ALL
SELECT pid, 1, NULL, NULL, NULL, start_ns, end_ns, end_ns - start_ns FROM process WHERE told_by = 'nothing';
