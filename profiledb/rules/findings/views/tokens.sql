-- Building blocks of the rules about models that generate: passes of a model, by the grids of kernels.
-- includes: selection

-- Kernels whose grids grow with the number of tokens of a pass: normalizations and activations.
CREATE OR REPLACE VIEW finding_token_name AS
SELECT name_id FROM kernel_name
WHERE class = 'normalization' OR class IN ('elementwise', 'reduction') AND regexp_matches(
        demangled, '(?i)gelu|silu|[^a-z]s?elu_|softplus|tanh_kernel|launch_clamp|pow_tensor|rsqrt|MeanOps'
    );

-- Launches of such a kernel that follow each other on a stream with the same number of blocks: the layers of a pass, or
-- of several passes with as many tokens. `pass` numbers them, and `first_call` and `last_call` launch the first and the
-- last kernel.
CREATE OR REPLACE VIEW finding_pass AS
WITH launch AS (
    SELECT device_id, stream_id, name_id, kernel_id, start_ns, end_ns, call_id,
        grid_x::BIGINT * grid_y * grid_z AS blocks
    FROM selected_kernel WHERE name_id IN (FROM finding_token_name)
), turned AS (
    SELECT *, blocks <> lag(blocks, 1, 0) OVER (
            PARTITION BY device_id, stream_id, name_id ORDER BY start_ns, kernel_id
        ) AS turns
    FROM launch
), numbered AS (
    SELECT *, count_if(turns) OVER (
            PARTITION BY device_id, stream_id, name_id ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS pass
    FROM turned
)
SELECT device_id, stream_id, name_id, pass, any_value(blocks) AS blocks, count(*) AS launches,
    min(start_ns) AS start_ns, max(end_ns) AS end_ns, arg_min(call_id, start_ns) AS first_call,
    arg_max(call_id, start_ns) AS last_call
FROM numbered GROUP BY device_id, stream_id, name_id, pass;
