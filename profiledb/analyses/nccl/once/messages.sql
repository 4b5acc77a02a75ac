-- What launches and operators tell of each communication kernel, made once for all rules about communication.
-- once: communication
-- of: finding_communication
CREATE OR REPLACE TEMP TABLE once_nccl_message AS FROM nccl_message;
CREATE OR REPLACE TEMP VIEW nccl_message AS FROM once_nccl_message;

CREATE OR REPLACE TEMP TABLE once_nccl_collective AS FROM nccl_collective;
CREATE OR REPLACE TEMP VIEW nccl_collective AS FROM once_nccl_collective;
