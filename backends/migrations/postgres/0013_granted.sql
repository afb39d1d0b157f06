-- Most that the calls of a sweep can have cost, by what its account had granted when it ended: what a process that died had under way is in no
-- attempt. Nano-dollars; null where it has not ended yet, or nothing has a price.
ALTER TABLE sweeps ADD COLUMN granted BIGINT CHECK (granted >= 0);
