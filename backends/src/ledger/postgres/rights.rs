//! Rights of a coordinator's login. Whoever migrates a database and does not grant anew what `deploy/postgres-roles.sql` says leaves coordinators
//! that seem to work until somebody needs a table that is new.

use deadpool_postgres::Object;

use super::pool::Fault;
use crate::ledger::LedgerError;

const EVERYTHING: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE"];

/// Tables, and the rights to them, or to some of their columns, that a coordinator needs.
const NEEDED: &[(&[&str], &[&str])] = &[
    (
        &[
            "sweeps",
            "cells",
            "shards",
            "attempts",
            "sessions",
            "awaiting",
            "awaiting_questions",
            "asked",
            "verdicts",
            "judge_attempts",
            "metrics",
            "cell_calls",
            "counted_calls",
            "leadership",
            "schedules",
            "schedule_ticks",
            "schedule_notices",
            "stored_objects",
            "stored_uses",
        ],
        EVERYTHING,
    ),
    (&["owners", "tokens"], &["SELECT", "INSERT", "UPDATE"]),
    (&["removals", "audit", "audit_results"], &["SELECT", "INSERT"]),
    (&["held"], &["SELECT"]),
];

/// Functions that a coordinator calls.
const CALLED: &[&str] = &["open_own_partitions()", "drop_own_partitions(bigint)"];

/// Fails if the login lacks a right. A table that is not there belongs to a migration that this build can do without.
pub(super) async fn check(client: &Object) -> Result<(), Fault> {
    let needed = || NEEDED.iter().flat_map(|(tables, rights)| tables.iter().map(move |table| (*table, *rights)));
    let all: Vec<(&str, &str)> =
        needed().flat_map(|(table, rights)| rights.iter().map(move |right| (table, *right))).collect();
    let (tables, rights): (Vec<&str>, Vec<&str>) = all.into_iter().unzip();
    // Rows are deleted whole, so that there is no such right to columns.
    let select = client
        .prepare_cached(
            "SELECT p || ' on ' || t FROM UNNEST($1::text[], $2::text[]) WITH ORDINALITY AS u (t, p, n)
             WHERE to_regclass(t) IS NOT NULL
               AND NOT CASE p WHEN 'DELETE' THEN has_table_privilege(to_regclass(t)::oid, p)
                              ELSE has_any_column_privilege(to_regclass(t)::oid, p) END
             ORDER BY n",
        )
        .await?;
    let rows = client.query(&select, &[&tables, &rights]).await?;
    let mut missing = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    let select = client
        .prepare_cached(
            "SELECT 'EXECUTE on ' || f FROM UNNEST($1::text[]) AS u (f)
             WHERE to_regprocedure(f) IS NOT NULL AND NOT has_function_privilege(to_regprocedure(f)::oid, 'EXECUTE')",
        )
        .await?;
    for row in client.query(&select, &[&CALLED]).await? {
        missing.push(row.try_get(0)?);
    }
    if missing.is_empty() { Ok(()) } else { Err(LedgerError::MissingRights { rights: missing.join(", ") }.into()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::migrate::LEDGER;
    use super::*;

    #[test]
    fn every_table_of_the_schema_is_asked_for() {
        let made =
            LEDGER.steps.iter().flat_map(|step| step.sql.lines()).filter_map(|line| line.strip_prefix("CREATE TABLE "));
        let made: BTreeSet<&str> = made.filter_map(|line| line.split_whitespace().next()).collect();
        let needed: BTreeSet<&str> = NEEDED.iter().flat_map(|(tables, _)| tables.iter().copied()).collect();
        assert_eq!(needed, made, "those that no coordinator reads would need a list of their own");
    }
}
