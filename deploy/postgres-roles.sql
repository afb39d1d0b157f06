-- Rights of the roles of a deployment, for databases that `regatta migrate` has made. Run by the owner of the tables, again after each
-- migration; then `GRANT regatta_worker TO some_login`, and give each role's processes the URL of a login of their own. None of them may
-- change the schema.
--
--   psql "$OWNER_URL" --file deploy/postgres-roles.sql

-- All of it or nothing: no role that runs meanwhile lacks a right in between, and before the migration the ones of before stay.
BEGIN;

DO $$
DECLARE
    role TEXT;
BEGIN
    FOREACH role IN ARRAY ARRAY['regatta_coordinator', 'regatta_scorer', 'regatta_worker', 'regatta_reader'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- roles belong to the server, and another database of it has made this one
        END;
        EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', role);
        EXECUTE format('GRANT SELECT ON ledger_version, permits_version TO %I', role);
    END LOOP;
END $$;

-- Plans, dispatches, resumes, keeps schedules, opens accounts.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    sweeps, cells, shards, attempts, sessions, awaiting, awaiting_questions, asked, verdicts, judge_attempts, metrics, cell_calls,
    counted_calls, leadership, schedules, schedule_ticks, schedule_notices, stored_objects, stored_uses
    TO regatta_coordinator;
-- Sweeps of many sessions have partitions of their own, which nobody else makes: in a database that was restored without rights everybody may.
REVOKE EXECUTE ON FUNCTION open_own_partitions(), drop_own_partitions(BIGINT) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_own_partitions(), drop_own_partitions(BIGINT) TO regatta_coordinator;
-- Work that workers hold, as scorers have heard. It goes with its sweep, for which no right to it is needed.
GRANT SELECT ON held TO regatta_coordinator;
-- Ids of removed sweeps, which are never used again.
GRANT SELECT, INSERT ON removals TO regatta_coordinator;
-- Knows people by their tokens, and counts what they were granted; what it has written down of them it cannot change. Rights to whole
-- tables, which earlier versions of this file gave, would outlive those to columns.
GRANT SELECT, INSERT, UPDATE ON owners TO regatta_coordinator;
REVOKE INSERT, UPDATE ON tokens, audit FROM regatta_coordinator;
GRANT SELECT, INSERT, UPDATE (revoked_at_ns) ON tokens TO regatta_coordinator;
GRANT SELECT, INSERT (at_ns, actor, credential, action, subject) ON audit TO regatta_coordinator;
GRANT SELECT, INSERT ON audit_results TO regatta_coordinator;
GRANT SELECT, INSERT, UPDATE, DELETE ON permit_pools, permit_pool_states, permit_accounts, permit_failures TO regatta_coordinator;
GRANT USAGE, SELECT ON SEQUENCE permit_failure_numbers TO regatta_coordinator;

-- Records what was reported. It never leads, has nothing to do with permits, and leaves owners and budgets as they are.
REVOKE UPDATE ON sweeps FROM regatta_scorer;
GRANT SELECT, UPDATE (state, ended_at_ns, echo, echo_asked, echo_answered, tabulated) ON sweeps TO regatta_scorer;
GRANT SELECT, UPDATE ON cells, shards TO regatta_scorer;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    attempts, sessions, awaiting, awaiting_questions, asked, verdicts, judge_attempts, metrics, cell_calls, counted_calls
    TO regatta_scorer;
GRANT SELECT, INSERT, UPDATE ON held TO regatta_scorer;
GRANT SELECT ON removals TO regatta_scorer;

-- Asks for permits and pays. It sees no sweep and no result, opens no account and raises none by adding one.
GRANT SELECT, INSERT, UPDATE, DELETE ON permit_pools, permit_pool_states, permit_failures TO regatta_worker;
GRANT SELECT, UPDATE ON permit_accounts TO regatta_worker;
GRANT USAGE, SELECT ON SEQUENCE permit_failure_numbers TO regatta_worker;

-- Looks, but neither at tokens nor at the audit log.
GRANT SELECT ON
    sweeps, cells, shards, attempts, sessions, awaiting, awaiting_questions, asked, verdicts, judge_attempts, metrics, cell_calls,
    counted_calls, held, removals, leadership, schedules, schedule_ticks, owners, stored_objects, stored_uses, permit_pools,
    permit_pool_states, permit_accounts, permit_failures
    TO regatta_reader;

COMMIT;
