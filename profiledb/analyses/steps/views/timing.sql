-- Ranges next to the measurements of the program's timer (sidecar.sql).
-- includes: selection, sidecar, ranges

-- The number at the end of a name, and the part before it: step_12, "iter 12", batch#12.
CREATE OR REPLACE MACRO last_number(name) AS TRY_CAST(regexp_extract(name, '(\d{1,9})$', 1) AS BIGINT);
CREATE OR REPLACE MACRO before_number(name) AS regexp_extract(name, '^(.*?)[ _.:#-]*\d+$', 1);

-- The last name of a text such as forward/layer_0, and whether a path ends with such a text. Their names are not
-- escaped.
CREATE OR REPLACE MACRO last_part(text) AS regexp_extract(text, '[^/]*$');
CREATE OR REPLACE MACRO ends_in(path, label) AS ends_with(concat('/', path), concat('/', label));

-- Positions of step names in a path: a name like step_3 (`step_likeness`), or a warm-up name, which has no number.
-- `first` and `last` are its characters in the path; an empty list for every other name.
CREATE OR REPLACE MACRO step_part(name, above, path) AS CASE
    WHEN is_warmup(name) OR step_likeness(name) = 2 AND last_number(name) IS NOT NULL
        THEN [{
            'first': length(above) + 2, 'last': length(path),
            'number': CASE WHEN NOT is_warmup(name) THEN last_number(name) END
        }]
    ELSE []
END;

-- Paths for a label of the timings, best match first: the whole path, or the path without its step name (forward for
-- step_3/forward, batch_8 for batch_8/step_3); else the end of either, such as forward/layer_0 in
-- step_3/forward/layer_0; else a name followed by a number. Paths with slashes in their names match verbatim; framework
-- operators and modules around a name do not belong to the program's name. `step` is the number of the innermost step
-- name that the label lacks: step_1 and batch_1 are labels whose number is no step. `inside` names the steps inside the
-- label's ranges: batch_8/step_*.
CREATE OR REPLACE VIEW timed_label_range AS
WITH RECURSIVE kind AS (
    SELECT path_id, bool_or(domain IN ('operator', 'module')) AS of_framework
    FROM range JOIN range_name USING (name_id) GROUP BY path_id
), own AS (
    SELECT path_id, parent_id, name, coalesce(of_framework, false) AS of_framework
    FROM range_path LEFT JOIN kind USING (path_id)
), walked AS (  -- `way` is the part before the names below: nothing, below operators and modules only
    SELECT path_id, name, name AS path, CASE WHEN NOT of_framework THEN name END AS way, is_warmup(name) AS in_warmup,
        CASE WHEN of_framework THEN [] ELSE step_part(name, '', concat('/', name)) END AS parts
    FROM own WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, own.name, concat_ws('/', way, own.name),
        CASE WHEN of_framework THEN way ELSE concat_ws('/', way, own.name) END, in_warmup OR is_warmup(own.name),
        CASE WHEN of_framework THEN parts ELSE list_concat(parts, step_part(
            own.name, coalesce('/' || way, ''), concat('/', concat_ws('/', way, own.name)))) END
    FROM walked JOIN own ON own.parent_id = walked.path_id
), label AS (
    SELECT DISTINCT label FROM timing
), shortened AS (  -- one of the excluded names
    SELECT path_id, in_warmup, part.number AS step, nth,
        CASE WHEN part.last = length(path) + 1 THEN name END AS inside_name,
        concat('/', path)[:part.first - 2] || concat('/', path)[part.last + 1:] AS rooted
    FROM (SELECT *, unnest(parts) AS part, generate_subscripts(parts, 1) AS nth FROM walked)
), meant AS (
    SELECT label, path_id, in_warmup, CASE WHEN path = label THEN 1 ELSE 2 END AS place, 0 AS nth, NULL AS inside,
        list_last(list_filter(
            parts, LAMBDA part: part.number IS NOT NULL AND part.first <= length(path) - length(label) + 1
        )).number
            AS step
    FROM label JOIN walked ON last_part(path) = last_part(label) AND ends_in(path, label)
    UNION ALL
    SELECT label, path_id, in_warmup, CASE WHEN rooted[2:] = label THEN 1 ELSE 2 END, nth,
        label || '/' || without_number(inside_name), step
    FROM label JOIN shortened ON last_part(rooted) = last_part(label) AND ends_in(rooted[2:], label)
    UNION ALL
    SELECT label, path_id, in_warmup, 3, 0, NULL, last_number(name)
    FROM label JOIN walked ON before_number(name) = label
)
SELECT label, path_id, in_warmup, step, inside
FROM (SELECT * FROM meant QUALIFY place = min(place) OVER (PARTITION BY label))
QUALIFY row_number() OVER (PARTITION BY label, path_id ORDER BY nth > 0, nth DESC) = 1;

