-- title: Energy per step
-- Energy of the GPUs during the steps of each loop that `iterations` finds, without warm-up and unclosed steps: one row
-- per pattern. A step is its time on the GPU, else on the CPU; gaps between steps do not count. FLOPs per step come
-- from the parameter, else from the sidecar, as do items (keys flops_per_step and items_per_step of NAME.meta.json, the
-- latter also as {"tokens": 4096}). Sidecar values apply to the steps of rank 1 and to patterns that differ only in
-- numbers (batch_8/step_*, batch_64/step_*), not to other loops, such as epochs; parameters apply to all. Unknown
-- values stay empty, and so do values per step if the log does not cover all steps. FLOPs above 105 % of the GPUs' peak
-- in the program's precision are impossible for this step: `contradiction` then replaces TFLOP/J.
-- page: energy
-- needs: power_log
-- needs: range
-- includes: selection, sidecar, ranges, power, energy, peak, share
-- selects: part, mode
-- once: steps
-- param: flops =  FLOPs per step on all GPUs together
-- param: items =  items per step, such as samples, on all GPUs together
-- column: rank | count | | rank of the pattern, from 1
-- column: steps | text | | path with a star for the number that changes
-- column: instances | count | | number of steps that count
-- column: seconds | s | .6f | time that they cover
-- column: covered_pct | % | .1f | share of it that the log covers
-- column: joules | J | .3f | energy of all these steps
-- column: low_j | J | .3f | lower end of the interval
-- column: high_j | J | .3f | upper end of the interval
-- column: step_j | J | .3f | mean energy per step
-- column: step_low_j | J | .3f | lower end of the interval
-- column: step_high_j | J | .3f | upper end of the interval
-- column: mean_w | W | .1f | mean power of all GPUs together
-- column: measurable | bool | | false if the interval is wider than the energy, or if there is no energy
-- column: flops_per_step | FLOP | | parameter, or value in the sidecar
-- column: tflop_per_j | TFLOP/J | .4f | FLOPs per step over the energy per step; empty if impossible for these steps
-- column: items_per_step | count | | parameter, or value in the sidecar
-- column: item | text | | kind of item, if the program states it
-- column: items_per_j | 1/J | .4f | items per step over the energy per step
-- column: contradiction | text | | reason for an empty TFLOP/J although all inputs are known: the share of the peak that it would need, and its inputs
WITH written AS (
    SELECT TRY_CAST(value AS DOUBLE) AS items, nullif(regexp_extract(key, 'items_per_step\.([^.]+)$', 1), '') AS item
    FROM meta WHERE regexp_matches(key, '(^|\.)items_per_step(\.[^.]+)?$')
    ORDER BY len(string_split(key, '.')), key LIMIT 1
), fact AS (
    SELECT TRY_CAST(meta_value(['flops_per_step']) AS DOUBLE) AS flops, (SELECT items FROM written) AS items,
        CASE WHEN $items::DOUBLE IS NULL THEN (SELECT item FROM written) END AS item,
        short_precision(meta_value(['precision', 'dtype'])) AS precision
), step AS (
    SELECT rank AS key, any_value(label) AS steps, count(*) AS instances,
        regexp_replace(any_value(label), '\d+', '*', 'g') AS alike
    FROM selected_counted_step(selected_mode()) GROUP BY rank
), energy AS (
    SELECT key, any_value(asked_ns) AS asked_ns, sum(known_ns) AS known_ns, sum(joules) AS joules, sum(low_j) AS low_j,
        sum(high_j) AS high_j, count(*) AS gpus, string_agg(DISTINCT peak_from, ', ' ORDER BY peak_from) AS peak_from,
        CASE WHEN count(peak_flops_per_s) = count(*) THEN sum(peak_flops_per_s) END AS peak_flops_per_s
    FROM selected_energy('step', selected_mode(), 1000)
    LEFT JOIN (SELECT gpu_id, peak_flops_per_s, source AS peak_from FROM gpu_peak((SELECT precision FROM fact)))
        USING (gpu_id)
    GROUP BY key
), measured AS (
    SELECT *, CASE WHEN known_ns > 0.999 * asked_ns * gpus THEN instances END AS covered,
        energy_measurable(joules, low_j, high_j) AS measurable
    FROM step LEFT JOIN energy USING (key)
), described AS (
    SELECT measured.*, precision, alike = first(alike) OVER (ORDER BY key) AS is_described,
        coalesce($flops::DOUBLE, CASE WHEN is_described THEN flops END) AS flops,
        coalesce($items::DOUBLE, CASE WHEN is_described THEN items END) AS items,
        CASE WHEN is_described THEN item END AS item
    FROM measured CROSS JOIN fact
), checked AS (
    SELECT *, asked_ns / instances / 1e6 AS step_ms, flops / step_ms * 1e3 AS flops_per_s,
        peak_contradiction(flops_per_s, peak_flops_per_s, 'FLOP', concat(
                upper(precision), CASE WHEN gpus > 1 THEN ' of ' || gpus || ' GPUs' END, ', ', peak_from
            ),
            format('From {:.4g} TFLOP in a step of {:.4g} ms: either these are not the FLOPs of this step, or it ran in'
                || ' another precision', flops / 1e12, step_ms)
            || CASE precision WHEN 'fp32' THEN ', such as TF32' ELSE '' END) AS contradiction
    FROM described
)
SELECT key AS rank, steps, instances, asked_ns / 1e9 AS seconds,
    100.0 * coalesce(known_ns, 0) / (asked_ns * gpus) AS covered_pct, joules, low_j, high_j, joules / covered AS step_j,
    low_j / covered AS step_low_j, high_j / covered AS step_high_j, joules / known_ns * 1e9 * gpus AS mean_w,
        measurable,
    flops AS flops_per_step,
    CASE WHEN measurable AND contradiction IS NULL THEN flops / 1e12 / (joules / covered) END AS tflop_per_j,
    items AS items_per_step, item, CASE WHEN measurable THEN items / (joules / covered) END AS items_per_j,
        contradiction
FROM checked
ORDER BY rank;
