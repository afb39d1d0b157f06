//! A deployment whose roles have a login each in the database, with the rights of `deploy/postgres-roles.sql` and no others.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use regatta_tests::deployment_roles::{ROLES, connect};
use regatta_tests::regatta::{Process, finish, regatta, workspace};
use regatta_tests::{Deployment, unique_name};

async fn simulator(folder: &Path, name: &str) -> (Process, PathBuf) {
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &format!("worfbench={}", data.display())]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let spec = folder.join(format!("{name}.yaml"));
    let text = format!(
        "name: {name}\nseed: 5\nbudget_usd: 100\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: sim/lexical, \
         judge_price: {{ input_per_mtok: 1, output_per_mtok: 0 }} }}\n\
         endpoints:\n  sim: {{ kind: openai, base_url: '{}', identify_sessions: true, api_key_env: none }}\n\
         models: [{{ id: sim/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}]\n",
        data.display(),
        server.first_line
    );
    std::fs::write(&spec, text).unwrap();
    (server, spec)
}

fn succeeded(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_does_all_its_work_with_a_login_of_its_own() {
    let deployment = Deployment::new().await.unwrap();
    let (_server, spec) = simulator(deployment.folder.path(), &unique_name("roles")).await;
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let run = async |arguments: &[&str]| succeeded(deployment.run(arguments).await.unwrap());
    let token = run(&["token", "create", "--owner", "alice", "--budget-usd", "150", "--expires-days", "1"]).await;
    assert!(token.starts_with("rgt_"), "{token}");
    let id = deployment.submit(&spec).await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let mut alone = regatta().unwrap();
    let embedded = deployment.folder.path().join("alone");
    alone.arg("run").arg(&spec).arg("--output").arg(&embedded);
    succeeded(finish(alone).await.unwrap());
    let results = |directory: &Path| std::fs::read_to_string(directory.join("results.jsonl")).unwrap();
    assert_eq!(results(&directory), results(&embedded));

    // What is rarer: to cancel, resume, schedule, look, revoke, remove.
    let text = std::fs::read_to_string(&spec).unwrap().replacen("seed: 5", "seed: 6", 1);
    std::fs::write(&spec, text).unwrap();
    let mut submit = deployment.command("submit").unwrap();
    submit.arg(&spec).env("REGATTA_TOKEN", token.trim());
    let second = succeeded(finish(submit).await.unwrap()).trim().to_owned();
    // It may have ended before.
    deployment.run(&["cancel", &second]).await.unwrap();
    deployment.run(&["watch", &second]).await.unwrap();
    deployment.run(&["resume", &second, "--budget", "+20"]).await.unwrap();
    deployment.run(&["watch", &second]).await.unwrap();
    let schedule = deployment.folder.path().join("nightly.yaml");
    let spec_name = spec.file_name().unwrap().to_string_lossy().into_owned();
    std::fs::write(&schedule, format!("name: nightly\ncron: '0 3 1 1 *'\nspec: {spec_name}\n")).unwrap();
    run(&["schedule", "create", &schedule.to_string_lossy()]).await;
    for what in ["pause", "resume", "delete"] {
        run(&["schedule", what, "nightly"]).await;
    }
    let listed = run(&["token", "list"]).await;
    assert!(listed.contains("alice"), "{listed}");
    let token_id = token.split('_').nth(1).unwrap();
    run(&["token", "revoke", token_id]).await;
    run(&["status"]).await;
    run(&["doctor"]).await;
    run(&["gc", "--days", "0", "--apply"]).await;
    let audit = run(&["audit"]).await;
    for action in ["submit", "token create", "token revoke", "schedule put", "schedule delete", "gc"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
    assert!(!audit.contains(token.trim()), "{audit}");
    assert!(!audit.contains("permission denied") && !audit.contains("failed"), "{audit}");
}

/// Rights of a role, by table.
type Rights = BTreeMap<String, Vec<String>>;

async fn rights(deployment: &Deployment, role: &str) -> Rights {
    let client = connect(deployment.database_url()).await.unwrap();
    let rows = client
        .query(
            "SELECT c.relname, p FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES',
                'TRIGGER']) p
             WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')
                AND has_table_privilege($1, c.oid, p) ORDER BY c.relname, p",
            &[&format!("regatta_{role}")],
        )
        .await
        .unwrap();
    let mut rights = Rights::new();
    for row in rows {
        rights.entry(row.get(0)).or_default().push(row.get(1));
    }
    rights
}

