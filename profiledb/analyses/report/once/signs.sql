-- What names tell of the program, made once for all rules that go by a trait.
-- whole: program_sign
CREATE OR REPLACE TEMP TABLE once_program_sign AS FROM program_sign;
CREATE OR REPLACE TEMP VIEW program_sign AS FROM once_program_sign;
