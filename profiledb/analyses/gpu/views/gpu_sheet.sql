-- Data sheets of GPUs: dense peaks in TFLOP/s, halved if the sheet includes sparsity, and the memory's bandwidth in
-- TB/s; NULL where the sheet's figure is not used. The first pattern that matches the product name holds; H20 is no
-- H200, and L4 no L40. H800 computes like H100, and A800 like A100. `gpu` names those that a program may move to.
--
-- NVIDIA: the data sheets "A100 Tensor Core GPU" (nvidia-a100-datasheet-us-nvidia-1758950), "H100 Tensor Core GPU" and
-- its NVL, "H200 Tensor Core GPU", "HGX B200" and "HGX B300", "GB200 NVL72" (576 TB/s for 72 GPUs), "L4", "L40",
-- "L40S", "A10", "A40", "V100" and "T4 Tensor Core GPU", and the product pages of GeForce. Their tensor core peaks are
-- listed if the sheet uses another clock than the highest one in reports, or a lower rate than the chip has. The memory
-- of a GH200 is one of two.
-- AMD: "AMD Instinct MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI325X", "MI350X" and "MI355X Accelerator Data
-- Sheet"; a program sees half of an MI250 or MI250X, one of its two dies. Peaks equal units times FLOPs per cycle times
-- the highest clock: 304 × 2,048 × 2.1 GHz for FP16 on MI300X, 256 × 4,096 × 2.4 GHz on MI355X.
-- Intel: "Data Center GPU Max Series Product Brief"; vector and matrix engines times 32 (FP64, FP32), 256 (TF32) or 512
-- (FP16, BF16) FLOPs per cycle at 1.6 GHz (1550: 1,024 engines, 512 of which are a stack, which programs see as a GPU
-- of 64 GB) and 1.55 GHz (1100: 448). Arc: half of the INT8 TOPS of the product page. A trace tells no clock of GPUs of
-- AMD and Intel, so FP32 and FP64 are those of the matrix units of GPUs that have them.
CREATE OR REPLACE VIEW gpu_sheet AS
SELECT * FROM (VALUES
    (1, 'H100 PCIe', '\bH[18]00\b.*PCIe', 756.5, 378.0, 1513.0, 51.0, NULL, 2.0, NULL),
    (2, 'H100 NVL', '\bH100\b.*NVL', 835.5, 417.5, 1670.5, 60.0, NULL, 3.9, NULL),
    (3, 'H200 NVL', '\bH200\b.*NVL', 835.5, 417.5, 1670.5, 60.0, NULL, 4.8, NULL),
    (4, 'H200', '\bH200\b', 989.5, 494.7, 1979.0, 67.0, NULL, 4.8, NULL),
    (5, 'H100 SXM', '\bH[18]00\b', 989.5, 494.7, 1979.0, 67.0, NULL, 3.35, NULL),
    (6, NULL, '\bGH200\b', 989.5, 494.7, 1979.0, 67.0, NULL, NULL, NULL),
    (7, 'H20', '\bH20\b', 148.0, 74.0, 296.0, 44.0, NULL, 4.0, NULL),
    (8, 'GB200', '\bGB[23]00\b', 2500.0, 1250.0, 5000.0, NULL, NULL, 8.0, NULL),
    (9, 'B200', '\bB200\b', 2250.0, 1100.0, 4500.0, NULL, NULL, 8.0, NULL),
    (10, 'B300', '\bB300\b', 2250.0, 1125.0, 4500.0, NULL, NULL, 8.0, NULL),
    (11, 'A100 80GB PCIe', '\bA[18]00\b.*80GB PCIe', 312.0, 156.0, NULL, 19.5, NULL, 1.935, NULL),
    (12, 'A100 80GB', '\bA[18]00\b.*80GB', 312.0, 156.0, NULL, 19.5, NULL, 2.039, NULL),
    (13, 'A100 40GB', '\bA[18]00\b.*40GB', 312.0, 156.0, NULL, 19.5, NULL, 1.555, NULL),
    (14, NULL, '\bA[18]00\b', 312.0, 156.0, NULL, 19.5, NULL, NULL, NULL),
    (15, 'L40S', '\bL40S\b', 362.05, 183.0, 733.0, 91.6, NULL, 0.864, NULL),
    (16, 'L40', '\bL40\b', 181.05, 90.5, 362.0, 90.5, NULL, 0.864, NULL),
    (17, NULL, '\bL20\b', 119.5, 59.8, 239.0, NULL, NULL, NULL, NULL),
    (18, 'L4', '\bL4\b', 121.0, 60.0, 242.5, 30.3, NULL, 0.3, NULL),
    (20, NULL, '\bA40\b', NULL, NULL, NULL, 37.4, NULL, 0.696, NULL),
    (21, NULL, '\bA10G\b', NULL, NULL, NULL, NULL, NULL, 0.6, NULL),
    (22, NULL, '\bA10\b', NULL, NULL, NULL, 31.2, NULL, 0.6, NULL),
    (23, NULL, '\bV100\b.*PCIe', NULL, NULL, NULL, 14.0, NULL, 0.9, NULL),
    (24, NULL, '\bV100\b', NULL, NULL, NULL, 15.7, NULL, 0.9, NULL),
    (25, NULL, '\bT4\b', NULL, NULL, NULL, 8.1, NULL, 0.32, NULL),
    (26, NULL, '\bRTX 4090\b', NULL, NULL, NULL, 82.6, NULL, 1.008, NULL),
    (27, NULL, '\bRTX 3090\b', NULL, NULL, NULL, 35.6, NULL, 0.936, NULL),
    (101, 'MI355X', 'MI355X', 2516.6, NULL, 5033.2, 157.3, 78.6, 8.0, NULL),
    (102, 'MI350X', 'MI350X', 2306.9, NULL, 4613.7, 144.2, 72.1, 8.0, NULL),
    (103, 'MI325X', 'MI325X', 1307.4, 653.7, 2614.9, 163.4, 163.4, 6.0, NULL),
    (104, 'MI300X', 'MI300X', 1307.4, 653.7, 2614.9, 163.4, 163.4, 5.3, NULL),
    (105, 'MI300A', 'MI300A', 980.6, 490.3, 1961.2, 122.6, 122.6, 5.3, NULL),
    (106, 'MI250X', 'MI250X', 191.5, NULL, NULL, 47.9, 47.9, 1.638, NULL),
    (107, NULL, 'MI2(50|10)\b', 181.0, NULL, NULL, 45.3, 45.3, 1.638, NULL),
    (110, NULL, 'GPU Max 1550', 419.4, 209.7, NULL, 26.2, 26.2, 1.638, 80),
    (111, NULL, 'GPU Max 1550', 838.9, 419.4, NULL, 52.4, 52.4, 3.277, NULL),
    (112, NULL, 'GPU Max 1100', 355.5, 177.7, NULL, 22.2, 22.2, 1.229, NULL),
    (120, NULL, '\bArc\b.*\bA770\b', 131.0, NULL, NULL, NULL, NULL, 0.56, NULL),
    (121, NULL, '\bArc\b.*\bA750\b', 114.5, NULL, NULL, NULL, NULL, 0.512, NULL),
    (122, NULL, '\bArc\b.*\bB580\b', 116.5, NULL, NULL, NULL, NULL, 0.456, NULL),
    (123, NULL, '\bArc\b.*\bB570\b', 101.5, NULL, NULL, NULL, NULL, 0.38, NULL)
) AS sheet (place, gpu, pattern, half, tf32, fp8, fp32, fp64, tb_per_s, gigabytes);

-- The same by precision.
CREATE OR REPLACE VIEW sheet_peak AS
SELECT place, gpu, pattern, gigabytes, unnest(['fp16', 'bf16', 'tf32', 'fp8', 'fp32', 'fp64']) AS precision,
    unnest([half, half, tf32, fp8, fp32, fp64]) AS tflops
FROM gpu_sheet;