#[tokio::test(flavor = "multi_thread")]
async fn no_role_has_a_right_that_its_work_does_not_need() {
    let deployment = Deployment::new().await.unwrap();
    let client = connect(deployment.database_url()).await.unwrap();
    let tables: Vec<String> = client
        .query(
            // Rights to a table are rights to its partitions.
            "SELECT relname::text FROM pg_class
             WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition",
            &[],
        )
        .await
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert!(tables.len() > 20 && tables.contains(&"tokens".to_owned()), "{tables:?}");
    let mut all = BTreeMap::new();
    for role in ROLES {
        all.insert(role, rights(&deployment, role).await);
    }
    for (role, rights) in &all {
        for (table, may) in rights {
            for never in ["TRUNCATE", "REFERENCES", "TRIGGER"] {
                assert!(!may.contains(&never.to_owned()), "{role} may {never} {table}");
            }
            if table.ends_with("_version") {
                assert_eq!(*may, ["SELECT"], "{role} {table}");
            }
        }
    }
    let of = |role: &str, table: &str| all[role].get(table).cloned().unwrap_or_default();
    // A worker: permits alone, and no account that was not opened for it.
    for table in all["worker"].keys() {
        assert!(table.starts_with("permit") || table == "ledger_version", "a worker may look at {table}");
    }
    assert_eq!(of("worker", "permit_accounts"), ["SELECT", "UPDATE"]);
    // A scorer: neither permits nor people, and it leads nothing.
    for table in ["permit_accounts", "permit_pools", "tokens", "owners", "audit", "leadership", "schedules"] {
        assert_eq!(of("scorer", table), Vec::<String>::new(), "a scorer and {table}");
    }
    // A reader changes nothing, and sees no credential.
    for (table, may) in &all["reader"] {
        assert_eq!(*may, ["SELECT"], "a reader and {table}");
    }
    for table in ["tokens", "audit", "audit_results"] {
        assert_eq!(of("reader", table), Vec::<String>::new(), "a reader and {table}");
    }
    // What is written down stays. Rights to single columns are asked for by using them, below.
    assert_eq!(of("coordinator", "audit"), ["SELECT"]);
    assert_eq!(of("coordinator", "audit_results"), ["INSERT", "SELECT"]);
    assert_eq!(of("coordinator", "tokens"), ["INSERT", "SELECT"]);
    assert_eq!(of("scorer", "sweeps"), ["SELECT"]);
    // Every table is somebody's: a new one needs its grants.
    for table in &tables {
        assert!(!of("coordinator", table).is_empty(), "nobody may use {table}: grant it in deploy/postgres-roles.sql");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_was_taken_over_reads_no_result_and_no_token() {
    let deployment = Deployment::new().await.unwrap();
    let worker = deployment.command("worker").unwrap();
    let url = worker.as_std().get_envs().find(|(name, _)| *name == "DATABASE_URL").unwrap().1.unwrap();
    let client = connect(&url.to_string_lossy()).await.unwrap();
    for table in ["sessions", "attempts", "verdicts", "sweeps", "tokens", "audit", "schedules"] {
        let error = client.query(&format!("SELECT 1 FROM {table}"), &[]).await.unwrap_err();
        assert_eq!(error.code().map(|state| state.code()), Some("42501"), "a worker read {table}: {error}");
    }
    assert!(client.batch_execute("CREATE TABLE mine (x int)").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_may_ask_which_database_it_is_in() {
    let deployment = Deployment::new().await.unwrap();
    let coordinator = deployment.command("coordinator").unwrap();
    let url = coordinator.as_std().get_envs().find(|(name, _)| *name == "DATABASE_URL").unwrap().1.unwrap();
    let client = connect(&url.to_string_lossy()).await.unwrap();
    client.query_one("SELECT system_identifier FROM pg_control_system()", &[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_was_taken_over_forges_no_entry_and_takes_no_sweep() {
    let deployment = Deployment::new().await.unwrap();
    let refused = async |role: &str, statement: &str| {
        let command = deployment.command(role).unwrap();
        let url = command.as_std().get_envs().find(|(name, _)| *name == "DATABASE_URL").unwrap().1.unwrap();
        let client = connect(&url.to_string_lossy()).await.unwrap();
        let error = client.batch_execute(statement).await.unwrap_err();
        assert_eq!(error.code().map(|state| state.code()), Some("42501"), "{role}: {statement}: {error}");
    };
    for statement in [
        "INSERT INTO audit (number, at_ns, actor, credential, action, subject) OVERRIDING SYSTEM VALUE VALUES (1, 1, 'a', 'c', 'x', 's')",
        "UPDATE tokens SET owner = 'operator'",
        "UPDATE tokens SET scopes = 'admin'",
        "UPDATE tokens SET expires_at_ns = NULL",
        "DELETE FROM tokens",
    ] {
        refused("coordinator", statement).await;
    }
    for column in ["owner = 'mallory'", "charged = 0", "granted = 0", "budget = NULL", "lock = NULL"] {
        refused("scorer", &format!("UPDATE sweeps SET {column}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_of_a_version_whose_migration_has_not_run_change_nothing() {
    let deployment = Deployment::new().await.unwrap();
    let owner = connect(deployment.database_url()).await.unwrap();
    let scorer = deployment.command("scorer").unwrap();
    let url = scorer.as_std().get_envs().find(|(name, _)| *name == "DATABASE_URL").unwrap().1.unwrap();
    let scorer = connect(&url.to_string_lossy()).await.unwrap();

    owner.batch_execute("ALTER TABLE sweeps DROP COLUMN echo_answered").await.unwrap();
    let said = deployment.grant_by_psql().await.unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("echo_answered"), "it says what is missing: {said}");
    scorer.batch_execute("UPDATE sweeps SET echo = echo").await.unwrap();

    owner.batch_execute("ALTER TABLE sweeps ADD COLUMN echo_answered BIGINT NOT NULL DEFAULT 0").await.unwrap();
    scorer.batch_execute("UPDATE sweeps SET echo_answered = 0").await.unwrap_err();
    assert_eq!(succeeded(deployment.grant_by_psql().await.unwrap()).lines().last(), Some("COMMIT"));
    scorer.batch_execute("UPDATE sweeps SET echo_answered = 0").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_of_the_coordinator_are_its_alone_also_in_a_database_that_was_restored_without_rights() {
    let deployment = Deployment::new().await.unwrap();
    let owner = connect(deployment.database_url()).await.unwrap();
    // As `pg_restore --no-privileges` leaves them.
    let everybody = "GRANT EXECUTE ON FUNCTION open_own_partitions(), drop_own_partitions(BIGINT) TO PUBLIC";
    owner.batch_execute(everybody).await.unwrap();
    succeeded(deployment.grant_by_psql().await.unwrap());
    for role in ROLES {
        for function in ["open_own_partitions()", "drop_own_partitions(bigint)"] {
            let may = format!("SELECT has_function_privilege('regatta_{role}', '{function}', 'EXECUTE')");
            let may: bool = owner.query_one(&may, &[]).await.unwrap().get(0);
            assert_eq!(may, role == "coordinator", "{role}: {function}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_revoked_stays_so_whoever_asks() {
    let deployment = Deployment::new().await.unwrap();
    let client = connect(deployment.database_url()).await.unwrap();
    let token = "INSERT INTO tokens (id, digest, owner, scopes, created_at_ns, created_by, revoked_at_ns)
                 VALUES ('t', decode(repeat('00', 32), 'hex'), 'alice', 'read', 1, 'operator', 1)";
    client.batch_execute(token).await.unwrap();
    let error = client.batch_execute("UPDATE tokens SET revoked_at_ns = NULL").await.unwrap_err();
    assert!(error.as_db_error().unwrap().message().contains("stays so"), "{error}");
    assert!(client.batch_execute(&token.replace("'t'", "'u'").replace("'alice'", "'operator'")).await.is_err());
}

/// Tests whose roles have the login of the database's owner: in these they migrate it themselves, which nobody else may.
const OF_OWNER: [&str; 1] = ["upgraded.rs"];

#[test]
fn in_all_other_tests_each_role_has_its_own_rights_and_no_others() {
    let (mut found, mut folders) = (Vec::new(), vec![workspace().join("tests/tests")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs")
                && std::fs::read_to_string(&path).unwrap().contains(concat!("of_owner", "("))
            {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    assert_eq!(found, OF_OWNER);
}
