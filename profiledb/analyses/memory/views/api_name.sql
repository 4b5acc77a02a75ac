-- What a function of a GPU's programming interface does, by vendor.

-- Names of functions: patterns by vendor and kind, of which the first in order of `place` holds. A name may have the
-- suffix of a version (_v3020). A blocking copy is one that names no queue; a call that waits for all work of a device,
-- or for a stream, may have that as a side effect (cudaFree). Building a graph is of no kind, although its functions
-- are named after the nodes that they add. SYCL: Unified Runtime (ur), its predecessor's plugins (pi), Level Zero (ze).
CREATE OR REPLACE VIEW api_pattern AS
SELECT * FROM (VALUES
    (10, 'CUDA', 'graph launch', '^cu(da)?GraphLaunch'),
    (11, 'HIP', 'graph launch', '^hipGraphLaunch'),
    (12, 'SYCL', 'graph launch', '^ur(CommandBufferEnqueue|EnqueueCommandBuffer)'
        || '|^zeCommandListImmediateAppendCommandLists'),
    (20, 'CUDA', 'launch', '^cu(da)?Launch'),
    (21, 'HIP', 'launch', '^hip(Drv|Ext|Hcc)?(Module)?Launch'),
    (22, 'SYCL', 'launch', '^(ur|pi|piext)Enqueue(Cooperative)?KernelLaunch|^zeCommandListAppend(Multiple)?Launch'),
    (30, 'CUDA', 'graph', '^cu(da)?Graph'),
    (31, 'HIP', 'graph', '^hipGraph'),
    (32, 'SYCL', 'graph', '^urCommandBuffer'),
    (40, 'CUDA', 'device wait', '^(cuda(Device|Thread)|cuCtx)Synchronize'),
    (41, 'HIP', 'device wait', '^hip(Device|Ctx)Synchronize'),
    (42, 'SYCL', 'device wait', '^(ur|pi)QueueFinish|^zeCommandQueueSynchronize'),
    (50, 'CUDA', 'stream wait', '^cu(da)?(Stream|Event)Synchronize'),
    (51, 'HIP', 'stream wait', '^hip(Stream|Event)Synchronize'),
    (52, 'SYCL', 'stream wait', '^(ur|pi)Events?Wait$|^ze(Event|Fence|CommandList)HostSynchronize'),
    (60, 'CUDA', 'wait', '^cu\w*Synchronize'),
    (61, 'HIP', 'wait', '^hip\w*Synchronize'),
    (70, 'CUDA', 'queued copy', '^cu(da)?(Memcpy\w*Async|Memset|MemPrefetch)'),
    (71, 'HIP', 'queued copy', '^hip(Drv)?(Memcpy\w*Async|Memset|MemPrefetch)'),
    (72, 'SYCL', 'queued copy', '^(ur|pi|piext)(USM)?Enqueue(USM|Mem|Device)\w*(Copy|cpy|Read|Write|Fill|Prefetch)'
        || '|^piextUSMEnqueue|^zeCommandListAppend(Memory|Image)(Copy|Fill|Prefetch)'),
    (80, 'CUDA', 'blocking copy', '^cu(da)?Memcpy'),
    (81, 'HIP', 'blocking copy', '^hip(Drv)?Memcpy'),
    (90, 'CUDA', 'waiting free', '^(cuda(Free|FreeHost|HostUnregister)|cuMemFree(Host)?)(_v\d+|_pt[sd]s?z?)*$'),
    (91, 'HIP', 'waiting free', '^hip(Free|HostFree|HostUnregister)$'),
    (92, 'SYCL', 'waiting free', '^(ur|piext)USMFree$|^zeMemFree$'),
    (100, 'CUDA', 'free', '^cu\w*(Free|HostUnregister|MemRelease|MemUnmap)'),
    (101, 'HIP', 'free', '^hip\w*(Free|HostUnregister|MemRelease|MemUnmap)'),
    (110, 'CUDA', 'allocation', '^cu\w*(Malloc|MemAlloc|HostAlloc|HostRegister|ArrayCreate|MemPool'
        || '|Mem(Create|Map|Address|SetAccess))'),
    (111, 'HIP', 'allocation', '^hip\w*(Malloc|MemAlloc|HostAlloc|HostRegister|ArrayCreate|MemPool'
        || '|Mem(Create|Map|Address|SetAccess))'),
    (112, 'SYCL', 'allocation', '^(ur|piext)USM\w*Alloc|^(ur|pi)MemBufferCreate|^zeMemAlloc'),
    (120, 'CUDA', 'module loading', '^cu\w*((Module|Library)(Load|Unload)|Link)'),
    (121, 'HIP', 'module loading', '^hip\w*(Module|Library)(Load|Unload)'),
    (122, 'SYCL', 'module loading', '^(ur|pi)Program(Build|Create|Link)|^zeModuleCreate'),
    (130, 'HIP', 'other', '^hip[A-Z]'),
    (131, 'SYCL', 'other', '^(ur|pi|piext|ze|zes)[A-Z]'),
    (132, 'CUDA', 'other', '^cu')
) AS pattern (place, vendor, kind, pattern);

-- Vendor and kind of a function; NULL for a function of no known vendor.
CREATE OR REPLACE MACRO api_match(name) AS (
    SELECT arg_min({'vendor': vendor, 'kind': kind}, place) FROM api_pattern WHERE regexp_matches(name, pattern)
);

-- Category of a kind. Copies other than blocking ones, memsets and prefetches return once they are queued (pageable
-- memory still blocks the CPU, which a name does not show).
CREATE OR REPLACE MACRO category_of(kind) AS CASE
    WHEN kind IN ('launch', 'graph launch') THEN 'launch'
    WHEN kind IN ('device wait', 'stream wait', 'wait') THEN 'synchronization'
    WHEN kind IN ('allocation', 'free', 'waiting free') THEN 'allocation'
    WHEN kind IN ('queued copy', 'blocking copy', 'module loading') THEN kind
    ELSE 'other'
END;
