-- title: What the program uses
-- One row per trait of the program in the whole report: its framework, execution, purpose, work sharing among GPUs, and
-- techniques in use that advice could name. Each has the name in the report that proves it. A missing trait is not
-- known to be in use.
-- page: findings
-- includes: program, tensor
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
    SELECT nullif(greatest(
            (SELECT max(world_size) FROM distributed), (SELECT max(group_size) FROM collective),
            (SELECT count(DISTINCT device_id) FROM kernel SEMI JOIN (
                    SELECT name_id FROM kernel_name WHERE regexp_matches(demangled, '(?i)nccl')
                ) USING (name_id))
        ), 1) AS ranks
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
    WHERE bits < 64 GROUP BY bits
), forward_reduce AS (  -- DDP sends gradients, in backward alone
    SELECT count(*) AS every, count(*) FILTER (
            regexp_matches(path, '(?i)(^|[^a-z])(fwd|forward)([^a-z]|$)')
            AND NOT regexp_matches(path, '(?i)bwd|backward')
        ) AS inside
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
), vector AS (  -- products with one row, or next to attention with few, as in a model that decodes a few sequences
    SELECT count(*) FILTER (regexp_matches(demangled, '(?i)gemv')
            OR EXISTS (FROM kernel_name WHERE class = 'attention') AND is_vector_product(demangled)) AS few,
        count(*) AS products
    FROM kernel JOIN kernel_name USING (name_id) WHERE class = 'matmul'
), found AS MATERIALIZED (
    FROM named
    UNION ALL SELECT 'CUDA graphs', 'whole graphs on the GPU' WHERE EXISTS (FROM graph_launch)
    UNION ALL SELECT 'CUDA graphs', 'kernels of graph nodes' WHERE EXISTS (FROM kernel WHERE graph_node_id > 0)
    UNION ALL SELECT 'HIP', 'GPU ' || left(name, 100) FROM gpu WHERE regexp_matches(name, 'AMD|Radeon|Instinct')
    UNION ALL SELECT 'SYCL', 'GPU ' || left(name, 100) FROM gpu WHERE regexp_matches(name, '^Intel')
    UNION ALL SELECT 'XLA', 'profiler ' || tool FROM report WHERE starts_with(tool, 'XLA profiler')
    UNION ALL SELECT 'PyTorch', 'profiler ' || tool FROM report WHERE tool = 'PyTorch profiler'
    UNION ALL SELECT 'OpenACC', 'OpenACC events' WHERE EXISTS (FROM openacc_event)
    UNION ALL
    SELECT 'Fortran', 'source ' || left(min(value), 100) FROM string
    WHERE string_id IN (SELECT source_id FROM openacc_event) AND regexp_matches(value, '\.[fF](90|95|03|08)?$')
    HAVING count(*) > 0
    UNION ALL SELECT 'OpenMP', 'OpenMP events' WHERE EXISTS (FROM openmp_event)
    UNION ALL SELECT 'MPI', 'MPI calls' WHERE EXISTS (FROM mpi_call)
    UNION ALL
    SELECT 'decode', format('{} of {} matrix products have eight rows or fewer', few, products) FROM vector
    WHERE products >= 20 AND few >= 0.5 * products
    UNION ALL
    SELECT 'pinned memory', format('{:.0f} % of the bytes copied', 100.0 * pinned / bytes) FROM copied
    WHERE bytes >= 1000000 AND pinned >= 0.9 * bytes
    UNION ALL
    SELECT 'expandable segments', 'segments of the allocator'
    WHERE EXISTS (FROM tensor_segment WHERE is_expandable)
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
), derived AS (
    SELECT found.* FROM found CROSS JOIN has
    WHERE CASE
            WHEN trait = 'vLLM' THEN NOT list_contains(traits, 'SGLang') OR NOT starts_with(evidence, 'kernel')
            WHEN trait = 'TensorRT' THEN NOT list_has_any(traits, ['vLLM', 'SGLang'])
            WHEN trait IN ('training', 'checkpointing', 'foreach optimizer', 'fused optimizer') THEN is_model
            WHEN trait IN ('decode', 'prefill') THEN is_model AND NOT list_contains(traits, 'training')
            ELSE NOT list_contains([
                    'all-reduce', 'all-gather', 'reduce-scatter', 'send', 'all-to-all', 'split layers', 'nhwc',
                    'nchw to nhwc'
                ], trait)
        END
    UNION ALL
    SELECT 'eager', arg_min('kernel ' || left(name, 100), length(name)) FROM program_sign CROSS JOIN has
    WHERE source = 'kernel' AND trait = 'PyTorch' AND regexp_matches(name, 'at::native::|_ZN2at6native')
        AND NOT list_has_any(traits, ['torch.compile', 'TensorRT']) AND NOT EXISTS (FROM graph_launch)
        AND NOT EXISTS (FROM range_name WHERE starts_with(text, 'FusionExecutor'))
    HAVING count(*) > 0
    UNION ALL
    SELECT 'inference', 'kernels of a model, and none of a backward pass' FROM has
    WHERE is_model AND NOT list_contains(traits, 'training') AND (
            list_has_any(traits, ['vLLM', 'SGLang', 'TensorRT', 'decode', 'prefill']) OR (
                EXISTS (FROM kernel_name WHERE class IN ('matmul', 'convolution')) AND (
                    EXISTS (FROM kernel_name WHERE class IN ('normalization', 'pooling'))
                    OR EXISTS (FROM range_name WHERE regexp_matches(text, '^nn\.Module: |(^|\W)forward(\W|$)'))
                )
            )
        )
    UNION ALL
    SELECT CASE WHEN 4 * inside >= every AND inside > 0 THEN 'tensor parallel' ELSE 'DDP' END,
        evidence || CASE WHEN 4 * inside >= every AND inside > 0 THEN ', in the forward pass, too'
            ELSE ', the only collective of a training' END
    FROM found CROSS JOIN has CROSS JOIN forward_reduce
    WHERE trait = 'all-reduce' AND list_has_all(traits, ['PyTorch', 'training']) AND NOT list_has_any(traits, [
                'DDP', 'all-gather', 'reduce-scatter', 'send', 'FSDP', 'DeepSpeed', 'tensor parallel',
                'pipeline parallel'
            ])
    UNION ALL
    SELECT 'FSDP', evidence || ', and an all-gather' FROM found CROSS JOIN has
    WHERE trait = 'reduce-scatter' AND list_has_all(traits, ['PyTorch', 'training', 'all-gather'])
        AND NOT list_has_any(traits, ['FSDP', 'DDP', 'DeepSpeed', 'tensor parallel', 'split layers'])
    UNION ALL
    SELECT 'pipeline parallel', evidence || ', and no all-to-all' FROM found CROSS JOIN has
    WHERE trait = 'send' AND list_has_all(traits, ['PyTorch', 'training'])
        AND NOT list_has_any(traits, ['all-to-all', 'FSDP', 'tensor parallel', 'split layers'])
    UNION ALL
    SELECT 'tensor parallel', evidence FROM found CROSS JOIN world WHERE trait = 'split layers' AND ranks > 1
    UNION ALL
    SELECT 'channels last', evidence FROM found CROSS JOIN has
    WHERE trait = 'nhwc' AND list_contains(traits, 'PyTorch') AND NOT list_contains(traits, 'nchw to nhwc')
    UNION ALL
    SELECT 'CUDA C++', 'process ' || left(min(name), 100)
    FROM (
        SELECT name FROM program_process WHERE EXISTS (FROM kernel) UNION SELECT process_name FROM ncu_launch
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
