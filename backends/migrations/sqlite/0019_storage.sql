-- Objects that people store, and how many bytes of them each owner may have at a time. An object is a key of the bucket: files of data sets and
-- recorded verdicts, manifests, locks, submissions of schedules. There are rows of what was stored or referred to since this migration, and of
-- what `gc` has found besides.
CREATE TABLE stored_objects (
    key            TEXT    PRIMARY KEY,
    bytes          INTEGER NOT NULL CHECK (bytes >= 0),
    -- When it was last stored or referred to. Each use changes it, so that whoever removes what nobody needs notices that somebody does.
    used_at_ns     INTEGER NOT NULL,
    -- Since when it is being removed; nobody may refer to it then. NULL: it is there.
    removing_at_ns INTEGER
) STRICT;

-- Owners who are charged for an object: each who has stored it, or refers to it.
CREATE TABLE stored_uses (
    key        TEXT    NOT NULL REFERENCES stored_objects (key),
    owner      TEXT    NOT NULL REFERENCES owners (owner),
    bytes      INTEGER NOT NULL CHECK (bytes >= 0),
    used_at_ns INTEGER NOT NULL,
    pending    INTEGER NOT NULL CHECK (pending >= 0), -- uses that have begun, as long as none has succeeded
    PRIMARY KEY (key, owner)
) STRICT;

ALTER TABLE owners ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0 CHECK (stored_bytes >= 0); -- the sum over stored_uses
ALTER TABLE owners ADD COLUMN stored_bytes_max INTEGER CHECK (stored_bytes_max >= 0);            -- NULL: without limit
