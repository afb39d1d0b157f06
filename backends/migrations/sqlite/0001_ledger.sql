-- The ledger: what was planned, what was tried, what came out.
--
-- Timestamps are nanoseconds since 1970, money is nano-dollars, digests are 32 bytes. A sweep is referred to by its number,
-- which keeps keys small. Tables that grow with sessions have no foreign keys: every writer updates the cell's row in the same
-- transaction and fails when there is none. Nor do their checks say IN, for which SQLite fills a table of its own at each row.

CREATE TABLE sweeps (
    number        INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    name          TEXT    NOT NULL,
    lock          BLOB    NOT NULL CHECK (length(lock) = 32),
    state         TEXT    NOT NULL
        CHECK (state IN ('running', 'tabulating', 'complete', 'stopped_by_budget', 'cancelled', 'incomplete')),
    budget        INTEGER CHECK (budget >= 0),
    created_at_ns INTEGER NOT NULL,
    ended_at_ns   INTEGER,
    CHECK ((state IN ('running', 'tabulating')) = (ended_at_ns IS NULL))
) STRICT;

-- The counters equal a recount of `sessions` and `attempts` at every commit.
CREATE TABLE cells (
    sweep                INTEGER NOT NULL REFERENCES sweeps (number),
    cell                 INTEGER NOT NULL,
    benchmark            TEXT    NOT NULL,
    setting              TEXT    NOT NULL,
    model                TEXT    NOT NULL,
    trial                INTEGER NOT NULL,
    queue                TEXT    NOT NULL,
    items                INTEGER NOT NULL CHECK (items >= 0),
    dispatched           INTEGER NOT NULL DEFAULT 0 CHECK (dispatched >= 0),
    recorded             INTEGER NOT NULL DEFAULT 0 CHECK (recorded >= 0),
    settled              INTEGER NOT NULL DEFAULT 0,
    measured             INTEGER NOT NULL DEFAULT 0 CHECK (measured >= 0),
    model_failures       INTEGER NOT NULL DEFAULT 0 CHECK (model_failures >= 0),
    not_measured         INTEGER NOT NULL DEFAULT 0 CHECK (not_measured >= 0),
    input                INTEGER NOT NULL DEFAULT 0 CHECK (input >= 0),
    cached_input         INTEGER NOT NULL DEFAULT 0 CHECK (cached_input >= 0),
    output               INTEGER NOT NULL DEFAULT 0 CHECK (output >= 0),
    reasoning            INTEGER NOT NULL DEFAULT 0 CHECK (reasoning >= 0),
    known                INTEGER NOT NULL DEFAULT 0 CHECK (known >= wasted_known),
    unknown_calls        INTEGER NOT NULL DEFAULT 0 CHECK (unknown_calls >= wasted_unknown_calls),
    wasted_known         INTEGER NOT NULL DEFAULT 0 CHECK (wasted_known >= 0),
    wasted_unknown_calls INTEGER NOT NULL DEFAULT 0 CHECK (wasted_unknown_calls >= 0),
    PRIMARY KEY (sweep, cell),
    CHECK (settled = measured + model_failures + not_measured),
    CHECK (settled <= recorded)
) STRICT, WITHOUT ROWID;

CREATE TABLE shards (
    sweep INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    cell  INTEGER NOT NULL,
    queue TEXT    NOT NULL, -- the cell's, so that dispatch reads one index
    first INTEGER NOT NULL,
    count INTEGER NOT NULL,
    state TEXT    NOT NULL CHECK (state IN ('planned', 'dispatching', 'dispatched')),
    PRIMARY KEY (sweep, shard),
    FOREIGN KEY (sweep, cell) REFERENCES cells (sweep, cell)
) STRICT, WITHOUT ROWID;
CREATE INDEX shards_to_dispatch ON shards (sweep, queue, shard) WHERE state <> 'dispatched';

