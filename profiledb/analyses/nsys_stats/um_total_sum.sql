-- title: Unified memory totals
-- Migrations and page faults of unified memory in one row, as `nsys stats -r um_total_sum` prints them: sizes in MB of
-- 1,000,000 bytes with three decimals, so small sizes show as 0.000. As in nsys, the addresses are empty unless
-- migrations in both directions and faults of both CPU and GPU have some. Copies and groups of GPU faults with an end
-- before their start are left out, and addresses in the upper half of the address space are not negative, unlike in
-- nsys. If memory was set but never copied, nsys prints nothing; here the row has no sizes.
-- needs: um_cpu_page_fault
-- needs: um_gpu_page_fault
-- needs: memop
-- includes: selection
-- selects: part
-- column: Total HtoD Migration Size (MB) | MB | .3f | size of migrations to GPUs
-- column: Total DtoH Migration Size (MB) | MB | .3f | size of migrations to the host
-- column: Total CPU Page Faults | count | | number of CPU page faults
-- column: Total GPU PageFaults | count | | number of GPU page faults
-- column: Minimum Virtual Address | text | | lowest address of these pages, hexadecimal
-- column: Maximum Virtual Address | text | | highest address of these pages, hexadecimal
WITH cpu AS (
    SELECT min(address) AS low, max(address) AS high, count(*) AS faults FROM um_cpu_page_fault
), gpu AS (
    SELECT min(address) AS low, max(address) AS high, sum(faults)::BIGINT AS faults FROM um_gpu_page_fault
), to_gpu AS (  -- 11 and 12 are the migrations of CUDA_MEMCPY_OPER
    SELECT min(virtual_address) AS low, max(virtual_address) AS high, sum(bytes)::BIGINT AS bytes
    FROM selected_memop AS memop WHERE kind = 'memcpy' AND copy_kind = 11
), to_host AS (
    SELECT min(virtual_address) AS low, max(virtual_address) AS high, sum(bytes)::BIGINT AS bytes
    FROM selected_memop AS memop WHERE kind = 'memcpy' AND copy_kind = 12
), addresses AS (
    SELECT CASE WHEN count(low) = 4 THEN min(low) END AS low, CASE WHEN count(high) = 4 THEN max(high) END AS high
    FROM (
        SELECT low, high FROM cpu UNION ALL SELECT low, high FROM gpu
        UNION ALL SELECT low, high FROM to_gpu UNION ALL SELECT low, high FROM to_host
    )
)
SELECT to_gpu.bytes / 1e6 AS "Total HtoD Migration Size (MB)", to_host.bytes / 1e6 AS "Total DtoH Migration Size (MB)",
    cpu.faults AS "Total CPU Page Faults", gpu.faults AS "Total GPU PageFaults",
    format('0x{:X}', addresses.low) AS "Minimum Virtual Address",
    format('0x{:X}', addresses.high) AS "Maximum Virtual Address"
FROM cpu, gpu, to_gpu, to_host, addresses;
