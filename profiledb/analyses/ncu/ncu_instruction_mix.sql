-- title: Instructions of a launch by pipe and by opcode
-- One row per launch and SM pipe, or opcode, largest first. Pipes are measured in two ways: by executed instructions
-- and by busy cycles; a report may have only one of them, or only some pipes.
-- page: kernel_profiles
-- needs: ncu_metric
-- includes: launch
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: kind | text | | measured quantity: pipe_instructions, pipe_cycles, opcode
-- column: name | text | | pipe, as in ncu's metrics, or opcode
-- column: active_pct | % | .1f | share of the pipe's peak over the SM's active cycles
-- column: elapsed_pct | % | .1f | share of the pipe's peak over all cycles of the launch
-- column: instructions | count | .0f | executed instructions of an opcode
-- column: share_pct | % | .1f | share of the opcode in all instructions
WITH pipe AS (
    SELECT launch_id,
        CASE WHEN name LIKE '%\_cycles\_active.%' ESCAPE '\' THEN 'pipe_cycles' ELSE 'pipe_instructions' END AS kind,
        regexp_extract(name, '_pipe_(\w+?)(_cycles_active)?\.', 1) AS name,
        max(value) FILTER (ends_with(name, '_active')) AS active_pct,
        max(value) FILTER (ends_with(name, '_elapsed')) AS elapsed_pct
    FROM launch_metric(
        'sm__(inst_executed_pipe_\w+|pipe_\w+_cycles_active)\.avg\.pct_of_peak_sustained_(active|elapsed)')
    WHERE value IS NOT NULL AND ($launch::INTEGER IS NULL OR launch_id = $launch::INTEGER)
    GROUP BY ALL
), opcode AS (
    SELECT launch_id, key_text AS name, value AS instructions,
        100 * value / nullif(sum(value) OVER (PARTITION BY launch_id), 0) AS share_pct
    FROM launch_instance('sass__inst_executed_per_opcode')
    WHERE key_text IS NOT NULL AND ($launch::INTEGER IS NULL OR launch_id = $launch::INTEGER)
), part AS (
    SELECT launch_id, kind, name, active_pct, elapsed_pct, NULL::DOUBLE AS instructions, NULL::DOUBLE AS share_pct
    FROM pipe
    UNION ALL
    SELECT launch_id, 'opcode', name, NULL, NULL, instructions, share_pct FROM opcode
)
SELECT launch_id, kind, name, active_pct, elapsed_pct, instructions, share_pct
FROM part
ORDER BY launch_id, list_position(['pipe_instructions', 'pipe_cycles', 'opcode'], kind),
    coalesce(active_pct, elapsed_pct, share_pct) DESC NULLS LAST, name;
