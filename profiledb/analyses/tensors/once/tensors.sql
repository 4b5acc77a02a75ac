-- Memory of each device after each event, lifetimes of allocations and their stacks as text, computed once for all
-- analyses of tensor memory.
CREATE OR REPLACE TEMP TABLE once_tensor_level AS FROM tensor_level;
CREATE OR REPLACE TEMP VIEW tensor_level AS FROM once_tensor_level;

CREATE OR REPLACE TEMP TABLE once_tensor_life AS FROM tensor_life;
CREATE OR REPLACE TEMP VIEW tensor_life AS FROM once_tensor_life;

CREATE OR REPLACE TEMP TABLE once_tensor_stack AS FROM tensor_stack;
CREATE OR REPLACE TEMP VIEW tensor_stack AS FROM once_tensor_stack;
