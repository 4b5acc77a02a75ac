-- title: Slow copies between GPUs
-- question: Do copies between GPUs stay below the rate of their link?
-- The excess time of slow copies between two GPUs in which the GPU computes nothing, as a share of the active span
-- (first to last operation of each GPU). A copy of at least `least_bytes` is slow below `least_pct` percent of the
-- link's peak in one direction; the excess is its time beyond that rate. The board's name tells the link (`peer_link`):
-- NVLink if it has it, else PCI Express. Of two links the slower one counts.
-- needs: memop
-- includes: finding, work, memory
-- selects: part
-- once: span, compute
-- parts: copies
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: least_bytes = 1000000 smaller copies do not reach the peak
-- param: least_pct = 50 a copy is slow below this share of the peak, percent
-- column: copies | count | | slow copies
-- column: rate | bytes | .1f | bytes per second of the slow copies
-- column: peak | bytes | .1f | bytes per second of the link
-- column: link | text | | NVLink or PCI Express
-- says: {copies} {copies|copy|copies} between GPUs {copies|reaches|reach} {rate} over {link}, which can carry {peak}. That costs {value} of the time.
-- clear: Copies between GPUs that stay below their link cost {value} of the time.
-- advice: [HIP] Check that the GPUs reach each other: `amd-smi topology` (XGMI or PCIe), `hipDeviceCanAccessPeer` and `hipDeviceEnablePeerAccess`; without peer access a copy goes through the memory of the host.
-- advice: [else] Check that the GPUs reach each other: `nvidia-smi topo -m` (NV# is NVLink, SYS crosses sockets), `cudaDeviceCanAccessPeer` and `cudaDeviceEnablePeerAccess`; without peer access a copy goes through the memory of the host.
-- advice: Copy larger pieces, and on several streams; or let NCCL move the data: it knows the topology.
-- source: NVIDIA data sheets (NVLink in one direction: V100 150, A100 300, H100 and H200 450, B200 900 GB/s); half of it: ours
SELECT NULL AS value, 'The selection has no large copies between GPUs whose link is known.' AS unjudged, 0 AS saving_ns,
    0 AS copies, NULL AS rate, NULL AS peak, NULL AS link, NULL AS evidence
FROM selected_memop WHERE src_device_id <> dst_device_id HAVING count(*) = 0;

WITH link AS (
    SELECT gpu_id, peer_link(gpu.name) AS nvlink, host_link_bytes_per_s(gpu.name, chip, cpu) AS pcie
    FROM gpu CROSS JOIN report
), rated AS (
    SELECT gpu_id, coalesce(nvlink, pcie) AS peak, CASE WHEN nvlink IS NULL THEN 'PCI Express' ELSE 'NVLink' END AS link
    FROM link
), copy AS (
    SELECT one.memop_id, one.device_id, one.stream_id, one.start_ns, one.end_ns, bytes, one.operation,
        least(source.peak, target.peak) AS peak,
        CASE WHEN source.peak <= target.peak THEN source.link ELSE target.link END AS link
    FROM selected_memop AS one JOIN rated AS source ON source.gpu_id = src_device_id
    JOIN rated AS target ON target.gpu_id = dst_device_id
    WHERE one.kind = 'memcpy' AND src_device_id <> dst_device_id AND bytes >= $least_bytes::BIGINT
        AND one.end_ns > one.start_ns AND source.peak > 0 AND target.peak > 0
), slow AS MATERIALIZED (
    SELECT * FROM copy WHERE bytes * 1e9 / (end_ns - start_ns) < $least_pct::DOUBLE / 100 * peak
), late AS MATERIALIZED (  -- beyond their time at that rate
    SELECT * REPLACE (start_ns + (bytes * 1e9 / ($least_pct::DOUBLE / 100 * peak))::BIGINT AS start_ns) FROM slow
), taken AS (FROM finding_cover('late', 'finding_compute')
), total AS (
    SELECT count(*) AS copies, sum(bytes) * 1e9 / nullif(sum(end_ns - start_ns), 0) AS rate, max(peak) AS peak,
        any_value(link) AS link
    FROM slow
), shown AS (
    SELECT {
            'name': operation, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM slow WHERE EXISTS (FROM late) ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN EXISTS (FROM copy) THEN 100.0 * taken.bare_ns / nullif(finding_window.ns, 0) END AS value,
    'The selection has no large copies between GPUs whose link is known.' AS unjudged,
    taken.bare_ns AS saving_ns, copies, rate, total.peak, total.link,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN taken CROSS JOIN total;
