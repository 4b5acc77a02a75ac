-- Facts of a report about the program and its machine.
-- includes: selection, sidecar

-- A word as a shell takes it (shlex.quote).
CREATE OR REPLACE MACRO quoted_for_shell(word) AS
IF(regexp_full_match(word, '[\w@%+=:,./-]+'), word, '''' || replace(word, '''', '''"''"''') || '''');

-- The command line of the program, each word quoted: of the sidecar, which has the launcher, too, else as the profiler
-- recorded it. Without a row if neither has one, or if it has characters that nobody sees. The command line of a
-- Compute report is that of ncu.
CREATE OR REPLACE VIEW recorded_program AS
WITH of_sidecar AS (
    SELECT list(value ORDER BY regexp_extract(key, '\d+')::INTEGER) AS words FROM meta
    WHERE regexp_full_match(key, 'command\.\d{1,4}') OR key = 'command'
), recorded AS (
    SELECT coalesce(of_sidecar.words, string_split_regex(trim(command), '\s+')) AS words
    FROM report CROSS JOIN of_sidecar WHERE kind <> 'ncu' OR of_sidecar.words IS NOT NULL
)
SELECT array_to_string(list_transform(words, LAMBDA word: quoted_for_shell(word)), ' ') AS command
FROM recorded
WHERE array_to_string(words, '') <> '' AND NOT regexp_matches(array_to_string(words, ''), '\pC')
    AND length(array_to_string(words, ' ')) < 2000;

-- Whether it ran under WSL2, whose drivers often do not report GPU work.
CREATE OR REPLACE VIEW machine AS
SELECT count(*) > 0 AS wsl FROM system_info
WHERE name = 'SoftwareReleaseVersion' AND value ILIKE '%microsoft%';

-- Traits of a program by a name in its report: of a kernel, a range (with its NVTX domain; operators and modules of
-- traces are ranges), a source file of a Python frame, a library, a thread or process, a CUDA or HIP call, a collective
-- or process group, or the command line.
CREATE OR REPLACE MACRO traits_by_kernel(name) AS [
    CASE WHEN regexp_matches(name, '\b(at|c10|torch)::|_ZN(2at|3c10|5torch)|^triton_(_|[a-z]{2,5}_fused_)')
        THEN 'PyTorch' END,
    CASE WHEN regexp_matches(name, '^triton_(_0d|[a-z]{2,5}_fused_)') THEN 'torch.compile' END,
    CASE WHEN regexp_matches(name, '\bdeepspeed\b|deepspeed::') THEN 'DeepSpeed' END,
    CASE WHEN regexp_matches(name, '\bvllm::|_ZN4vllm') THEN 'vLLM' END,
    CASE WHEN regexp_matches(name, '\b(sglang|sgl_kernel|sgl_hip)\b|_ZN\d+(sglang|sgl_hip|sgl_kernel)')
        THEN 'SGLang' END,
    CASE WHEN regexp_matches(name, '^(fusion(_\d+)*|(loop|input|gemm|wrapped|triton_(gemm|softmax))_(\w+_)?'
        || 'fusion\w*|wrapped_\w+)$|\bxla::gpu\b') THEN 'XLA' END,
    CASE WHEN regexp_matches(name, '\btensorflow::|_ZN10tensorflow|ShuffleInTensor3Simple|SwapDimension\dAnd\dInTensor3'
        || '|\bBiasN(CHW|HWC)Kernel') THEN 'TensorFlow' END,
    CASE WHEN regexp_matches(name, '^cupy_|\bcupy::') THEN 'CuPy' END,
    CASE WHEN regexp_matches(name, '\bcudapy::|_ZN6cudapy|\[abi:(v\d+|c8tJ|cw51)'
        || '|\bArray<\w+, ?\d, ?[ACF], ?(mutable|readonly)') THEN 'Numba' END,
    CASE WHEN regexp_matches(name, '\bnvinfer\d?::|_ZN8nvinfer|^__myl_|^trt_') THEN 'TensorRT' END,
    CASE WHEN regexp_matches(name, '_\d+_gpu(__red)?$') THEN 'OpenACC' END,
    CASE WHEN regexp_matches(name, '^nvkernel_\w+_F\d+L\d+|^__omp_offloading_') THEN 'OpenMP offload' END,
    CASE WHEN regexp_matches(name, '^nvkernel_\w+__F\d+L\d+|^_?QM\w+P\w+') THEN 'Fortran' END,
    CASE WHEN regexp_matches(name, '[Bb]ackward|[^a-z]bwd|bwd_|wgrad|_wrw_|FusedAdam|Fused(Adam|Sgd)Math'
        || '|multi_tensor_adam') THEN 'training' END,
    CASE WHEN regexp_matches(name, '(?i)paged_?attention|BatchDecode|flash_fwd_splitkv|masked_multihead_attention'
        || '|\bmmha\b|_fwd_grouped_kernel_stage1') THEN 'decode' END,
    CASE WHEN regexp_matches(name, '(?i)prefill') THEN 'prefill' END,
    CASE WHEN regexp_matches(name, '(?i)cross_device_reduce_\dstage|multimem_all_reduce|(one|two)_?shot_all_?reduce')
        THEN 'tensor parallel' END,
    CASE WHEN regexp_matches(name, '(?i)nccl\w*_All_?Reduce') THEN 'all-reduce' END,
    CASE WHEN regexp_matches(name, '(?i)nccl\w*_All_?Gather') THEN 'all-gather' END,
    CASE WHEN regexp_matches(name, '(?i)nccl\w*_Reduce_?Scatter') THEN 'reduce-scatter' END,
    CASE WHEN regexp_matches(name, '(?i)flash_?(fwd|bwd|attn)|fmha|sdpa|sage_(fwd|attn)|\b_?attn_fwd|FlashAttn')
        THEN 'fused attention' END,
    CASE WHEN regexp_matches(name, 'Fused(Adam|Sgd|SGD|Adagrad)|multi_tensor_adam') THEN 'fused optimizer' END,
    CASE WHEN regexp_matches(name, '(?i)gelu') THEN 'fused GELU' END,
    CASE WHEN regexp_matches(name, 'multi_tensor_apply_kernel.*(LerpFunctor|PointwiseOp|BinaryOpListAlpha)')
        THEN 'foreach optimizer' END,
    CASE WHEN regexp_matches(name, '^Cijk_\w*?_(BBS|HHS|B_BS|H_HS)_') THEN '16-bit products' END,
    CASE WHEN regexp_matches(name, '(?i)nhwc') AND NOT regexp_matches(name, '(?i)nchw') THEN 'nhwc' END,
    CASE WHEN regexp_matches(name, '(?i)nchw2?to_?nhwc|^batched_transpose_\d+x\d+_') THEN 'nchw to nhwc' END
];
CREATE OR REPLACE MACRO traits_by_range(name) AS [
    CASE WHEN regexp_matches(name, '^(aten|c10d|_c10d_functional|torchvision)::|^autograd::engine|^ProfilerStep#'
        || '|^Torch-Compiled Region|^nn\.Module: |^Optimizer\.(step|zero_grad)#|DistributedDataParallel\.'
        || '|FullyShardedDataParallel|CompiledFxGraph|^enumerate\(DataLoader\)') THEN 'PyTorch' END,
    CASE WHEN regexp_matches(name, '^Torch-Compiled Region|CompiledFxGraph|^CompiledFunction(Backward)?$'
        || '|^TorchDynamo Cache Lookup|^triton_[a-z]{2,5}_fused_') THEN 'torch.compile' END,
    CASE WHEN regexp_matches(name, '^\[pl\]\[|^\[(Strategy|LightningModule|LightningDataModule|Callback)\]')
        THEN 'Lightning' END,
    CASE WHEN regexp_matches(name, '^(DeepSpeedEngine|DeepSpeedZeroOptimizer)\b') THEN 'DeepSpeed' END,
    CASE WHEN regexp_matches(name, '^(vllm|_vllm_fa\d_C|_C_cache_ops)::') THEN 'vLLM' END,
    CASE WHEN regexp_matches(name, '^(sglang|sgl_kernel|sglang_profiler)::|^nn\.Module: RadixAttention_')
        THEN 'SGLang' END,
    CASE WHEN regexp_matches(name, '^(TSL|XLA):|#hlo_(op|module)=|^XlaModule|^PjitFunction') THEN 'XLA' END,
    CASE WHEN regexp_matches(name, 'hlo_module=p?jit_|^PjitFunction|^p?jit\(\w+\)$') THEN 'JAX' END,
    CASE WHEN regexp_matches(name, '^(TensorFlow|tensorflow)[:-]|^tensorflow-core') THEN 'TensorFlow' END,
    CASE WHEN regexp_matches(name, '^cupyx?[.:]') THEN 'CuPy' END,
    CASE WHEN regexp_matches(name, '^TensorRT:|ExecutionContext::(enqueue|execute)') THEN 'TensorRT' END,
    CASE WHEN regexp_matches(name, '^autograd::engine::evaluate_function|^Optimizer\.step#|Backward\d*$')
        OR regexp_matches(name, '(?i)(^|[^a-z])(backward|optimizer_step|train(ing)?_step)([^a-z]|$)')
        THEN 'training' END,
    CASE WHEN regexp_matches(name, '(?i)^decode([_ ]?(step|token|forward|batch))?[_ ]?\d*$|generation_[1-9]\d*[(]')
        THEN 'decode' END,
    CASE WHEN regexp_matches(name, '(?i)(^|[^a-z])prefill|context_[1-9]\d*[(]') THEN 'prefill' END,
    CASE WHEN regexp_matches(name, '^DistributedDataParallel\.|^torch::distributed::reducer') THEN 'DDP' END,
    CASE WHEN regexp_matches(name, 'FullyShardedDataParallel|\bFSDP\b|^fsdp::|RegisterPost(Backward|Forward)')
        THEN 'FSDP' END,
    CASE WHEN regexp_matches(name, '\bDTensor\b') THEN 'tensor parallel' END,
    CASE WHEN regexp_matches(name, '^nn\.Module: (Row|Column|QKV|MergedColumn)ParallelLinear_') THEN 'split layers' END,
    CASE WHEN regexp_matches(name, '^(PipelineStage|_?Schedule(1F1B|GPipe|Interleaved\w*))'
        || '|^(send|recv)_(forward|backward)') THEN 'pipeline parallel' END,
    CASE WHEN regexp_matches(name, '(?i)^(all_?reduce|(sync|average|reduce)_(gradients?|grads?))$')
        THEN 'own all-reduce' END,
    CASE WHEN regexp_matches(name, '^NCCL:ncclAllReduce$') THEN 'all-reduce' END,
    CASE WHEN regexp_matches(name, '^NCCL:nccl(Send|Recv)$') THEN 'send' END,
    CASE WHEN regexp_matches(name, '(?i)all_?to_?all') THEN 'all-to-all' END,
    CASE WHEN regexp_matches(name, '^NCCL:ncclAllGather$') THEN 'all-gather' END,
    CASE WHEN regexp_matches(name, '^NCCL:ncclReduceScatter$') THEN 'reduce-scatter' END,
    CASE WHEN regexp_matches(name, '_MultiProcessingDataLoaderIter') THEN 'loader workers' END,
    CASE WHEN regexp_matches(name, '^## (wait_)?sparse_data_dist ##$') THEN 'TorchRec pipeline' END,
    CASE WHEN regexp_matches(name, '_scaled_dot_product_(flash|efficient|cudnn)_attention$|^flash_attn::') THEN
        'fused attention' END,
    CASE WHEN regexp_matches(name, '^aten::_fused_(adamw?|sgd|adagrad)_$|^Optimizer\.step#Fused')
        THEN 'fused optimizer' END,
    CASE WHEN regexp_matches(name, '^aten::_foreach_(addcdiv|addcmul|lerp)') THEN 'foreach optimizer' END,
    CASE WHEN regexp_matches(name, '^CheckpointFunction(Backward)?$') THEN 'checkpointing' END
];
CREATE OR REPLACE MACRO traits_by_file(name) AS [
    CASE WHEN regexp_matches(name, '(^|/)torch/(nn|autograd|_ops|utils|cuda|optim)\b') THEN 'PyTorch' END,
    CASE WHEN regexp_matches(name, '(^|/)(transformers/(models/\w+/modeling_|modeling_|generation/|trainer)'
        || '|accelerate/\w+\.py|diffusers/(models|pipelines)/|trl/trainer/)') THEN 'Hugging Face' END,
    CASE WHEN regexp_matches(name, '(^|/)(transformers/(trainer|trainer_seq2seq)\.py|trl/trainer/)') THEN 'Trainer' END,
    CASE WHEN regexp_matches(name, '(^|/)(pytorch_lightning|lightning_fabric|lightning/(pytorch|fabric))/')
        THEN 'Lightning' END,
    CASE WHEN regexp_matches(name, '(^|/)deepspeed/(runtime|ops)/') THEN 'DeepSpeed' END,
    CASE WHEN regexp_matches(name, '(^|/)vllm/(v1|worker|engine|model_executor|attention|_custom_ops)') THEN 'vLLM' END,
    CASE WHEN regexp_matches(name, '(^|/)(sglang/srt|sgl_kernel)/') THEN 'SGLang' END,
    CASE WHEN regexp_matches(name, '(^|/)(jax|jaxlib|flax|optax)/(_src|core|linen|\w+\.py)') THEN 'JAX' END,
    CASE WHEN regexp_matches(name, '(^|/)(tensorflow|keras)/(python|src|core)/') THEN 'TensorFlow' END,
    CASE WHEN regexp_matches(name, '(^|/)(cupyx?|cupy_backends)/\w') THEN 'CuPy' END,
    CASE WHEN regexp_matches(name, '(^|/)(numba/cuda|numba_cuda)/') THEN 'Numba' END,
    CASE WHEN regexp_matches(name, '(^|/)(tensorrt|torch_tensorrt)/') THEN 'TensorRT' END,
    CASE WHEN regexp_matches(name, '(^|/)transformers/generation/') THEN 'decode' END,
    CASE WHEN regexp_matches(name, '(^|/)torch/distributed/(fsdp|_composable/fsdp)/') THEN 'FSDP' END,
    CASE WHEN regexp_matches(name, '(^|/)torch/distributed/pipelining/') THEN 'pipeline parallel' END,
    CASE WHEN regexp_matches(name, '(^|/)torch/utils/checkpoint\.py') THEN 'checkpointing' END
];
CREATE OR REPLACE MACRO traits_by_library(name) AS [
    CASE WHEN regexp_matches(name, '/lib(torch|c10)[^/]*[.]so') THEN 'PyTorch' END,
    CASE WHEN regexp_matches(name, '/(xla_extension|_xla)[^/]*[.]so|/jaxlib/') THEN 'JAX' END,
    CASE WHEN regexp_matches(name, '/(libtensorflow|_pywrap_tensorflow)[^/]*[.]so') THEN 'TensorFlow' END,
    CASE WHEN regexp_matches(name, '/cupy(_backends)?/[^ ]*[.]so') THEN 'CuPy' END,
    CASE WHEN regexp_matches(name, '/numba/[^ ]*[.]so') THEN 'Numba' END,
    CASE WHEN regexp_matches(name, '/libnvinfer[^/]*[.]so') THEN 'TensorRT' END,
    CASE WHEN regexp_matches(name, '/vllm/[^/]*[.]so') THEN 'vLLM' END,
    CASE WHEN regexp_matches(name, '/sgl_kernel/[^ ]*[.]so') THEN 'SGLang' END,
    CASE WHEN regexp_matches(name, '/lib(cudafor|nvf|pgf90|ifcore|mpi_mpifh)[^/]*[.]so') THEN 'Fortran' END,
    CASE WHEN regexp_matches(name, '/libmpi[._][^/]*so|/libmpi[.]so') THEN 'MPI' END
];
CREATE OR REPLACE MACRO traits_by_task(name) AS [
    CASE WHEN regexp_matches(name, '^pt_') THEN 'PyTorch' END,
    CASE WHEN regexp_matches(name, '^pt_autograd') THEN 'training' END,
    CASE WHEN regexp_matches(name, '^pt_data_(worker|pin)') THEN 'loader workers' END,
    CASE WHEN regexp_matches(name, '^VLLM::|^vllm') THEN 'vLLM' END,
    CASE WHEN regexp_matches(name, '^sglang::') THEN 'SGLang' END,
    CASE WHEN regexp_matches(name, '^tf_XLA|^py_xla_') THEN 'XLA' END,
    CASE WHEN regexp_matches(name, '^tf_(Compute|data)') THEN 'TensorFlow' END,
    CASE WHEN regexp_matches(name, '^MPI Rank') THEN 'MPI' END
];
CREATE OR REPLACE MACRO traits_by_call(name) AS [
    CASE WHEN regexp_matches(name, '^(cuda|cu|hip)GraphLaunch') THEN 'CUDA graphs' END,
    CASE WHEN regexp_matches(name, '^hip[A-Z]') THEN 'HIP' END,
    CASE WHEN regexp_matches(name, '^(ur|pi|piext|ze)[A-Z]') THEN 'SYCL' END
];
CREATE OR REPLACE MACRO traits_by_collective(name) AS [
    CASE WHEN regexp_matches(name, '(?i)^_?all_?reduce') THEN 'all-reduce' END,
    CASE WHEN regexp_matches(name, '(?i)^_?all_?gather') THEN 'all-gather' END,
    CASE WHEN regexp_matches(name, '(?i)^_?reduce_?scatter') THEN 'reduce-scatter' END,
    CASE WHEN regexp_matches(name, '(?i)tensor_(model_)?parallel|(^|_)tp($|_)') THEN 'tensor parallel' END,
    CASE WHEN regexp_matches(name, '(?i)pipeline|(^|_)pp($|_)|^(i?send|i?recv)$') THEN 'pipeline parallel' END,
    CASE WHEN regexp_matches(name, '(?i)fsdp') THEN 'FSDP' END
];
CREATE OR REPLACE MACRO traits_by_command(name) AS [
    CASE WHEN regexp_matches(name, '(^|[ /])vllm (serve|bench)\b|-m vllm\.') THEN 'vLLM' END,
    CASE WHEN regexp_matches(name, '-m sglang\.') THEN 'SGLang' END,
    CASE WHEN regexp_matches(name, '(^|[ /])trtexec\b') THEN 'TensorRT' END,
    CASE WHEN regexp_matches(name, '(^|[ /])deepspeed ') THEN 'DeepSpeed' END,
    CASE WHEN regexp_matches(name, '(^|[ /])mpi(run|exec)\b') THEN 'MPI' END
];

-- Processes with CUDA calls or GPU work: a capture of a whole machine names others, too. If there are none, all.
CREATE OR REPLACE VIEW program_process AS
WITH used AS (
    SELECT DISTINCT global_pid FROM (
        SELECT global_pid FROM kernel UNION ALL SELECT global_pid FROM memop UNION ALL
        SELECT global_pid FROM thread WHERE global_tid IN (SELECT DISTINCT global_tid FROM api_call)
    )
)
SELECT global_pid, name FROM process
WHERE global_pid IN (FROM used) OR NOT EXISTS (FROM used WHERE global_pid IS NOT NULL);

-- Traits from the names of a report, one row per name and trait; `source` is the kind of name. A capture names all
-- processes of the machine: loader workers may be those of another program of Python, if there is one. The thread that
-- pins batches for the program tells its own.
CREATE OR REPLACE VIEW program_sign AS
WITH task AS (
    SELECT global_tid, name FROM thread WHERE global_pid IN (SELECT global_pid FROM program_process)
), chain AS (
    SELECT DISTINCT module_id FROM callchain
    WHERE kind <> 'sample' OR callchain_id IN (
            SELECT sample_id FROM cpu_sample WHERE global_tid IN (SELECT global_tid FROM task)
        )
), trait_source AS (
    SELECT 'kernel' AS source, name, traits_by_kernel(name) AS traits
    FROM (SELECT demangled AS name FROM kernel_name UNION SELECT kernel FROM ncu_launch)
    UNION ALL
    SELECT 'range', name, traits_by_range(name) FROM (SELECT name FROM range_name UNION SELECT name FROM ncu_nvtx)
    UNION ALL
    SELECT 'Python file', name, traits_by_file(name) FROM (
            SELECT file AS name FROM python_frame
            UNION SELECT regexp_replace(value, '\(\d+\): .*$', '') FROM string
            WHERE string_id IN (SELECT name_id FROM python_call)
        ) WHERE has_rows('python_frame') OR has_rows('python_call')
    UNION ALL
    SELECT 'library', value, traits_by_library(value) FROM string JOIN chain ON string_id = module_id
    WHERE has_rows('callchain')
    UNION ALL
    SELECT 'thread', name, traits_by_task(name) FROM (SELECT DISTINCT name FROM task)
    UNION ALL
    SELECT 'process', name, traits_by_task(name) FROM (SELECT DISTINCT name FROM process)
    WHERE NOT (starts_with(name, 'pt_data_worker') AND EXISTS (
            FROM process WHERE regexp_matches(name, '(^|/)python[\d.]*$')
                AND global_pid NOT IN (SELECT global_pid FROM program_process)
        ))
    UNION ALL
    SELECT 'call', value, traits_by_call(value)
    FROM string WHERE string_id IN (SELECT DISTINCT name_id FROM api_call)
    UNION ALL
    SELECT 'process group', name, traits_by_collective(name)
    FROM (SELECT description AS name FROM process_group UNION SELECT description FROM collective)
    WHERE has_rows('process_group') OR has_rows('collective')
    UNION ALL
    SELECT 'collective', name, traits_by_collective(name) FROM (SELECT DISTINCT name FROM collective)
    WHERE has_rows('collective')
    UNION ALL
    SELECT 'command', command, traits_by_command(command) FROM report
)
SELECT source, name, trait
FROM (SELECT source, name, unnest(traits) AS trait FROM trait_source) WHERE trait IS NOT NULL;
