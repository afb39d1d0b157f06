-- Verdicts are known by what gave them, not by the name that a spec has for it: under one name two sweeps may ask different models. Who
-- gave the older ones nobody can say, so they go, and sweeps that still need them ask again.

DROP TABLE verdicts;

CREATE TABLE verdicts (
    answerer BYTEA NOT NULL CHECK (length(answerer) = 32), -- digest of all that an answer depends on beside the question
    question BYTEA NOT NULL CHECK (length(question) = 32),
    verdict  JSON NOT NULL,
    PRIMARY KEY (answerer, question)
);
