-- title: CUDA GPU trace
-- One row per kernel, memcpy and memset operation in order of start, as `nsys stats -r cuda_gpu_trace` prints them
-- (`by=short` is its option `base`). Operations with the same start keep the order of the export, kernels first.
-- Throughput is bytes times the integer part of 1e9 / duration, as in nsys: long operations show less than they
-- reached. Operations with an end before their start are left out, unlike in nsys.
-- includes: selection, nsys
-- selects: part
-- param: by = demangled (demangled, short, mangled) kernel name to show
-- needs: kernel or memop
-- column: Start (ns) | ns | | start on the GPU
-- column: Duration (ns) | ns | | time on the GPU
-- column: CorrId | id | | correlation id, joins the CUDA call of the same process
-- column: GrdX | blocks | | blocks in x
-- column: GrdY | blocks | | blocks in y
-- column: GrdZ | blocks | | blocks in z
-- column: BlkX | threads | | threads per block in x
-- column: BlkY | threads | | threads per block in y
-- column: BlkZ | threads | | threads per block in z
-- column: Reg/Trd | count | | registers per thread
-- column: StcSMem (MB) | MB | .3f | static shared memory per block
-- column: DymSMem (MB) | MB | .3f | dynamic shared memory per block, requested at launch
-- column: Bytes (MB) | MB | .3f | size of the memory operation
-- column: Throughput (MB/s) | MB/s | .3f | size over time of the memory operation
-- column: SrcMemKd | text | | memory kind of the source, or of the memory that is set
-- column: DstMemKd | text | | memory kind of the destination of a copy
-- column: Device | text | | GPU with its number
-- column: Ctx | id | | CUDA context
-- column: GreenCtx | id | | green context
-- column: Strm | id | | CUDA stream
-- column: Name | text | | name of the kernel, or kind and direction of the memory operation
WITH memory_kind AS (
    SELECT id, label FROM enum_value WHERE enum = 'CUDA_MEM_KIND'
), operations AS (
    SELECT 1 AS part, kernel_id AS row_id, start_ns, end_ns, correlation_id, grid_x, grid_y, grid_z,
        block_x, block_y, block_z, registers_per_thread, static_shared_bytes, dynamic_shared_bytes,
        NULL::BIGINT AS bytes, NULL AS source, NULL AS target, device_id, context_id, green_context_id, stream_id, name
    FROM selected_kernel AS kernel LEFT JOIN kernel_names($by) USING (name_id)
    UNION ALL BY NAME
    SELECT 2 AS part, memop_id AS row_id, start_ns, end_ns, correlation_id, bytes,
        CASE kind WHEN 'memset' THEN target.label ELSE source.label END AS source,
        CASE kind WHEN 'memcpy' THEN target.label END AS target,
        device_id, context_id, green_context_id, stream_id, operation AS name
    FROM selected_memop AS memop
    LEFT JOIN memory_kind AS source ON source.id = src_kind
    LEFT JOIN memory_kind AS target ON target.id = dst_kind
)
SELECT start_ns AS "Start (ns)", end_ns - start_ns AS "Duration (ns)", correlation_id AS "CorrId", grid_x AS "GrdX",
    grid_y AS "GrdY", grid_z AS "GrdZ", block_x AS "BlkX", block_y AS "BlkY", block_z AS "BlkZ",
    registers_per_thread AS "Reg/Trd", static_shared_bytes / 1e6 AS "StcSMem (MB)",
    dynamic_shared_bytes / 1e6 AS "DymSMem (MB)", bytes / 1e6 AS "Bytes (MB)",
    bytes::DOUBLE * (1000000000 // (end_ns - start_ns)) / 1e6 AS "Throughput (MB/s)",  -- as a BIGINT it can overflow
    source AS "SrcMemKd", target AS "DstMemKd", coalesce(gpu.name, '') || ' (' || device_id || ')' AS "Device",
    context_id AS "Ctx", nullif(green_context_id, 0) AS "GreenCtx", stream_id AS "Strm", operations.name AS "Name"
FROM operations LEFT JOIN gpu ON gpu_id = device_id
ORDER BY start_ns, part, row_id;
