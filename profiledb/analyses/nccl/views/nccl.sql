-- NCCL kernels, and the facts in its calls.
-- includes: selection, sidecar

-- Kernels that transfer data between GPUs: NCCL, and the class "communication".
CREATE OR REPLACE MACRO is_communication(short, class) AS
    coalesce(starts_with(short, 'nccl'), false) OR coalesce(class = 'communication', false);

-- Operation in the name of an NCCL kernel or call: ncclDevKernel_AllReduce_Sum_f32_RING_LL,
-- ncclKernel_AllReduce_RING_LL_Sum_float, ncclAllReduceRingLLKernel_sum_f32, ncclAllReduce.
CREATE OR REPLACE MACRO nccl_operation(name) AS CASE
    WHEN regexp_matches(name, 'All_?to_?All', 'i') THEN 'AlltoAll'
    WHEN regexp_matches(name, 'SendRecv|^nccl(Send|Recv)') THEN 'SendRecv'
    WHEN regexp_matches(name, '^ncclBcast') THEN 'Broadcast'
    ELSE nullif(regexp_extract(name, '(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|Gather|Scatter)', 1), '')
END;

-- Number of call messages that an operation carries: some payloads count the part of one rank (ncclAllGather its send
-- count, ncclReduceScatter its receive count, ncclAlltoAll, Gather and Scatter that of one peer; source: collectives.cc
-- of NCCL), while nccl-tests counts the whole.
CREATE OR REPLACE MACRO nccl_parts(operation, ranks) AS
    CASE WHEN operation IN ('AllGather', 'ReduceScatter', 'AlltoAll', 'Gather', 'Scatter') THEN ranks ELSE 1 END;

-- Value of an extended payload under a name; NULL if it is not one.
CREATE OR REPLACE MACRO payload_value(payload, name) AS
    CASE WHEN json_valid(payload) THEN payload ->> ('/' || name) END;

-- NCCL calls, from its own ranges. `grouped` marks calls between the start and end of a group on their thread.
CREATE OR REPLACE VIEW nccl_range AS
SELECT pre, global_tid, start_ns, text, nccl_operation(text) AS operation,
    coalesce(TRY_CAST(payload_value(payload_json, 'Message size [bytes]') AS BIGINT),
        TRY_CAST(payload_value(payload_json, 'Bytes') AS BIGINT)) AS bytes,
    payload_value(payload_json, 'NCCL communicator ID') AS communicator,
    payload_value(payload_json, 'Reduction operation') AS reduction,
    sum(CASE text WHEN 'ncclGroupStart' THEN 1 WHEN 'ncclGroupEnd' THEN -1 ELSE 0 END)
        OVER (PARTITION BY global_tid ORDER BY start_ns, pre) > 0 AS grouped
FROM range JOIN range_name USING (name_id) WHERE domain = 'NCCL';

-- Number of ranks of a communicator, if its creation was captured.
CREATE OR REPLACE VIEW nccl_communicator AS
SELECT communicator, max(TRY_CAST(payload_value(payload_json, 'No. of ranks') AS INTEGER)) AS ranks
FROM range JOIN nccl_range USING (pre) WHERE communicator IS NOT NULL GROUP BY communicator;

-- NCCL kernels, each with the NCCL range that launched it: that of the operation, or of the end of a group.
CREATE OR REPLACE VIEW nccl_kernel AS
SELECT kernel_id, nccl_operation(short) AS operation, pre AS launcher,
    row_number() OVER one AS nth, count(*) OVER one_of AS kernels
FROM (SELECT kernel_id, call_id, thread_range, short FROM kernel JOIN kernel_name USING (name_id)
    WHERE starts_with(short, 'nccl'))
LEFT JOIN nccl_range ON pre = thread_range
WINDOW one_of AS (PARTITION BY pre, nccl_operation(short)), one AS (one_of ORDER BY call_id, kernel_id);

-- Calls behind a launcher: itself, or those of the group since its last launch.
CREATE OR REPLACE VIEW nccl_launch_call AS
WITH launcher AS (
    FROM nccl_range SEMI JOIN nccl_kernel ON launcher = pre
)
SELECT pre AS launcher, start_ns, pre, text, operation, bytes, communicator, reduction
FROM launcher WHERE text <> 'ncclGroupEnd'
UNION ALL
SELECT ended.pre, call.start_ns, call.pre, call.text, call.operation, call.bytes, call.communicator, call.reduction
FROM (FROM nccl_range ANTI JOIN launcher USING (pre) WHERE grouped AND operation IS NOT NULL) AS call
ASOF JOIN (FROM launcher WHERE text = 'ncclGroupEnd') AS ended
    ON call.global_tid = ended.global_tid AND call.start_ns <= ended.start_ns;