CREATE TABLE attempts (
    sweep         INTEGER NOT NULL,
    cell          INTEGER NOT NULL,
    item          INTEGER NOT NULL,
    id            TEXT    NOT NULL,
    number        INTEGER NOT NULL,
    worker        TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (
        state = 'recorded' OR state = 'open' OR state = 'waste' OR state = 'handed_over' OR state = 'lost'),
    started_at_ns INTEGER NOT NULL,
    ended_at_ns   INTEGER,
    outcome       TEXT    CHECK (outcome = 'measured' OR outcome = 'model_failure' OR outcome = 'not_measured'),
    cause         TEXT,
    input         INTEGER NOT NULL,
    cached_input  INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    known         INTEGER NOT NULL,
    unknown_calls INTEGER NOT NULL,
    at_most       INTEGER,
    calls         INTEGER NOT NULL,
    retries       INTEGER NOT NULL,
    latency_us    INTEGER NOT NULL,
    segment       TEXT,
    line          INTEGER,
    PRIMARY KEY (sweep, cell, item, id),
    CHECK ((state = 'open') = (ended_at_ns IS NULL)),
    CHECK (state <> 'recorded' OR (outcome IS NOT NULL AND segment IS NOT NULL AND line IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_open ON attempts (sweep) WHERE state = 'open';

-- At most one row a session: the primary key is the exactly-once rule. What it cost is on its attempt.
CREATE TABLE sessions (
    sweep   INTEGER NOT NULL,
    cell    INTEGER NOT NULL,
    item    INTEGER NOT NULL,
    item_id TEXT    NOT NULL,
    task    TEXT    NOT NULL,
    attempt TEXT    NOT NULL, -- the attempt that counts
    state   TEXT    NOT NULL CHECK (state = 'settled' OR state = 'awaiting'),
    outcome TEXT    NOT NULL CHECK (outcome = 'measured' OR outcome = 'model_failure' OR outcome = 'not_measured'),
    cause   TEXT,
    scores  TEXT,
    served  TEXT    NOT NULL,
    PRIMARY KEY (sweep, cell, item),
    CHECK ((outcome = 'measured') = (cause IS NULL)),
    CHECK (scores IS NULL OR (state = 'settled' AND outcome <> 'not_measured'))
) STRICT, WITHOUT ROWID;

-- What sessions wait for; also kept for sessions that were settled because their judge was unavailable.
CREATE TABLE awaiting (
    sweep      INTEGER NOT NULL,
    cell       INTEGER NOT NULL,
    item       INTEGER NOT NULL,
    judge      TEXT    NOT NULL,
    questions  BLOB    NOT NULL, -- digests, one after the other
    transcript BLOB    NOT NULL,
    PRIMARY KEY (sweep, cell, item)
) STRICT; -- with a rowid: in an index such long rows would spill over to pages of their own

-- The same, from question to session.
CREATE TABLE awaiting_questions (
    sweep    INTEGER NOT NULL,
    question BLOB    NOT NULL,
    cell     INTEGER NOT NULL,
    item     INTEGER NOT NULL,
    PRIMARY KEY (sweep, question, cell, item)
) STRICT, WITHOUT ROWID;

-- Questions on their way to a judge, so that no two sessions ask the same.
CREATE TABLE asked (
    sweep    INTEGER NOT NULL,
    judge    TEXT    NOT NULL,
    question BLOB    NOT NULL,
    PRIMARY KEY (sweep, judge, question)
) STRICT, WITHOUT ROWID;

-- Answers, shared by all sweeps: a question's digest is its content.
CREATE TABLE verdicts (
    judge    TEXT NOT NULL,
    question BLOB NOT NULL CHECK (length(question) = 32),
    verdict  TEXT NOT NULL,
    PRIMARY KEY (judge, question)
) STRICT, WITHOUT ROWID;

CREATE TABLE judge_attempts (
    sweep         INTEGER NOT NULL REFERENCES sweeps (number),
    id            TEXT    NOT NULL,
    judge         TEXT    NOT NULL,
    served        TEXT    NOT NULL,
    input         INTEGER NOT NULL,
    cached_input  INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    known         INTEGER NOT NULL,
    unknown_calls INTEGER NOT NULL,
    PRIMARY KEY (sweep, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE metrics (
    sweep     INTEGER NOT NULL,
    cell      INTEGER NOT NULL,
    evaluator TEXT    NOT NULL CHECK (evaluator IN ('official', 'paper')),
    metric    TEXT    NOT NULL,
    position  INTEGER NOT NULL, -- the order in which the benchmark lists its metrics
    value     REAL,
    low       REAL,
    high      REAL,
    n         INTEGER NOT NULL,
    PRIMARY KEY (sweep, cell, evaluator, metric),
    FOREIGN KEY (sweep, cell) REFERENCES cells (sweep, cell)
) STRICT, WITHOUT ROWID;