-- Measurements and ranges of the same label, one row per pair or unpaired one. Warm-up measurements belong to warm-up
-- ranges, if the timings mark any, and are left out with them. If the ranges have steps, the first of the same step
-- pair; else, if there are as many of both, all pair in order. A step with unequal numbers pairs nothing: the timer may
-- have covered several ranges.
--
-- A label may cover a range and the steps inside it. If its ranges have no step, and their number differs from that of
-- its measurements, measurements with a step belong to the steps inside, and get their own label (batch_8/step_*).
CREATE OR REPLACE MACRO selected_timing_pair(mode_of_gpu) AS TABLE
WITH measured AS MATERIALIZED (
    SELECT label, step, is_warmup, round(seconds * 1e9)::BIGINT AS timer_ns, row_number() OVER () AS row FROM timing
), per_label AS (
    SELECT label, bool_or(is_warmup) AS tells_warmup, count(*) FILTER (NOT is_warmup) AS timings
    FROM measured GROUP BY label
), ran AS MATERIALIZED (
    SELECT label, step, inside, in_warmup AND tells_warmup AS is_warmup, range_id, start_ns, cpu_ns, gpu_ns
    FROM selected_timed_range(mode_of_gpu) JOIN timed_label_range USING (path_id) JOIN per_label USING (label)
    WHERE closed
), divided AS (
    SELECT label, min(inside) AS inside FROM ran JOIN per_label USING (label) GROUP BY label
    HAVING count(inside) > 0 AND count(step) FILTER (inside IS NULL AND NOT ran.is_warmup) = 0
        AND count(*) FILTER (inside IS NULL AND NOT ran.is_warmup) <> any_value(timings)
), own_timing AS (
    SELECT CASE WHEN step IS NULL THEN label ELSE coalesce(inside, label) END AS label, step, is_warmup, timer_ns, row
    FROM measured LEFT JOIN divided USING (label)
    WHERE NOT is_warmup OR selected_warmup() = 'include' OR EXISTS (FROM ran WHERE is_warmup)
), own_range AS (
    SELECT coalesce(ran.inside, label) AS label, CASE WHEN NOT is_warmup THEN step END AS step, is_warmup, range_id,
        start_ns, cpu_ns, gpu_ns
    FROM ran LEFT JOIN divided USING (label) WHERE ran.inside IS NULL OR ran.inside = divided.inside
), way AS (
    SELECT label, is_warmup, count(step) > 0 AS by_step FROM own_range GROUP BY label, is_warmup
), placed_timing AS (
    SELECT label, own_timing.step, is_warmup, timer_ns, CASE WHEN by_step THEN own_timing.step END AS key,
        row_number() OVER (lane ORDER BY own_timing.step, row) AS nth, count(*) OVER lane AS many
    FROM own_timing LEFT JOIN way USING (label, is_warmup)
    WINDOW lane AS (PARTITION BY label, is_warmup, CASE WHEN by_step THEN own_timing.step END)
), placed_range AS (
    SELECT *, step AS key, row_number() OVER (lane ORDER BY start_ns, range_id) AS nth, count(*) OVER lane AS many
    FROM own_range WINDOW lane AS (PARTITION BY label, is_warmup, step)
)
SELECT coalesce(t.label, r.label) AS label, coalesce(t.step, r.step) AS step,
    coalesce(t.is_warmup, r.is_warmup) AS is_warmup,
    timer_ns, range_id, start_ns, cpu_ns, gpu_ns, timer_ns IS NOT NULL AND range_id IS NOT NULL AS is_pair
FROM placed_timing AS t FULL JOIN placed_range AS r
    ON t.label = r.label AND t.is_warmup = r.is_warmup AND t.key IS NOT DISTINCT FROM r.key AND t.nth = r.nth
    AND t.many = r.many;
