-- title: Longest gaps of GPUs
-- Times in which a GPU ran nothing of the selection, the longest first, and what the host did meanwhile: `reason` is
-- what took most of the gap, of the thread that launched the operation after it (`idle_reasons` says what each means).
-- needs: kernel or memop or graph_launch
-- includes: selection, memory
-- selects: part
-- param: min_ns = 2000 leave out shorter gaps
-- param: limit = 50 how many rows at most
-- column: start_ns = Begin | ns | | begin of the gap, from the begin of the capture
-- column: duration_ns = Gap | ns | | length of the gap
-- column: gpu_id = GPU | id | | number of the GPU
-- column: reason = Host meanwhile | text | | what took most of the gap
-- column: covered_pct = Of the gap | % | .1f | which part of the gap this took
-- column: function = In | text | | function that the host was in for most of this
-- column: next = Next operation | text | | what ended the gap
-- column: range = NVTX range of the next operation | text | | path of the NVTX range of this operation, or of the thread that drives its thread
-- column: launched_ns = Launched after | ns | | begin of the call that launched it, from the begin of the gap; negative: before the gap
-- column: launch = Launched by | text | | function of this call
-- column: thread | text | | thread of this call: process and thread id
SELECT idle.start_ns - capture_window.start_ns AS start_ns, idle.duration_ns, device_id AS gpu_id, reason,
    100.0 * ns / idle.duration_ns AS covered_pct, idle.function,
    coalesce(readable_name(short, demangled), regexp_replace(next.operation, '^\[CUDA (.*)\]$', '\1')) AS next,
    path AS range, api_call.start_ns - idle.start_ns AS launched_ns, api_function.function AS launch,
    thread_label(api_call.global_tid) AS thread
FROM selected_idle($min_ns::BIGINT, $limit::BIGINT) AS idle CROSS JOIN capture_window
LEFT JOIN kernel_name ON kernel_name.name_id = next.name_id
LEFT JOIN range ON range.pre = next.process_range LEFT JOIN range_path USING (path_id)
LEFT JOIN api_call ON api_call.call_id = next.call_id LEFT JOIN api_function ON api_function.name_id = api_call.name_id
WHERE is_main
ORDER BY idle.duration_ns DESC, idle.start_ns, gpu_id;
