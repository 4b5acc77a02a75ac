-- Energy of parts of a report, from the stretches of known energy in power.sql.
-- includes: selection, ranges, power

-- Paths with a star for the number of a loop: at least three names that differ only in their last number, with all
-- numbers from smallest to largest, such as step_0, step_1, step_2; batch_1, batch_8, batch_64 are not a loop.
CREATE OR REPLACE VIEW looped_path AS
WITH RECURSIVE starred AS (
    SELECT path_id, parent_id, name, without_number(name) AS star, '' AS above FROM range_path WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, own.parent_id, own.name, without_number(own.name), concat(parent.above, '/', parent.star)
    FROM starred AS parent JOIN range_path AS own ON own.parent_id = parent.path_id
), loop AS (
    SELECT above, star FROM (
        SELECT above, star, TRY_CAST(regexp_extract(name, '(\d{1,9})(?: ?(?:/|of) ?\d+)?\D*$', 1) AS BIGINT) AS number
        FROM starred
    ) GROUP BY above, star HAVING count(DISTINCT number) >= 3 AND max(number) - min(number) + 1 = count(DISTINCT number)
), named AS MATERIALIZED (
    SELECT path_id, parent_id, replace(CASE WHEN loop.star IS NULL THEN name ELSE star END, '/', '\/') AS title
    FROM starred LEFT JOIN loop USING (above, star)
), joined AS (
    SELECT path_id, title FROM named WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, concat(parent.title, '/', own.title)
    FROM joined AS parent JOIN named AS own ON own.parent_id = parent.path_id
)
FROM joined;

-- Paths by row key: the path, the path with loops merged, or the name.
CREATE OR REPLACE MACRO range_key(what) AS TABLE
SELECT path_id, path_id AS key, path AS title FROM range_path WHERE what = 'path'
UNION ALL SELECT path_id, min(path_id) OVER (PARTITION BY title), title FROM looped_path WHERE what = 'loop'
UNION ALL SELECT path_id, min(path_id) OVER (PARTITION BY name), name FROM range_path WHERE what = 'name';

