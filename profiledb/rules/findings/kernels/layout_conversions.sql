-- title: Layout conversions
-- question: Do libraries convert the layout of tensors around convolutions?
-- The time in which kernels of cuDNN or MIOpen convert tensors from NCHW to NHWC or back, as a share of the active span
-- (first to last operation of each GPU). Tensor cores compute convolutions in NHWC, so a model in NCHW pays for both
-- directions around each of them. The saving is the time of the conversions.
-- needs: kernel
-- includes: finding, work
-- selects: part
-- once: span, names
-- parts: copy
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- column: convert_ns | ns | | time in which conversions run
-- column: launches | count | | launches of conversions
-- column: kernel | name | | the one with the most time
-- says: cuDNN converts the layout of tensors {launches} {launches|time|times}, between NCHW and NHWC: {convert_ns}, {value} of the time.
-- clear: Conversions between NCHW and NHWC take {value} of the time.
-- advice: [PyTorch, HIP, not channels last] Keep convolutions in NHWC: `model.to(memory_format=torch.channels_last)`, the input likewise, and `PYTORCH_MIOPEN_SUGGEST_NHWC=1` in the environment, without which PyTorch hands MIOpen tensors in NCHW.
-- advice: [else, PyTorch, not channels last] Keep convolutions in NHWC: `model.to(memory_format=torch.channels_last)`, and the input, too: `x.to(memory_format=torch.channels_last)`. `Conv1d` has no such format: use `Conv2d` on `x[:, :, None]` instead.
-- advice: [PyTorch] Leave out `.contiguous()`, `.view()` and `permute` between convolutions: they bring the other layout back.
-- advice: [TensorFlow] Keep convolutions in NHWC: `data_format="channels_last"`.
-- advice: [not PyTorch, not TensorFlow] Keep tensors in NHWC, the layout in which tensor cores compute convolutions.
-- source: NVIDIA, Optimizing Convolutional Layers (tensor layouts in memory: NCHW vs NHWC); PyTorch, Channels Last Memory Format
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS convert_ns, 0 AS launches, NULL AS kernel, NULL AS evidence
FROM finding_window WHERE ns > 0 AND NOT EXISTS (FROM layout_kernel);

WITH conversion AS MATERIALIZED (
    SELECT device_id, start_ns, end_ns, name_id FROM selected_kernel SEMI JOIN layout_kernel USING (name_id)
), taken AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM finding_union('conversion')
), by_kernel AS (
    SELECT kernel, any_value(readable) AS name, sum(end_ns - start_ns)::BIGINT AS ns, count(*) AS launches
    FROM conversion JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
)
SELECT 100.0 * taken.ns / nullif(finding_window.ns, 0) AS value, taken.ns AS saving_ns, taken.ns AS convert_ns,
    (SELECT count(*) FROM conversion) AS launches,
    (SELECT name FROM by_kernel ORDER BY ns DESC, kernel LIMIT 1) AS kernel,
    (
        SELECT list({'name': name, 'ns': ns, 'count': launches, 'kernel': kernel} ORDER BY ns DESC, kernel)
        FROM by_kernel
    ) AS evidence
FROM finding_window CROSS JOIN taken;
