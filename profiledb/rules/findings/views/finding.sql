-- Building blocks of the rules of findings.
-- includes: selection

-- The active span (first to last operation of the selection), summed over its GPUs: savings are shares of it.
CREATE OR REPLACE VIEW finding_window AS
SELECT sum(end_ns - start_ns)::BIGINT AS ns, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
    count(DISTINCT device_id) AS gpus
FROM selected_active;

-- Return true if the innermost range of a path is a function that XLA compiled.
CREATE OR REPLACE MACRO is_compiled_by_xla(path) AS
    regexp_matches(path, '(^|/)(p?jit_|PjitFunction|XlaModule)[^/]*$');

-- Operations of the selection, one row per kernel, copy, memset or whole graph.
CREATE OR REPLACE VIEW finding_operation AS
SELECT 'kernel' AS kind, kernel_id AS id, start_ns, end_ns, device_id, stream_id, global_pid, call_id, name_id
FROM selected_kernel
UNION ALL
SELECT kind, memop_id, start_ns, end_ns, device_id, stream_id, global_pid, call_id, NULL FROM selected_memop
UNION ALL
SELECT 'graph', launch_id, start_ns, end_ns, device_id, stream_id, global_pid, call_id, NULL FROM selected_graph_launch;

-- Return true for kernels that a compiler or a library fused: Inductor, XLA, nvFuser, TensorRT, PyTorch's foreach and
-- fused optimizers.
CREATE OR REPLACE MACRO is_fused(name) AS regexp_matches(name, '(?i)^triton_|fused|fusion|nvfuser|cudacodegen|^__myl|'
    || 'multi_tensor_apply');

-- CPU samples of threads (`tid`) in pieces of the idle time of a GPU, a table of device_id, tid, s and e.
CREATE OR REPLACE MACRO finding_idle_sample(pieces) AS TABLE
SELECT sample_id
FROM (
    SELECT sample_id, time_ns, tid, device_id
    FROM cpu_sample JOIN (SELECT DISTINCT device_id, tid FROM query_table(pieces)) ON global_tid = tid
) AS sample
ASOF JOIN (SELECT device_id, tid, s, e FROM query_table(pieces)) AS piece
    ON piece.tid = sample.tid AND piece.device_id = sample.device_id AND sample.time_ns >= piece.s
WHERE time_ns < e;
