-- Tensor memory: bytes held on each device after each event, the life of each allocation, and the code that made it.
-- includes: selection, tensor_stack

-- Device name, by the numbers of c10::DeviceType.
CREATE OR REPLACE MACRO tensor_device(device_type, device_id) AS concat_ws(' ', CASE device_type
    WHEN 0 THEN 'CPU' WHEN 1 THEN 'GPU' WHEN 6 THEN 'HIP' WHEN 12 THEN 'XPU' WHEN 13 THEN 'MPS' WHEN 15 THEN 'HPU'
    WHEN 19 THEN 'MTIA' ELSE concat('Device type ', coalesce(device_type::VARCHAR, '?')) END, device_id);

-- Memory of a device after each event, in the order `nth`. If the trace does not state it for every event (old traces),
-- it is allocations less frees, with memory freed but never seen allocated held from the start. `reserved_bytes` is
-- empty if no allocator keeps memory, as on a CPU. A snapshot also has rows without bytes: the allocator takes or
-- returns device memory, and the snapshot itself. At most the 64 devices with the most events are included.
CREATE OR REPLACE VIEW tensor_level AS
WITH counted AS (
    SELECT * REPLACE (CASE kind WHEN 'memory' THEN bytes ELSE 0 END AS bytes),
        tensor_device(device_type, device_id) AS device, row_number() OVER ordered AS nth,
        sum(CASE kind WHEN 'memory' THEN bytes ELSE 0 END) OVER ordered AS running
    FROM tensor_event WHERE kind = 'memory' AND bytes <> 0 OR kind IN ('segment', 'state')
    WINDOW ordered AS (
        PARTITION BY device_type, device_id ORDER BY time_ns, event_id ROWS UNBOUNDED PRECEDING
    )
), per_device AS (
    SELECT device, count(allocated_bytes) = count(*) AND max(allocated_bytes) > 0 AS is_stated,
        least(0, min(running)) AS least, coalesce(max(reserved_bytes), 0) > 0 AS reserves
    FROM counted GROUP BY device QUALIFY row_number() OVER (ORDER BY count(*) DESC, device) <= 64
)
SELECT event_id, time_ns, device, device_type, device_id, thread_range, address, bytes, nth, is_stated,
    CASE WHEN is_stated THEN allocated_bytes ELSE TRY_CAST(running - least AS BIGINT) END AS allocated_bytes,
    CASE WHEN reserves THEN reserved_bytes END AS reserved_bytes
FROM counted JOIN per_device USING (device);

-- The life of each allocation: from its event (`born`) to the next one (`gone`) at its address, both in the order of
-- the device. The first is empty for memory allocated before the capture, the second for memory that outlives it. A
-- free after another free at its address has no life: its allocation was not seen. Only a snapshot shows memory that
-- lives through the whole capture: both are empty, and the row of the block is its event.
CREATE OR REPLACE VIEW tensor_life AS
WITH paired AS (
    SELECT *, lag(bytes) OVER one AS last_bytes,
        lead({nth: nth, time_ns: time_ns, event_id: event_id, bytes: bytes}) OVER one AS next
    FROM tensor_level WHERE address IS NOT NULL AND bytes <> 0
    WINDOW one AS (PARTITION BY device, address ORDER BY nth)
)
SELECT device, event_id, nth AS born, next.nth AS gone, time_ns AS start_ns, next.time_ns AS end_ns, bytes,
    CASE WHEN next.bytes < 0 THEN next.event_id END AS freed_by
FROM paired WHERE bytes > 0
UNION ALL
SELECT device, NULL, NULL, nth, NULL, time_ns, -bytes, event_id FROM paired WHERE bytes < 0 AND last_bytes IS NULL
UNION ALL
SELECT tensor_device(device_type, device_id), event_id, NULL, NULL, NULL, NULL, bytes, NULL
FROM tensor_event WHERE kind = 'before';

