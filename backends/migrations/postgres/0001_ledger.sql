-- The ledger: what was planned, what was tried, what came out.
--
-- Timestamps are nanoseconds since 1970, money is nano-dollars, digests are 32 bytes. A sweep is referred to by its number,
-- which keeps keys small. Tables that grow with sessions have no foreign keys: every writer first locks the cell's row, and fails
-- when there is none. Those locks are taken in the order (sweep, cell) and before any other, so writers never deadlock, and what
-- a writer reads about a cell's sessions and attempts stays true until it commits.
--
-- JSON and not JSONB: the order of keys, every digit of a number, and \u0000 in what an endpoint says about itself are kept.

CREATE TABLE sweeps (
    number        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            TEXT   NOT NULL UNIQUE,
    name          TEXT   NOT NULL,
    lock          BYTEA  NOT NULL CHECK (length(lock) = 32),
    state         TEXT   NOT NULL
        CHECK (state IN ('running', 'tabulating', 'complete', 'stopped_by_budget', 'cancelled', 'incomplete')),
    budget        BIGINT CHECK (budget >= 0),
    created_at_ns BIGINT NOT NULL,
    ended_at_ns   BIGINT,
    CHECK ((state IN ('running', 'tabulating')) = (ended_at_ns IS NULL))
);

-- The counters equal a recount of `sessions` and `attempts` at every commit.
CREATE TABLE cells (
    sweep                BIGINT NOT NULL REFERENCES sweeps (number),
    cell                 BIGINT NOT NULL,
    benchmark            TEXT   NOT NULL,
    setting              TEXT   NOT NULL,
    model                TEXT   NOT NULL,
    trial                BIGINT NOT NULL,
    queue                TEXT   NOT NULL,
    items                BIGINT NOT NULL CHECK (items >= 0),
    dispatched           BIGINT NOT NULL DEFAULT 0 CHECK (dispatched >= 0),
    recorded             BIGINT NOT NULL DEFAULT 0 CHECK (recorded >= 0),
    settled              BIGINT NOT NULL DEFAULT 0,
    measured             BIGINT NOT NULL DEFAULT 0 CHECK (measured >= 0),
    model_failures       BIGINT NOT NULL DEFAULT 0 CHECK (model_failures >= 0),
    not_measured         BIGINT NOT NULL DEFAULT 0 CHECK (not_measured >= 0),
    input                BIGINT NOT NULL DEFAULT 0 CHECK (input >= 0),
    cached_input         BIGINT NOT NULL DEFAULT 0 CHECK (cached_input >= 0),
    output               BIGINT NOT NULL DEFAULT 0 CHECK (output >= 0),
    reasoning            BIGINT NOT NULL DEFAULT 0 CHECK (reasoning >= 0),
    known                BIGINT NOT NULL DEFAULT 0 CHECK (known >= wasted_known),
    unknown_calls        BIGINT NOT NULL DEFAULT 0 CHECK (unknown_calls >= wasted_unknown_calls),
    wasted_known         BIGINT NOT NULL DEFAULT 0 CHECK (wasted_known >= 0),
    wasted_unknown_calls BIGINT NOT NULL DEFAULT 0 CHECK (wasted_unknown_calls >= 0),
    PRIMARY KEY (sweep, cell),
    CHECK (settled = measured + model_failures + not_measured),
    CHECK (settled <= recorded)
) WITH (fillfactor = 50); -- updated all the time: room on the page keeps the updates away from the index

CREATE TABLE shards (
    sweep BIGINT NOT NULL,
    shard BIGINT NOT NULL,
    cell  BIGINT NOT NULL,
    queue TEXT   NOT NULL, -- the cell's, so that dispatch reads one index
    first BIGINT NOT NULL,
    count BIGINT NOT NULL,
    state TEXT   NOT NULL CHECK (state IN ('planned', 'dispatching', 'dispatched')),
    PRIMARY KEY (sweep, shard),
    FOREIGN KEY (sweep, cell) REFERENCES cells (sweep, cell)
);
CREATE INDEX shards_to_dispatch ON shards (sweep, queue, shard) WHERE state <> 'dispatched';

