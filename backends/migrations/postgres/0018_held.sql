-- Work that workers hold and name every ten seconds, because nothing else is told of it for long: batches, whose attempts have ids that begin
-- with that of the batch, and questions for judges, by worker. One row a batch, and one a worker with questions, which go with
-- their sweep; attempts are not written anew for it.
CREATE TABLE held (
    sweep   BIGINT      NOT NULL REFERENCES sweeps (number) ON DELETE CASCADE,
    kind    TEXT        NOT NULL CHECK (kind IN ('batch', 'questions')),
    id      TEXT        NOT NULL, -- of the batch, or of the worker
    -- Of the batch's sessions: one of before a resume is void, and says nothing of them. 0 for questions.
    generation BIGINT   NOT NULL,
    told_at TIMESTAMPTZ NOT NULL, -- by this server's clock
    PRIMARY KEY (sweep, kind, id)
);
