-- title: What the program uses
-- One row per trait of the program in the whole report: its framework, execution, purpose, work sharing among GPUs, and
-- techniques in use that advice could name. Each has the name in the report that proves it. A missing trait is not
-- known to be in use.
-- page: findings
-- includes: selection, program, tensor
-- once: signs
-- column: trait | text | | property of the program, or technique in use
-- column: evidence | text | | evidence: kind and name
-- column: ranks | count | | number of ranks that share the work, if the report states it
WITH named AS MATERIALIZED (
    SELECT trait, arg_min(source || ' ' || left(name, 100), (list_position(
            ['range', 'kernel', 'library', 'Python file', 'process group', 'collective', 'call', 'thread', 'process',
                'command'], source), length(name), name)) AS evidence
    FROM program_sign WHERE name <> '' GROUP BY trait
), world AS (
    SELECT nullif(max(ranks), 1) AS ranks FROM (
        SELECT max(world_size) AS ranks FROM distributed UNION ALL SELECT max(group_size) FROM collective
        UNION ALL SELECT count(DISTINCT device_id) FROM kernel SEMI JOIN (
            SELECT name_id FROM kernel_name WHERE regexp_matches(demangled, '(?i)nccl')
        ) USING (name_id)
    )
), copied AS (
    SELECT sum(bytes) AS bytes, sum(bytes) FILTER (CASE copy_kind WHEN 1 THEN src_kind ELSE dst_kind END = 1) AS pinned
    FROM memop WHERE kind = 'memcpy' AND copy_kind IN (1, 2) AND bytes > 64000
), product AS (
    SELECT bits, min(name) AS name
    FROM (
        SELECT bits, demangled AS name FROM product_name
        WHERE unit = 'tensor' AND name_id IN (SELECT name_id FROM kernel)
        UNION ALL SELECT product_bits(kernel), kernel FROM ncu_launch WHERE product_unit(kernel) = 'tensor'
    )
    -- attention in FP32 runs on tensor cores, whether or not the program lets its products use TF32
    WHERE bits < 32 OR bits = 32 AND NOT contains(lower(name), 'fmha') GROUP BY bits
), forward_reduce AS (  -- DDP sends gradients, in backward alone
    SELECT 4 * count(*) FILTER (
            regexp_matches(path, '(?i)(^|[^a-z])(fwd|forward)([^a-z]|$)')
            AND NOT regexp_matches(path, '(?i)bwd|backward')
        ) >= greatest(1, count(*)) AS in_forward
    FROM kernel SEMI JOIN (
        SELECT name_id FROM kernel_name WHERE regexp_matches(demangled, '(?i)nccl\w*_All_?Reduce')
    ) USING (name_id)
    LEFT JOIN range ON pre = coalesce(process_range, thread_range) LEFT JOIN range_path USING (path_id)
), chip AS (
    SELECT min(TRY_CAST(cc AS DOUBLE)) AS cc, arg_min('GPU ' || left(name, 80) || ', compute capability ' || cc, cc)
            AS evidence
    FROM (
        SELECT name, compute_capability AS cc FROM gpu UNION ALL SELECT '', cc FROM ncu_launch
    ) WHERE cc IS NOT NULL
), classed AS MATERIALIZED (
    SELECT coalesce(bool_or(class IN ('matmul', 'convolution')), false) AS has_products,
        coalesce(bool_or(class IN ('normalization', 'pooling')), false) AS has_layers,
        coalesce(bool_or(class = 'attention'), false) AS has_attention,
        coalesce(bool_or(class IN ('attention', 'softmax')), false) AS attends
    FROM kernel_name
), titled AS MATERIALIZED (
    SELECT coalesce(bool_or(starts_with(text, 'FusionExecutor')), false) AS has_fuser,
        coalesce(bool_or(regexp_matches(text, '^nn\.Module: |(^|\W)forward(\W|$)')), false) AS has_forward
    FROM range_name
), vector AS (  -- products with one row, or next to attention with few, as in a model that decodes a few sequences
    SELECT count(*) FILTER (regexp_matches(demangled, '(?i)gemv')
            OR has_attention AND is_vector_product(demangled)) AS few,
        count(*) AS products
    FROM kernel JOIN kernel_name USING (name_id) CROSS JOIN classed WHERE class = 'matmul'
), found AS MATERIALIZED (
    FROM named
    UNION ALL SELECT 'CUDA graphs', 'whole graphs on the GPU' WHERE has_rows('graph_launch')
    UNION ALL
    SELECT 'CUDA graphs', 'kernels of graph nodes' FROM kernel WHERE graph_node_id > 0 HAVING count(*) > 0
    UNION ALL SELECT 'HIP', 'GPU ' || left(name, 100) FROM gpu WHERE regexp_matches(name, 'AMD|Radeon|Instinct')
    UNION ALL SELECT 'SYCL', 'GPU ' || left(name, 100) FROM gpu WHERE regexp_matches(name, '^Intel')
    UNION ALL SELECT 'XLA', 'profiler ' || tool FROM report WHERE starts_with(tool, 'XLA profiler')
    UNION ALL SELECT 'PyTorch', 'profiler ' || tool FROM report WHERE tool = 'PyTorch profiler'
    UNION ALL SELECT 'OpenACC', 'OpenACC events' WHERE has_rows('openacc_event')
    UNION ALL
    SELECT 'Fortran', 'source ' || left(min(value), 100) FROM string
    WHERE string_id IN (SELECT source_id FROM openacc_event) AND regexp_matches(value, '\.[fF](90|95|03|08)?$')
    HAVING count(*) > 0
    UNION ALL SELECT 'OpenMP', 'OpenMP events' WHERE has_rows('openmp_event')
    UNION ALL SELECT 'MPI', 'MPI calls' WHERE has_rows('mpi_call')
    UNION ALL
    SELECT 'decode', format('{} of {} matrix products have eight rows or fewer', few, products) FROM vector
    WHERE products >= 20 AND few >= 0.5 * products
    UNION ALL
    SELECT 'pinned memory', format('{:.0f} % of the bytes copied', 100.0 * pinned / bytes) FROM copied
    WHERE bytes >= 1000000 AND pinned >= 0.9 * bytes
    UNION ALL
    SELECT 'expandable segments', 'segments of the allocator'
    WHERE has_rows('tensor_segment') AND EXISTS (FROM tensor_segment WHERE is_expandable)
    UNION ALL SELECT 'asynchronous copies', evidence FROM chip WHERE cc >= 8
    UNION ALL SELECT 'TMA', evidence FROM chip WHERE cc >= 9
    UNION ALL SELECT 'old CUDA', 'CUDA ' || cuda_version FROM report WHERE TRY_CAST(cuda_version AS DOUBLE) < 11.2
    UNION ALL
    SELECT CASE bits WHEN 8 THEN '8-bit products' WHEN 16 THEN '16-bit products' ELSE 'TF32 products' END,
        'kernel ' || left(name, 100)
    FROM product
), has AS MATERIALIZED (
    SELECT traits, list_has_any(traits, ['PyTorch', 'JAX', 'XLA', 'TensorFlow', 'TensorRT']) AS is_model
    FROM (SELECT coalesce(list(DISTINCT trait), []) AS traits FROM found)
), exchange AS (  -- a stage sends and receives; a scatter does one of both
    SELECT NOT has_rows('range') OR EXISTS (
            SELECT global_tid FROM range JOIN range_path USING (path_id)
            WHERE name IN ('NCCL:ncclSend', 'NCCL:ncclRecv') GROUP BY global_tid HAVING count(DISTINCT name) = 2
        ) AS goes_both_ways
), derived AS ( -- traits that only hint at another one take its name
    SELECT CASE found.trait WHEN 'all-reduce' THEN IF(in_forward, 'tensor parallel', 'DDP')
            WHEN 'reduce-scatter' THEN 'FSDP' WHEN 'send' THEN 'pipeline parallel'
            WHEN 'split layers' THEN 'tensor parallel' WHEN 'nhwc' THEN 'channels last' ELSE found.trait END AS trait,
        evidence || CASE found.trait
            WHEN 'all-reduce' THEN IF(in_forward, ', in the forward pass, too', ', the only collective of a training')
            WHEN 'reduce-scatter' THEN ', and an all-gather' WHEN 'send' THEN ', and no all-to-all' ELSE '' END
            AS evidence
    FROM found CROSS JOIN has CROSS JOIN forward_reduce CROSS JOIN world CROSS JOIN classed CROSS JOIN exchange
    WHERE CASE
            WHEN found.trait = 'vLLM' THEN NOT list_contains(traits, 'SGLang') OR NOT starts_with(evidence, 'kernel')
            WHEN found.trait = 'TensorRT' THEN NOT list_has_any(traits, ['vLLM', 'SGLang'])
            WHEN found.trait IN ('training', 'checkpointing', 'foreach optimizer', 'fused optimizer') THEN is_model
            WHEN found.trait IN ('decode', 'prefill') THEN is_model AND NOT list_contains(traits, 'training') AND (
                    attends OR NOT regexp_matches(evidence, '^range|matrix products')
                    OR NOT list_contains(traits, 'PyTorch')
                    OR list_has_any(traits, ['torch.compile', 'CUDA graphs', 'vLLM', 'SGLang', 'TensorRT'])
                )  -- else it decodes images, fits planes, or the like
            WHEN found.trait = 'all-reduce' THEN list_has_all(traits, ['PyTorch', 'training'])
                AND NOT list_has_any(traits, [
                    'DDP', 'all-gather', 'reduce-scatter', 'send', 'FSDP', 'DeepSpeed', 'tensor parallel',
                    'pipeline parallel'
                ])
            WHEN found.trait = 'reduce-scatter' THEN list_has_all(traits, ['PyTorch', 'training', 'all-gather'])
                AND NOT list_has_any(traits, ['FSDP', 'DDP', 'DeepSpeed', 'tensor parallel', 'split layers'])
            WHEN found.trait = 'send' THEN goes_both_ways AND list_has_all(traits, ['PyTorch', 'training'])
                AND NOT list_has_any(traits, ['all-to-all', 'FSDP', 'tensor parallel', 'split layers'])
            WHEN found.trait = 'split layers' THEN ranks > 1
            WHEN found.trait = 'nhwc' THEN list_contains(traits, 'PyTorch')
                AND NOT list_contains(traits, 'nchw to nhwc')
            ELSE found.trait NOT IN ('all-gather', 'all-to-all', 'nchw to nhwc')
        END
    UNION ALL
    SELECT 'eager', arg_min('kernel ' || left(name, 100), length(name))
    FROM program_sign CROSS JOIN has CROSS JOIN titled
    WHERE source = 'kernel' AND trait = 'PyTorch' AND regexp_matches(name, 'at::native::|_ZN2at6native')
        AND NOT list_has_any(traits, ['torch.compile', 'TensorRT']) AND NOT has_rows('graph_launch')
        AND NOT has_fuser
    HAVING count(*) > 0
    UNION ALL
    SELECT 'inference', 'kernels of a model, and none of a backward pass'
    FROM has CROSS JOIN titled CROSS JOIN classed
    WHERE is_model AND NOT list_contains(traits, 'training') AND (
            list_has_any(traits, ['vLLM', 'SGLang', 'TensorRT', 'decode', 'prefill'])
            OR has_products AND (has_layers OR has_forward)
        )
    UNION ALL
    SELECT 'CUDA C++', 'process ' || left(min(name), 100)
    FROM (
        SELECT name FROM program_process WHERE has_rows('kernel') UNION SELECT process_name FROM ncu_launch
    ) AS ran (name) CROSS JOIN has
    WHERE NOT is_model AND NOT list_has_any(
            traits, ['CuPy', 'Numba', 'OpenACC', 'OpenMP offload', 'Fortran', 'HIP', 'SYCL']
        )
    HAVING count(*) > 0
        AND NOT bool_or(regexp_matches(coalesce(name, 'python'), '(?i)python|julia|java|matlab|node$|dotnet'))
)
SELECT trait, min(evidence) AS evidence,
    CASE WHEN trait IN ('DDP', 'FSDP', 'DeepSpeed', 'tensor parallel', 'pipeline parallel') THEN any_value(ranks) END
        ::BIGINT AS ranks
FROM derived CROSS JOIN world
GROUP BY trait
ORDER BY trait;