CREATE TABLE attempts (
    sweep         BIGINT NOT NULL,
    cell          BIGINT NOT NULL,
    item          BIGINT NOT NULL,
    id            TEXT   NOT NULL,
    number        BIGINT NOT NULL,
    worker        TEXT   NOT NULL,
    state         TEXT   NOT NULL CHECK (state IN ('open', 'recorded', 'waste', 'handed_over', 'lost')),
    started_at_ns BIGINT NOT NULL,
    ended_at_ns   BIGINT,
    outcome       TEXT   CHECK (outcome IN ('measured', 'model_failure', 'not_measured')),
    cause         TEXT,
    input         BIGINT NOT NULL,
    cached_input  BIGINT NOT NULL,
    output        BIGINT NOT NULL,
    reasoning     BIGINT NOT NULL,
    known         BIGINT NOT NULL,
    unknown_calls BIGINT NOT NULL,
    at_most       BIGINT,
    calls         BIGINT NOT NULL,
    retries       BIGINT NOT NULL,
    latency_us    BIGINT NOT NULL,
    segment       TEXT,
    line          BIGINT,
    PRIMARY KEY (sweep, cell, item, id),
    CHECK ((state = 'open') = (ended_at_ns IS NULL)),
    CHECK (state <> 'recorded' OR (outcome IS NOT NULL AND segment IS NOT NULL AND line IS NOT NULL))
);
CREATE INDEX attempts_open ON attempts (sweep) WHERE state = 'open';

-- At most one row a session: the primary key is the exactly-once rule. What it cost is on its attempt.
CREATE TABLE sessions (
    sweep   BIGINT NOT NULL,
    cell    BIGINT NOT NULL,
    item    BIGINT NOT NULL,
    item_id TEXT   NOT NULL,
    task    TEXT   NOT NULL,
    attempt TEXT   NOT NULL, -- the attempt that counts
    state   TEXT   NOT NULL CHECK (state IN ('settled', 'awaiting')),
    outcome TEXT   NOT NULL CHECK (outcome IN ('measured', 'model_failure', 'not_measured')),
    cause   TEXT,
    scores  JSON,
    served  JSON   NOT NULL,
    PRIMARY KEY (sweep, cell, item),
    CHECK ((outcome = 'measured') = (cause IS NULL)),
    CHECK (scores IS NULL OR (state = 'settled' AND outcome <> 'not_measured'))
);

-- What sessions wait for; also kept for sessions that were settled because their judge was unavailable.
CREATE TABLE awaiting (
    sweep      BIGINT NOT NULL,
    cell       BIGINT NOT NULL,
    item       BIGINT NOT NULL,
    judge      TEXT   NOT NULL,
    questions  BYTEA  NOT NULL, -- digests, one after the other
    transcript BYTEA  NOT NULL,
    PRIMARY KEY (sweep, cell, item)
);
-- Compressed by who recorded it; compressing again would only cost time.
ALTER TABLE awaiting ALTER COLUMN transcript SET STORAGE EXTERNAL;

-- The same, from question to session.
CREATE TABLE awaiting_questions (
    sweep    BIGINT NOT NULL,
    question BYTEA  NOT NULL,
    cell     BIGINT NOT NULL,
    item     BIGINT NOT NULL,
    PRIMARY KEY (sweep, question, cell, item)
);

-- Questions on their way to a judge, so that no two sessions ask the same.
CREATE TABLE asked (
    sweep    BIGINT NOT NULL,
    judge    TEXT   NOT NULL,
    question BYTEA  NOT NULL,
    PRIMARY KEY (sweep, judge, question)
);

-- Answers, shared by all sweeps: a question's digest is its content.
CREATE TABLE verdicts (
    judge    TEXT NOT NULL,
    question BYTEA NOT NULL CHECK (length(question) = 32),
    verdict  JSON NOT NULL,
    PRIMARY KEY (judge, question)
);

CREATE TABLE judge_attempts (
    sweep         BIGINT NOT NULL REFERENCES sweeps (number),
    id            TEXT   NOT NULL,
    judge         TEXT   NOT NULL,
    served        JSON   NOT NULL,
    input         BIGINT NOT NULL,
    cached_input  BIGINT NOT NULL,
    output        BIGINT NOT NULL,
    reasoning     BIGINT NOT NULL,
    known         BIGINT NOT NULL,
    unknown_calls BIGINT NOT NULL,
    PRIMARY KEY (sweep, id)
);

CREATE TABLE metrics (
    sweep     BIGINT NOT NULL,
    cell      BIGINT NOT NULL,
    evaluator TEXT   NOT NULL CHECK (evaluator IN ('official', 'paper')),
    metric    TEXT   NOT NULL,
    position  BIGINT NOT NULL, -- the order in which the benchmark lists its metrics
    value     DOUBLE PRECISION,
    low       DOUBLE PRECISION,
    high      DOUBLE PRECISION,
    n         BIGINT NOT NULL,
    PRIMARY KEY (sweep, cell, evaluator, metric),
    FOREIGN KEY (sweep, cell) REFERENCES cells (sweep, cell)
);
