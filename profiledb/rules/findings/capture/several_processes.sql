-- title: Several processes in one report
-- question: Do several processes use the GPUs of this report?
-- The number of processes that ran GPU operations in the selection. Sums include all of them, and a GPU is idle only if
-- none of them runs. To judge one program by itself, profile it alone.
-- needs: kernel or memop or graph_launch
-- includes: finding
-- selects: part
-- unit: count
-- fires: above
-- weight: note
-- param: threshold = 2 fires at or above this number of processes
-- column: gpus | count | | GPUs that these processes use
-- says: {value} processes work on {gpus} {gpus|GPU|GPUs} in this report: sums and shares cover all of them.
-- clear: One process works on the GPU.
-- advice: If each process has its own GPU, select one GPU. To compare ranks, write one report per rank (`nsys profile -o report_%p`).
-- source: ours
WITH operation AS (
    SELECT device_id, global_pid, start_ns, end_ns FROM selected_kernel
    UNION ALL SELECT device_id, global_pid, start_ns, end_ns FROM selected_memop
    UNION ALL SELECT device_id, global_pid, start_ns, end_ns FROM selected_graph_launch
), by_process AS (
    SELECT global_pid, sum(end_ns - start_ns)::BIGINT AS ns, count(*) AS operations, min(device_id) AS device_id
    FROM operation GROUP BY global_pid
), shown AS (
    SELECT {
            'name': 'process ' || pid_of(global_pid) || coalesce(' (' || name || ')', ''), 'ns': ns,
            'count': operations, 'device': device_id
        } AS piece
    FROM by_process LEFT JOIN (SELECT global_pid, any_value(name) AS name FROM process GROUP BY ALL) USING (global_pid)
    ORDER BY ns DESC, global_pid LIMIT 10
)
SELECT count(*) AS value, (SELECT count(DISTINCT device_id) FROM operation) AS gpus,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.name) FROM shown) AS evidence
FROM by_process;
