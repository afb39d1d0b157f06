-- Calls of an attempt that were answered from the response cache, among `calls`: they have no latency, tokens or cost of their own. Null in
-- rows of a version that did not count them.

ALTER TABLE attempts ADD COLUMN cached_calls INTEGER;