-- Content of each NCCL kernel. If a launcher made as many kernels of an operation as it has calls, the nth kernel
-- serves the nth call; a single kernel serves all calls; otherwise nothing is known.
CREATE OR REPLACE VIEW nccl_message AS
WITH call AS (
    SELECT *, row_number() OVER (one_of ORDER BY start_ns, pre) AS nth, count(*) OVER one_of AS calls
    FROM nccl_launch_call WINDOW one_of AS (PARTITION BY launcher, operation)
), summed AS (
    SELECT launcher, operation, calls,
        CASE WHEN count(bytes) = count(*) THEN CASE WHEN operation <> 'SendRecv' THEN sum(bytes)
            ELSE greatest(sum(bytes) FILTER (text = 'ncclSend'),
                sum(bytes) FILTER (text <> 'ncclSend')) END END::BIGINT AS bytes,
        CASE WHEN count(DISTINCT communicator) = 1 THEN min(communicator) END AS communicator,
        CASE WHEN count(DISTINCT reduction) = 1 THEN min(reduction) END AS reduction
    FROM call GROUP BY launcher, operation, calls
)
SELECT kernel_id, 1 AS calls, call.bytes, call.communicator, call.reduction
FROM nccl_kernel AS one JOIN call USING (launcher, operation, nth) WHERE kernels = calls
UNION ALL
SELECT kernel_id, calls, bytes, communicator, reduction
FROM nccl_kernel JOIN summed USING (launcher, operation) WHERE kernels = 1 AND calls > 1;

-- Operation of a PyTorch collective name: allreduce, _allgather_base, reduce_scatter_tensor.
CREATE OR REPLACE MACRO collective_operation(name) AS CASE
    WHEN regexp_matches(name, 'all_?reduce|barrier', 'i') THEN 'AllReduce'
    WHEN regexp_matches(name, 'all_?gather', 'i') THEN 'AllGather'
    WHEN regexp_matches(name, 'reduce_?scatter', 'i') THEN 'ReduceScatter'
    WHEN regexp_matches(name, 'all_?to_?all', 'i') THEN 'AlltoAll'
    WHEN regexp_matches(name, 'send|recv', 'i') THEN 'SendRecv'
    WHEN regexp_matches(name, 'broadcast', 'i') THEN 'Broadcast'
    WHEN regexp_matches(name, 'gather', 'i') THEN 'Gather'
    WHEN regexp_matches(name, 'scatter', 'i') THEN 'Scatter'
    WHEN regexp_matches(name, 'reduce', 'i') THEN 'Reduce'
END;

-- Bytes per element of a PyTorch type.
CREATE OR REPLACE MACRO torch_type_bytes(dtype) AS CASE
    WHEN dtype IN ('Byte', 'Char', 'Bool', 'QInt8', 'QUInt8') OR dtype LIKE 'Float8%' THEN 1
    WHEN dtype IN ('Half', 'BFloat16', 'Short', 'UInt16') THEN 2
    WHEN dtype IN ('Float', 'Int', 'UInt32', 'ComplexHalf') THEN 4
    WHEN dtype IN ('Double', 'Long', 'UInt64', 'ComplexFloat') THEN 8
    WHEN dtype = 'ComplexDouble' THEN 16
END;

