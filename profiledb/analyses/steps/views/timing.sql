-- NVTX ranges against what a timer of the program measured (sidecar.sql).
-- includes: sidecar, ranges

-- The number at the end of a name, and what stands before it: step_12, "iter 12", batch#12.
CREATE OR REPLACE MACRO last_number(name) AS TRY_CAST(regexp_extract(name, '(\d{1,9})$', 1) AS BIGINT);
CREATE OR REPLACE MACRO before_number(name) AS regexp_extract(name, '^(.*?)[ _.:#-]*\d+$', 1);

-- Ranges of the selection that a label of the timings means: by their path, else by the end of their path, such as
-- forward/layer_0 in step_3/forward/layer_0, else by their name without the number at its end. Their step is that
-- number, or the number of the innermost range around them that is called like a step (`step_likeness`), themselves
-- included.
CREATE OR REPLACE VIEW timed_label_range AS
WITH RECURSIVE numbered AS (
    SELECT path_id, parent_id, name, path, CASE WHEN step_likeness(name) = 2 THEN last_number(name) END AS step
    FROM range_path WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, own.parent_id, own.name, own.path,
        coalesce(CASE WHEN step_likeness(own.name) = 2 THEN last_number(own.name) END, numbered.step)
    FROM numbered JOIN range_path AS own ON own.parent_id = numbered.path_id
), label AS (
    SELECT DISTINCT label FROM timing
), meant AS (
    SELECT label, path_id, step, 1 AS place FROM label JOIN numbered ON path = label
    UNION ALL SELECT label, path_id, step, 2 FROM label JOIN numbered ON name = label OR ends_with(path, '/' || label)
    UNION ALL SELECT label, path_id, last_number(name), 3 FROM label JOIN numbered ON before_number(name) = label
)
SELECT label, step, path_id FROM meant QUALIFY place = min(place) OVER (PARTITION BY label);

-- Measurements and ranges of the same label, a row a pair or one of them without the other. Where the ranges tell
-- steps, those of the same step are a pair, the first with the first; else, where there are as many of both, all in
-- their order. A step with more of one than of the other pairs nothing: the timer may have been around several ranges.
CREATE OR REPLACE MACRO selected_timing_pair(mode_of_gpu) AS TABLE
WITH ran AS (
    SELECT label, step, range_id, start_ns, cpu_ns, gpu_ns
    FROM selected_timed_range(mode_of_gpu) JOIN timed_label_range USING (path_id) WHERE closed
), way AS (
    SELECT label, count(step) > 0 AS by_step FROM ran GROUP BY label
), placed_timing AS (
    SELECT label, timing.step, round(seconds * 1e9)::BIGINT AS timer_ns,
        CASE WHEN coalesce(by_step, false) THEN timing.step END AS key,
        row_number() OVER (lane ORDER BY timing.step, row) AS nth, count(*) OVER lane AS many
    FROM (SELECT *, row_number() OVER () AS row FROM timing) AS timing LEFT JOIN way USING (label)
    WINDOW lane AS (PARTITION BY label, CASE WHEN coalesce(by_step, false) THEN timing.step END)
), placed_range AS (
    SELECT *, step AS key, row_number() OVER (lane ORDER BY start_ns, range_id) AS nth, count(*) OVER lane AS many
    FROM ran WINDOW lane AS (PARTITION BY label, step)
)
SELECT coalesce(t.label, r.label) AS label, coalesce(t.step, r.step) AS step, timer_ns, range_id,
    start_ns, cpu_ns, gpu_ns, timer_ns IS NOT NULL AND range_id IS NOT NULL AS is_pair
FROM placed_timing AS t FULL JOIN placed_range AS r
    ON t.label = r.label AND t.key IS NOT DISTINCT FROM r.key AND t.nth = r.nth AND t.many = r.many;
