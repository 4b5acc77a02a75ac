-- title: One stream does the work of several
-- question: Does the program use several streams without overlapping their kernels?
-- The share of the kernel time on the busiest stream of each GPU, over the GPUs with kernels on at least two streams.
-- It is 0 unless kernels of different streams overlap for less than `overlap` percent of the time in which any kernel
-- runs, and other streams run at least `others_pct` percent of the kernels. The program asks for streams but gains
-- nothing from them.
-- needs: kernel
-- includes: finding
-- selects: part
-- unit: %
-- fires: above
-- weight: note
-- param: threshold = 95 fires at or above this share of the kernel time on one stream
-- param: overlap = 5 streams count as used if kernels of two overlap for at least this share of the time, percent
-- param: others_pct = 1 other streams count as used if they run at least this share of the kernels, percent
-- param: least = 100 fewest kernels of a GPU that can be judged
-- column: streams | count | | streams with kernels, on GPUs with at least two
-- column: others | count | | kernels on streams other than the busiest
-- column: overlap_pct | % | .1f | share of the time with kernels in which kernels of two streams overlap
-- column: stream | id | | the busiest stream of the GPU with most kernel time
-- says: {streams} streams have kernels, but stream {stream} takes {value} of the kernel time. {others} {others|kernel runs|kernels run} on other streams; kernels of two streams overlap {overlap_pct} of the time.
-- clear: {streams} streams have kernels; {overlap_pct} of the time kernels of two of them run together.
-- advice: [PyTorch] Put independent work on streams of its own: `with torch.cuda.stream(torch.cuda.Stream()):`, and order them with events where one needs another's result.
-- advice: [else, CuPy] Put independent work on streams of its own: `with cupy.cuda.Stream(non_blocking=True):`, and order them with events where one needs another's result.
-- advice: [else, Numba] Put independent work on streams of its own: `kernel[blocks, threads, cuda.stream()]`, and order them with events where one needs another's result.
-- advice: [else, OpenACC] Put independent work on queues of its own: `async(1)`, `async(2)`, and `wait(1)` where one needs another's result.
-- advice: [else] Put independent work on streams of its own (`cudaStreamCreate`), and order them with events where one needs another's result.
-- advice: [CUDA C++ or Fortran] Work on the default stream waits for all others: compile with `--default-stream per-thread`, or create streams with `cudaStreamNonBlocking`.
-- source: nsys-ai stream_concurrency (idea); figures: ours
WITH worked AS (
    SELECT device_id, stream_id, count(*) AS kernels, sum(end_ns - start_ns)::BIGINT AS ns FROM selected_kernel
    WHERE end_ns > start_ns GROUP BY ALL
), several AS MATERIALIZED (
    SELECT device_id, count(*) AS streams, sum(kernels) AS kernels, sum(ns) AS ns, max(ns) AS most_ns,
        arg_max(stream_id, ns) AS stream_id, sum(kernels) - arg_max(kernels, ns) AS others
    FROM worked GROUP BY device_id HAVING count(*) > 1 AND sum(kernels) >= $least::INTEGER
), swept AS (  -- latest end of the earlier kernels, and of those on the same stream
    SELECT device_id, start_ns, end_ns, max(end_ns) OVER (
            PARTITION BY device_id ORDER BY start_ns, kernel_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns, max(end_ns) OVER (
            PARTITION BY device_id, stream_id ORDER BY start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS own_ns
    FROM selected_kernel SEMI JOIN several USING (device_id)
), added AS (  -- the union over all kernels, and the sum of the unions of streams
    SELECT sum(greatest(0, end_ns - greatest(start_ns, coalesce(reached_ns, start_ns)))) AS any_ns,
        sum(greatest(0, end_ns - greatest(start_ns, coalesce(own_ns, start_ns)))) AS streams_ns
    FROM swept
), judged AS (
    SELECT 100.0 * (streams_ns - any_ns) / nullif(any_ns, 0) AS overlap_pct FROM added
), total AS (
    SELECT sum(streams)::BIGINT AS streams, sum(kernels) AS kernels, sum(others)::BIGINT AS others,
        100.0 * sum(most_ns) / sum(ns) AS most_pct,
        arg_max(stream_id, ns) AS stream_id
    FROM several
), shown AS (
    SELECT worked.ns, {
            'name': 'Stream ' || worked.stream_id, 'ns': worked.ns, 'count': worked.kernels,
            'device': worked.device_id, 'stream': worked.stream_id
        } AS piece
    FROM worked JOIN several USING (device_id) ORDER BY worked.ns DESC, worked.device_id, worked.stream_id LIMIT 10
)
SELECT CASE WHEN overlap_pct < $overlap::DOUBLE AND 100 * others >= $others_pct::DOUBLE * kernels THEN most_pct
        WHEN overlap_pct IS NOT NULL THEN 0 END AS value,
    CASE WHEN overlap_pct IS NULL THEN 'No GPU has enough kernels on several streams.' END AS unjudged,
    total.streams, others, overlap_pct, total.stream_id AS stream,
    (SELECT list(piece ORDER BY ns DESC, piece.device, piece.stream) FROM shown) AS evidence
FROM total CROSS JOIN judged;
