-- What was seen in the model's answers (`truncated`, `empty`, ...), separated by commas. Of sessions that were recorded before, nobody
-- looked: they have none. And how the session's external agent ended, where that was not well: a JSON object.

ALTER TABLE sessions ADD COLUMN flags TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN agent_end TEXT;
