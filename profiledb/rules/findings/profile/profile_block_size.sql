-- title: Block size
-- question: Is the block size a multiple of 32?
-- The share of the measured kernel time that idle lanes cost at most: the last warp of a block whose size is no
-- multiple of 32 has idle lanes, and a block of W warps loses 1/W times their part of the warp. No launch saves more
-- than the bandwidth of the device memory leaves.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Blocks whose size is no multiple of 32 cost up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Block sizes cost at most {value} of the measured kernel time.
-- advice: Give {kernel} fewer and larger blocks, of a multiple of 32 threads (128 or 256): each lane gets work, except at the end of the data, where a bounds check masks the rest.
-- source: Nsight Compute, LaunchStatistics: (1 / warps) x (1 - threads of the last warp / 32)
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls, format('{} threads per block', block_size) AS note,
        CASE WHEN block_size % 32 <> 0 THEN least((1 - (block_size % 32) / 32.0) / ceil(block_size / 32.0), dram_left)
            WHEN block_size IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
)
FROM finding_gain('judged', 'The report does not tell block sizes.');
