-- Sweeps that run again and again. `document` is what was asked for, as JSON.
CREATE TABLE schedules (
    name             TEXT    PRIMARY KEY,
    document         TEXT    NOT NULL,
    is_paused        INTEGER NOT NULL DEFAULT 0 CHECK (is_paused IN (0, 1)),
    created_at_ns    INTEGER NOT NULL,
    decided_until_ns INTEGER NOT NULL, -- every tick up to here has a row below, or is one of those that a row stands for
    judged           INTEGER NOT NULL DEFAULT 0 CHECK (judged >= 0) -- nights that a gate has judged
) STRICT, WITHOUT ROWID;

-- A tick is a moment at which a schedule wants a sweep. Its primary key is the rule that there is one sweep a tick: the sweep's id and lock
-- are written here, in the leader's term, before the sweep is.
CREATE TABLE schedule_ticks (
    schedule      TEXT    NOT NULL REFERENCES schedules (name),
    at_ns         INTEGER NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('due', 'running', 'ended', 'missed', 'refused')),
    by_hand       INTEGER NOT NULL DEFAULT 0 CHECK (by_hand IN (0, 1)),
    since_ns      INTEGER NOT NULL, -- the first of the ticks that a missed one stands for
    stands_for    INTEGER NOT NULL DEFAULT 1 CHECK (stands_for > 0),
    reason        TEXT,
    sweep         TEXT,
    lock          BLOB    CHECK (length(lock) = 32),
    started_at_ns INTEGER,
    ended_at_ns   INTEGER,
    spent         INTEGER CHECK (spent >= 0),
    outcome       TEXT,
    PRIMARY KEY (schedule, at_ns),
    CHECK ((sweep IS NULL) = (lock IS NULL)),
    CHECK (state NOT IN ('running', 'ended') OR sweep IS NOT NULL),
    CHECK (state NOT IN ('due', 'missed') OR sweep IS NULL)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX schedule_ticks_sweep ON schedule_ticks (sweep) WHERE sweep IS NOT NULL;
CREATE INDEX schedule_ticks_open ON schedule_ticks (schedule, at_ns) WHERE state IN ('due', 'running');

-- Messages about ticks, written with what they tell of and sent afterwards, at least once.
CREATE TABLE schedule_notices (
    id            TEXT    PRIMARY KEY,
    schedule      TEXT    NOT NULL REFERENCES schedules (name),
    at_ns         INTEGER NOT NULL,
    channel       TEXT    NOT NULL,
    body          TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('waiting', 'sent', 'given_up')),
    tries         INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
    next_at_ns    INTEGER NOT NULL,
    problem       TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_notices_waiting ON schedule_notices (next_at_ns) WHERE state = 'waiting';