-- Facts of the PyTorch profiler about NCCL kernels: from the kernel itself, else from the collective around its launch,
-- if that launched only this kernel. The size is the larger of input and output, which is the whole of what ranks
-- gather or scatter; sizes above 1 TiB are ignored. A group is its name with its ranks, so that groups on other ranks
-- differ.
CREATE OR REPLACE VIEW nccl_collective AS
WITH around AS (
    SELECT kernel.kernel_id, range_id FROM (
        FROM kernel JOIN kernel_name USING (name_id) WHERE starts_with(short, 'nccl')
    ) AS kernel ASOF JOIN (SELECT range_id, pre, post FROM collective JOIN range USING (range_id)) AS op
        ON kernel.thread_range >= op.pre
    WHERE kernel.thread_range <= op.post
    QUALIFY count(*) OVER (PARTITION BY range_id) = 1
), matched AS (
    SELECT collective.kernel_id, collective.* EXCLUDE (kernel_id) FROM collective WHERE kernel_id IS NOT NULL
    UNION ALL
    SELECT around.kernel_id, collective.* EXCLUDE (kernel_id) FROM around JOIN collective USING (range_id)
    WHERE around.kernel_id NOT IN (SELECT kernel_id FROM collective WHERE kernel_id IS NOT NULL)
), one AS (
    FROM matched QUALIFY row_number() OVER (PARTITION BY kernel_id ORDER BY range_id) = 1
)
SELECT kernel_id, collective_operation(name) AS operation, sequence_number,
    CASE WHEN process_group <> '' THEN concat_ws(' ', process_group, ranks) END AS communicator,
    CASE WHEN group_size BETWEEN 1 AND 1_000_000 THEN group_size END AS ranks, dtype,
    TRY_CAST(CASE WHEN greatest(in_elements, out_elements)::HUGEINT * torch_type_bytes(dtype)
        BETWEEN 0 AND 1_099_511_627_776
        THEN greatest(in_elements, out_elements)::HUGEINT * torch_type_bytes(dtype) END AS BIGINT) AS size_bytes
FROM one;

-- A type of NCCL or C++ in one spelling.
CREATE OR REPLACE MACRO nccl_type(name) AS (
    SELECT coalesce(nullif(regexp_extract(name, '_([iu](?:8|16|32|64)|b?f16|f32|f64|f8e\dm\d)(?:_|\(|$)', 1), ''),
        map_extract_value(
            MAP {'half': 'f16', 'float': 'f32', 'double': 'f64', '__nv_bfloat16': 'bf16', 'int8_t': 'i8',
                'uint8_t': 'u8', 'int32_t': 'i32', 'uint32_t': 'u32', 'int64_t': 'i64', 'uint64_t': 'u64'},
            regexp_extract(name, '_(half|float|double|__nv_bfloat16|u?int(?:8|32|64)_t)(?:_|\(|$)', 1)))
);

-- NCCL operations of the selection: kernels with the facts in their names and calls. `size_bytes` is the size as
-- nccl-tests defines it: the message, or the parts of all ranks together. The range payload and the PyTorch profiler's
-- arguments describe a call in the same way.
CREATE OR REPLACE VIEW selected_nccl_op AS
WITH described AS (
    SELECT kernel.*, short, coalesce(nccl_operation(short), traced.operation, 'other') AS operation, reduction,
        bytes AS own_bytes, coalesce(calls, CASE WHEN traced.kernel_id IS NOT NULL THEN 1 END) AS calls,
        coalesce(nccl_message.communicator, traced.communicator) AS communicator, sequence_number AS sequence,
        coalesce(known.ranks, traced.ranks, TRY_CAST(meta_value(['ranks', 'world_size']) AS INTEGER)) AS ranks,
        traced.size_bytes AS whole_bytes
    FROM selected_kernel AS kernel JOIN kernel_name USING (name_id)
    LEFT JOIN nccl_message USING (kernel_id)
    LEFT JOIN nccl_communicator AS known ON known.communicator = nccl_message.communicator
    LEFT JOIN nccl_collective AS traced USING (kernel_id)
    WHERE starts_with(short, 'nccl')
)
SELECT kernel_id, operation, short AS kernel, nccl_type(short) AS data_type, reduction,
    upper(coalesce(nullif(regexp_extract(short,
        '_(COLLNET_DIRECT|COLLNET_CHAIN|NVLS_TREE|NVLS|RING|TREE|PAT)(?:_|\(|$)', 1), ''),
        nullif(regexp_extract(short, '(Ring|Tree|CollNet)(?:LL128|LL)?Kernel', 1), ''))) AS algorithm,
    coalesce(nullif(regexp_extract(short, '_(LL128|LL|SIMPLE)(?:_|\(|$)', 1), ''),
        nullif(regexp_extract(short, '(LL128|LL)Kernel', 1), '')) AS protocol,
    coalesce(own_bytes, whole_bytes // nccl_parts(operation, ranks)) AS bytes, calls, communicator, sequence, ranks,
    coalesce(own_bytes * nccl_parts(operation, ranks), whole_bytes) AS size_bytes,
    start_ns, end_ns, end_ns - start_ns AS duration_ns, device_id, stream_id, global_pid, call_id, process_range
FROM described;
