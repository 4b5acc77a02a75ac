-- title: Messages through the host
-- question: Do processes hand data of GPUs to each other over sockets?
-- The share of each GPU's active span (first to last operation) in which it computes nothing while data goes from GPU
-- to GPU through host memory and a socket, as PyTorch's backend Gloo sends it. A gap counts if it begins with a copy of
-- at least `least_bytes` to the host, or ends with one to the GPU, and threads of the process send or receive in it: by
-- `send`, `recv` and their like, or by `writev` and `readv` in a thread that waits for sockets (`epoll_wait`), because
-- C++ writes files by `writev`, too. Of such a gap, the OS calls of the launching thread count, and the copies.
-- The trace has no contents: that the socket carries the copied data is inferred.
-- needs: memop
-- needs: osrt_call
-- includes: finding, idle, work, memory, program
-- selects: part
-- once: span, functions, compute, copies, idle, signs
-- parts: OS runtime call, copies, copy call, synchronization
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_bytes = 1000000 size from which a copy counts, bytes
-- column: gaps | count | | gaps with such a message
-- column: bytes | bytes | | bytes of their copies
-- column: bare_ns | ns | | time of the OS calls and copies in which the GPU computes nothing
-- column: range | name | | range with most of the OS calls; * stands for its last number
-- says: Data goes from GPU to GPU through host memory and sockets: for {bare_ns} ({value} of the time) the GPU waits for such messages in {gaps} {gaps|gap|gaps} ({bytes} of copies), most of it in {range}.
-- says: Data goes from GPU to GPU through host memory and sockets: for {bare_ns} ({value} of the time) the GPU waits for such messages in {gaps} {gaps|gap|gaps} ({bytes} of copies).
-- clear: The GPU waits {value} of the time for messages through host memory and sockets.
-- advice: [PyTorch] Send tensors of the GPU with NCCL in {range|the loop}: `init_process_group("nccl")`, or `"cpu:gloo,cuda:nccl"` for tensors of both, and no `.cpu()` before `send`, `recv` and collectives. Gloo copies them through host memory and TCP.
-- advice: [else, MPI] Pass device pointers to an MPI that is built for CUDA (UCX, GPUDirect) in {range|the loop}, or use NCCL.
-- advice: [else] Hand data from GPU to GPU in {range|the loop}: with NCCL, or on one machine by a peer copy into memory opened with `cudaIpcOpenMemHandle`.
-- advice: Until then, send in another thread, and compute the next part meanwhile.
-- source: ours; PyTorch, Distributed communication package (which backend to use)
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS gaps, 0 AS bytes, 0 AS bare_ns, NULL AS range, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (
        FROM osrt_call JOIN string ON string_id = name_id
        WHERE regexp_matches(value, '^(send(to|m?msg)?|recv(from|m?msg)?|writev|readv)$')
    );

WITH poller AS (
    SELECT DISTINCT global_tid FROM osrt_call JOIN string ON string_id = name_id WHERE value LIKE 'epoll%wait'
), socket AS MATERIALIZED (
    SELECT pid_of(global_tid) AS pid, start_ns FROM osrt_call JOIN string ON string_id = name_id
    WHERE regexp_matches(value, '^(send(to|m?msg)?|recv(from|m?msg)?)$')
        OR value IN ('writev', 'readv') AND global_tid IN (FROM poller)
), piece AS MATERIALIZED (
    SELECT gap_id, device_id, start_ns, start_ns + duration_ns AS end_ns, s, e, ns, pre FROM selected_idle(2000, NULL)
    WHERE reason = 'OS runtime call'
), gap AS (SELECT DISTINCT gap_id, device_id, start_ns, end_ns FROM piece
), copy AS MATERIALIZED (
    SELECT memop_id, device_id, bytes, copy_kind, global_pid, start_ns AS held_ns, copy_start_ns AS start_ns,
        copy_end_ns AS end_ns
    FROM finding_held_copy WHERE kind = 'memcpy' AND copy_kind IN (1, 2) AND bytes >= $least_bytes::BIGINT
), met AS (
    SELECT gap.*, memop_id, pid_of(global_pid) AS pid FROM gap JOIN copy
        ON copy.device_id = gap.device_id AND copy.end_ns = gap.start_ns AND copy_kind = 2
    UNION ALL
    SELECT gap.*, memop_id, pid_of(global_pid) FROM gap JOIN copy
        ON copy.device_id = gap.device_id AND copy.start_ns = gap.end_ns AND copy_kind = 1
), message AS MATERIALIZED (
    SELECT met.* FROM met ASOF JOIN socket ON socket.pid = met.pid AND met.end_ns > socket.start_ns
    WHERE socket.start_ns >= met.start_ns
), carried AS MATERIALIZED (FROM copy SEMI JOIN message USING (memop_id)
), waited AS MATERIALIZED (FROM piece SEMI JOIN message USING (gap_id)
), taken AS ( -- noqa: ST03
    SELECT device_id, s AS start_ns, e AS end_ns FROM waited
    UNION ALL SELECT device_id, held_ns, end_ns FROM carried
), lost AS (FROM finding_cover('taken', 'finding_compute')
), total AS (SELECT count(DISTINCT gap_id) AS gaps FROM waited
), moved AS (SELECT coalesce(sum(bytes), 0)::BIGINT AS bytes FROM carried
), place AS (
    SELECT pattern FROM waited JOIN idle_pattern USING (pre) GROUP BY pattern ORDER BY sum(ns) DESC, pattern LIMIT 1
), shown AS (
    SELECT {
            'name': 'OS calls', 'ns': e - s, 'start_ns': s, 'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM waited ORDER BY ns DESC, s LIMIT 10)
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * bare_ns / nullif(finding_window.ns, 0) AS value, bare_ns AS saving_ns, total.gaps, moved.bytes, bare_ns,
    (FROM place) AS range, (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN lost CROSS JOIN total CROSS JOIN moved;