-- Energy by `what`: 'window' (the selection), 'class' (kernel classes, copies, graphs, idle), 'path', 'loop' and 'name'
-- (ranges), 'step' (loops by rank). One row per key and GPU; `label` is the class, or empty. `asked_ns` is the time
-- that counts, without overlap, and `known_ns` the part that the log covers; without any there is no energy. Of ranges
-- and steps, the `most` keys with the most time are returned.
--
-- A stretch of ns with energy E and covered part f gives f * E (with the two powers of one with a hole). The GPU may
-- have drawn it at any moment of the stretch, between the lowest and the highest power P (p_min_w, p_max_w), so the
-- part has at least max(f * Pmin * ns, E - (1 - f) * Pmax * ns) and at most min(f * Pmax * ns, E - (1 - f) * Pmin *
-- ns); for f = 1 that is E. The log shows the ends of a stretch late (late_start_j, late_end_j): energy that the
-- counter adds to the neighbor widens the interval if a bound follows E on one side of an end only, because it cancels
-- inside a part that continues. A sum of such bounds therefore holds for any power between Pmin and Pmax.
--
-- A range is its GPU time in the mode, from its first operation to the end of its last, else its CPU time; overlaps
-- count once. Concurrent kernels share it: within a stretch, busy time is divided among the classes in proportion to
-- their durations, and the rest of the selection is idle, so all add up to it.
CREATE OR REPLACE MACRO selected_energy(what, mode_of_gpu, most) AS TABLE
WITH known AS MATERIALIZED (
    FROM power_interval
), frame AS MATERIALIZED (  -- so short that few stretches share a bin, and so long that few operations span two
    SELECT min(start_ns) AS low, max(end_ns) AS high, greatest(1, (high - low) // 2048) AS width FROM known
), board AS MATERIALIZED (
    FROM energy_gpu
), covered AS MATERIALIZED (
    SELECT start_ns, end_ns FROM selected_window
), span AS (
    SELECT key, coalesce(gpu_start_ns, start_ns) AS a, coalesce(gpu_start_ns + gpu_ns, end_ns) AS b
    FROM selected_timed_range(mode_of_gpu) JOIN range_key(what) USING (path_id)
    UNION ALL
    SELECT rank, coalesce(gpu_start_ns, start_ns), coalesce(gpu_start_ns + gpu_ns, end_ns)
    FROM selected_counted_step(mode_of_gpu) WHERE what = 'step'
), swept AS (
    SELECT key, a, b,
        max(b) OVER (PARTITION BY key ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM span
), fresh AS MATERIALIZED (
    SELECT key, greatest(a, coalesce(reached, a)) AS a, b FROM swept WHERE b > greatest(a, coalesce(reached, a))
), longest AS (
    SELECT key FROM (
        SELECT key, row_number() OVER (ORDER BY sum(b - a) DESC, key) AS place FROM fresh GROUP BY key
    ) WHERE place <= most
), item AS (
    SELECT key, NULL::VARCHAR AS label, NULL::INTEGER AS gpu_id, a, b FROM fresh SEMI JOIN longest USING (key)
    UNION ALL
    SELECT 0, NULL, NULL, start_ns, end_ns FROM covered WHERE what IN ('window', 'class')
    UNION ALL
    SELECT 1, coalesce(class, 'other'), device_id, start_ns, end_ns
    FROM selected_kernel LEFT JOIN kernel_name USING (name_id) WHERE what = 'class'
    UNION ALL
    SELECT 2, kind, device_id, start_ns, end_ns FROM selected_memop WHERE what = 'class'
    UNION ALL
    SELECT 2, 'graph', device_id, start_ns, end_ns FROM selected_graph_launch WHERE what = 'class'
    UNION ALL
    SELECT 3, 'busy', device_id, start_ns, end_ns FROM selected_busy WHERE what = 'class'
), piece AS (
    SELECT gpu_id, number, w, start_ns, cut_ns AS end_ns FROM known
    UNION ALL SELECT gpu_id, number, hole_w, cut_ns, end_ns FROM known WHERE cut_ns < end_ns
), cell AS (
    SELECT gpu_id, number, w, greatest(piece.start_ns, covered.start_ns) AS a, least(piece.end_ns, covered.end_ns) AS b
    FROM piece JOIN covered ON piece.start_ns < covered.end_ns AND piece.end_ns > covered.start_ns
    WHERE what IN ('window', 'class')
    UNION ALL
    SELECT gpu_id, number, w, start_ns, end_ns FROM piece WHERE what NOT IN ('window', 'class')
), cell_bin AS (
    SELECT gpu_id AS gpu, number, w, a - low AS cell_a, b - low AS cell_b,
        unnest(range(cell_a // width, (cell_b - 1) // width + 1)) AS bin
    FROM cell CROSS JOIN frame WHERE b > a
), inside AS (
    SELECT key, label, gpu_id, greatest(0, a - low) AS a, least(b, high) - low AS b, width FROM item CROSS JOIN frame
), item_bin AS (
    SELECT *, a // width AS bin FROM inside WHERE a // width = (b - 1) // width AND b > a
    UNION ALL
    SELECT *, unnest(range(a // width, (b - 1) // width + 1)) FROM inside WHERE a // width < (b - 1) // width
), met AS (
    SELECT key, label, gpu AS gpu_id, number, w,
        sum(least(b, cell_b, (bin + 1) * width) - greatest(a, cell_a, bin * width))::BIGINT AS ns
    FROM item_bin JOIN cell_bin USING (bin)
    WHERE a < cell_b AND b > cell_a AND (gpu_id IS NULL OR gpu_id = gpu) GROUP BY ALL
), worked AS (
    SELECT gpu_id, number, w, sum(ns) FILTER (key = 0) AS window_ns, coalesce(sum(ns) FILTER (key = 3), 0) AS busy_ns,
        sum(ns) FILTER (key IN (1, 2)) AS work_ns
    FROM met WHERE what = 'class' GROUP BY gpu_id, number, w
), share AS (
    SELECT key, label, gpu_id, number, w, ns::DOUBLE AS ns FROM met WHERE what <> 'class'
    UNION ALL
    SELECT key, label, gpu_id, number, w, ns * busy_ns / work_ns FROM met JOIN worked USING (gpu_id, number, w)
    WHERE what = 'class' AND key IN (1, 2) AND work_ns > 0
    UNION ALL
    SELECT 0, 'idle', gpu_id, number, w, window_ns - CASE WHEN work_ns > 0 THEN busy_ns ELSE 0 END
    FROM worked WHERE what = 'class'
), part AS (
    SELECT key, label, gpu_id, number, sum(ns) AS ns, sum(ns * w) / 1e9 AS joules FROM share GROUP BY ALL
), bounded AS (
    SELECT part.key, label, gpu_id, number, source, part.ns, follows, part.joules,
        p_min_w * part.ns / 1e9 AS least_j, known.joules - (known.ns - part.ns) / 1e9 * p_max_w AS rest_low_j,
        p_max_w * part.ns / 1e9 AS most_j, known.joules - (known.ns - part.ns) / 1e9 * p_min_w AS rest_high_j,
        late_start_j, late_end_j
    FROM part JOIN known USING (gpu_id, number)
), beside AS (
    SELECT *, coalesce(rest_low_j >= least_j, false) AS by_low, coalesce(rest_high_j <= most_j, false) AS by_high,
        lag(number) OVER lane = number - 1 AND follows
            AND coalesce(lag(rest_low_j >= least_j) OVER lane, false) AS goes_on,
        coalesce(lead(number) OVER lane = number + 1 AND lead(follows) OVER lane
            AND lead(rest_high_j <= most_j) OVER lane, false) AS is_followed
    FROM bounded WINDOW lane AS (PARTITION BY key, label, gpu_id ORDER BY number)
), total AS (
    SELECT key, label, gpu_id, any_value(source) AS source, sum(ns) AS known_ns, sum(joules) AS joules,
        greatest(sum(least_j), sum(greatest(rest_low_j, least_j))
            - coalesce(sum(late_start_j) FILTER (by_low AND NOT coalesce(goes_on, false)), 0)) AS low_j,
        least(sum(most_j), sum(least(rest_high_j, most_j))
            + coalesce(sum(late_end_j) FILTER (by_high AND NOT is_followed), 0)) AS high_j
    FROM beside GROUP BY key, label, gpu_id
), asked AS (
    SELECT key, sum(b - a)::BIGINT AS asked_ns FROM item WHERE what <> 'class' GROUP BY key
)
SELECT coalesce(asked.key, total.key) AS key, label, coalesce(board.gpu_id, total.gpu_id) AS gpu_id, source, asked_ns,
    known_ns, joules,
    CASE WHEN joules IS NOT NULL THEN greatest(0, least(low_j, joules)) END AS low_j, greatest(high_j, joules) AS high_j
FROM asked CROSS JOIN board FULL JOIN total ON total.key = asked.key AND total.gpu_id = board.gpu_id;
