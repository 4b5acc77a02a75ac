-- title: What the model of a scheduler looks at
-- One row per task and device of the model: what a call, a row of the matrix, a byte that is moved, an operation and a
-- byte of a large result cost. A predicted time is the sum of them (model.TASK.DEVICE.TERM of NAME.meta.json). Terms of
-- 0 do not count and are empty.
-- page: cpu_vs_gpu
-- needs: meta
-- includes: sidecar
-- column: task | text | | what was computed
-- column: device | text | | cpu or gpu, copies included
-- column: call_ns = Call | ns | .1f | cost of every run
-- column: row_ns = Row | ns | .2f | cost of a row of the matrix
-- column: bytes_per_s = Bytes | bytes/s | .3g | bytes to and from the GPU per second: the inverse of what a byte costs
-- column: operations_per_s = Operations | FLOP/s | .3g | operations per second: the inverse of what one costs
-- column: result_bytes_per_s = Large results | bytes/s | .3g | bytes of a result of more than 32 MiB per second, in addition: the inverse of what such a byte costs
WITH term AS (
    SELECT TRY_CAST(value AS DOUBLE) AS seconds, regexp_extract(
        key, '^model\.(.+)\.(cpu|gpu)\.(call|row|byte|operation|result_byte)$', ['task', 'device', 'term']
    ) AS told
    FROM meta WHERE regexp_matches(key, '^model\..+\.(cpu|gpu)\.(call|row|byte|operation|result_byte)$')
), cost AS (
    SELECT told.task AS task, told.device AS device, told.term AS term, any_value(seconds) AS seconds
    FROM term WHERE seconds > 0 AND isfinite(seconds) GROUP BY ALL
)
SELECT task, device, 1e9 * any_value(seconds) FILTER (term = 'call') AS call_ns,
    1e9 * any_value(seconds) FILTER (term = 'row') AS row_ns,
    1 / any_value(seconds) FILTER (term = 'byte') AS bytes_per_s,
    1 / any_value(seconds) FILTER (term = 'operation') AS operations_per_s,
    1 / any_value(seconds) FILTER (term = 'result_byte') AS result_bytes_per_s
FROM cost GROUP BY task, device ORDER BY task, device;