-- Functions that only allocate, which other operators call for their results.
CREATE OR REPLACE MACRO only_allocates(name) AS regexp_full_match(name,
    'aten::(_?(new_)?empty(_like|_strided|_permuted|_quantized)?|_?resize_(output_?)?|_resize_output_?)');

-- For each range path: the innermost operator; the innermost one that does more than allocate for another operator; and
-- its modules, outermost first.
CREATE OR REPLACE VIEW tensor_path AS
WITH RECURSIVE kind AS (
    SELECT path_id, bool_or(domain = 'operator') AS is_operator, bool_or(domain = 'module') AS is_module
    FROM range JOIN range_name USING (name_id) GROUP BY path_id
), own AS (
    SELECT path_id, parent_id, name, coalesce(is_operator, false) AS is_operator,
        CASE WHEN is_module THEN regexp_replace(name, '^(module:)?nn\.Module: ', '') END AS module
    FROM range_path LEFT JOIN kind USING (path_id)
), down AS (
    SELECT path_id, is_operator, CASE WHEN is_operator THEN name END AS innermost, innermost AS operator, module
    FROM own WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, own.is_operator, CASE WHEN own.is_operator THEN own.name ELSE up.innermost END,
        CASE WHEN own.is_operator AND NOT (up.is_operator AND only_allocates(own.name)) THEN own.name
            ELSE up.operator END,
        CASE WHEN own.module IS NULL THEN up.module ELSE concat_ws('/', up.module, own.module) END
    FROM down AS up JOIN own ON own.parent_id = up.path_id
)
SELECT path_id, innermost, operator, module FROM down;

-- Code of an event: operators and modules around it on its thread. Work of a backward operator belongs to the module of
-- its forward one. Events of a snapshot have the program line and the stack instead.
CREATE OR REPLACE VIEW tensor_place AS
WITH backward AS (
    SELECT pre, post, forward_range_id, max(post) OVER (
            ORDER BY pre, post ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM operator JOIN range USING (range_id) WHERE forward_range_id IS NOT NULL
), outermost AS (
    SELECT backward.pre, backward.post, module AS forward_module
    FROM backward JOIN range ON range_id = forward_range_id JOIN tensor_path USING (path_id)
    WHERE reached IS NULL OR backward.pre > reached
), placed AS (
    SELECT event_id, thread_range, innermost, operator, module, stack_id
    FROM tensor_event LEFT JOIN range ON pre = thread_range LEFT JOIN tensor_path USING (path_id)
)
SELECT event_id, innermost, operator,
    coalesce(module, CASE WHEN thread_range <= post THEN forward_module END) AS module, line, stack
FROM placed ASOF LEFT JOIN outermost ON thread_range >= pre  -- sorted before the texts of stacks are joined
LEFT JOIN tensor_stack USING (stack_id);

-- Name of an allocation for grouping: a trace has operators, a snapshot lines.
CREATE OR REPLACE MACRO tensor_name(chosen, operator, module, innermost, line, stack) AS CASE chosen
    WHEN 'any' THEN coalesce(line, operator) WHEN 'operator' THEN operator WHEN 'module' THEN module
    WHEN 'line' THEN line WHEN 'stack' THEN stack ELSE innermost END;

-- Devices that a selection keeps: its GPU, and the CPU.
CREATE OR REPLACE MACRO selected_tensor_device(device_type, device_id) AS
    selected_device() IS NULL OR device_type = 0 OR device_id = selected_device();

-- The moment of the tensor memory peak of each device, within the selection.
CREATE OR REPLACE VIEW selected_tensor_peak AS
SELECT device, arg_max(nth, (allocated_bytes, -nth)) AS nth, max(allocated_bytes) AS peak_bytes,
    arg_max(level.time_ns, (allocated_bytes, -nth)) AS time_ns
FROM tensor_level AS level SEMI JOIN (SELECT event_id FROM selected_tensor_event) USING (event_id) GROUP BY device;
