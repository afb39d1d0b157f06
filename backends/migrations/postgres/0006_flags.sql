-- What was seen in the model's answers (`truncated`, `empty`, ...), separated by commas. Of sessions that were recorded before, nobody
-- looked: they have none.

ALTER TABLE sessions ADD COLUMN flags text NOT NULL DEFAULT '';
