-- Sweeps and schedules belong to whoever submitted them; those from before, and those of embedded runs, to nobody.
ALTER TABLE sweeps ADD COLUMN owner TEXT;
ALTER TABLE sweeps ADD COLUMN charged INTEGER NOT NULL DEFAULT 0 CHECK (charged >= 0); -- money counted against its owner's quota
ALTER TABLE schedules ADD COLUMN owner TEXT;

-- Quotas, and what was granted on them to sweeps, removed ones included.
CREATE TABLE owners (
    owner            TEXT    PRIMARY KEY,
    budget           INTEGER CHECK (budget >= 0),   -- NULL: without limit
    sessions         INTEGER CHECK (sessions >= 0), -- NULL: without limit
    granted          INTEGER NOT NULL DEFAULT 0 CHECK (granted >= 0),
    granted_sessions INTEGER NOT NULL DEFAULT 0 CHECK (granted_sessions >= 0)
) STRICT;

-- Of a token only its digest: whoever reads this table can use none.
CREATE TABLE tokens (
    id            TEXT    PRIMARY KEY,
    digest        BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    owner         TEXT    NOT NULL,
    scopes        TEXT    NOT NULL,
    created_at_ns INTEGER NOT NULL,
    created_by    TEXT    NOT NULL,
    expires_at_ns INTEGER,
    revoked_at_ns INTEGER
) STRICT;

-- Who asked for what, written before it is done; what came of it is a row of its own, because no row is ever changed.
CREATE TABLE audit (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ns      INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    credential TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    subject    TEXT    NOT NULL
) STRICT;
CREATE TABLE audit_results (
    number  INTEGER PRIMARY KEY REFERENCES audit (number),
    at_ns   INTEGER NOT NULL,
    result  TEXT    NOT NULL CHECK (result IN ('done', 'refused', 'failed')),
    subject TEXT    NOT NULL,
    detail  TEXT    NOT NULL
) STRICT;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_results_are_not_changed BEFORE UPDATE ON audit_results
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_results_are_not_removed BEFORE DELETE ON audit_results
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
-- INSERT OR REPLACE removes a row without asking the triggers above.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
    WHEN EXISTS (SELECT 1 FROM audit WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_results_are_not_replaced BEFORE INSERT ON audit_results
    WHEN EXISTS (SELECT 1 FROM audit_results WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
-- Who is revoked stays so.
CREATE TRIGGER tokens_stay_revoked BEFORE UPDATE ON tokens
    WHEN OLD.revoked_at_ns IS NOT NULL AND NEW.revoked_at_ns IS NOT OLD.revoked_at_ns
    BEGIN SELECT RAISE(ABORT, 'a token that is revoked stays so'); END;
