//! Programs that follow the protocol, and programs that break it in every way. They are shell scripts, because the
//! pool is under test and not a language.

use std::time::Instant;

use serde_json::json;

use crate::protocol::{Asked, Event, Next, Serve, Served, SettingOf, WorldCall};
use crate::{Permissions, Start};

use super::*;

/// Answers `load` with one item, and every other call with `$reply` for call number `$n` (`$line` is the call).
const BEGINNING: &str = r#"
n=0
say() { printf '{"v":1,"id":%s,"answer":%s}\n' "$n" "$1"; }
while IFS= read -r line; do
  n=$((n + 1))
  case "$line" in
    *'"call":"load"'*) say '{"items":[{"id":"a"}]}' ;;
    *) "#;
const END: &str = " ;;\n  esac\ndone\n";

fn start() -> Start {
    let command = ["sh", "benchmark.sh"].map(str::to_owned);
    Permissions::trusting().start(&command, &FileSet::from_origin("test")).unwrap()
}

fn limits() -> PoolLimits {
    PoolLimits {
        load: Duration::from_secs(20),
        call: Duration::from_secs(20),
        memory_mb: 512,
        answer_bytes: 100_000,
        processes: NonZeroUsize::new(2).unwrap(),
    }
}

fn opened(script: &str, limits: PoolLimits) -> Result<(Pool, Loaded), Failure> {
    let mut files = FileSet::from_origin("test");
    files.insert("benchmark.sh", script.to_owned());
    Pool::open(start(), limits, &files, Load { data: [].into(), settings: Vec::new() })
}

/// Opens a pool whose processes run `body` for every call but `load`.
fn pool_of(body: &str) -> Pool {
    opened(&format!("{BEGINNING}{body}{END}"), limits()).unwrap().0
}

fn next(item: &str) -> Call {
    let setting = SettingOf { name: "default".to_owned(), values: serde_json::Map::new() };
    let said = Event { role: "agent", text: Some("hello".into()), tool_calls: Vec::new(), results: Vec::new() };
    let transcript = vec![said];
    Call::Next(Next { item: item.to_owned(), setting, transcript })
}

fn ask(pool: &Pool, item: &str) -> Result<Asked, Failure> {
    pool.ask(&next(item))
}

fn refused(pool: &Pool, item: &str) -> String {
    ask(pool, item).unwrap_err().in_full()
}

#[test]
fn processes_are_started_once_and_answer_call_after_call() {
    let pool = pool_of(r#"say '{"done":true}'"#);
    for item in 0..200 {
        assert!(matches!(ask(&pool, &item.to_string()), Ok(Asked::Done(true))));
    }
    assert_eq!(pool.started(), 2, "one, and another one for comparison");
}

#[test]
fn calls_at_the_same_time_are_answered_by_as_many_processes_as_there_may_be() {
    let pool = pool_of(r#"say '{"done":true}'"#);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let pool = &pool;
            scope.spawn(move || (0..50).for_each(|item| assert!(ask(pool, &format!("{thread}.{item}")).is_ok())));
        }
    });
    assert_eq!(pool.started(), 2);
}

#[test]
fn a_process_that_becomes_free_wakes_no_more_calls_than_it_can_answer() {
    const THREADS: u64 = 16;
    const CALLS: u64 = 50;
    let pool = pool_of(r#"say '{"done":true}'"#);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let pool = &pool;
            scope.spawn(move || (0..CALLS).for_each(|item| assert!(ask(pool, &format!("{thread}.{item}")).is_ok())));
        }
    });
    // Those that are compared wake all that want a certain process, and a call that is about to wait may meet a wake that was for another. To
    // wake all that wait each time is to wake fourteen.
    let woken = pool.locked().woken;
    assert!(woken < THREADS * CALLS * (THREADS - 2) / 2, "{woken} calls were woken");
}

#[test]
fn a_process_that_answers_otherwise_than_another_stops_everything_and_the_call_is_named() {
    let pool = pool_of(r#"say "{\"unfit\":\"$$\"}""#);
    let said = refused(&pool, "a");
    assert!(said.starts_with("next of item a in default: the program is not pure: one process answered"), "{said}");
    let again = refused(&pool, "b");
    assert_eq!(again, said, "and nothing more is asked");
    assert_eq!(pool.started(), 2);
}

#[test]
fn one_that_depends_on_earlier_calls_is_not_pure_either() {
    let pool = pool_of(r#"say "{\"unfit\":\"$n\"}""#);
    let said: Vec<_> = (0..200).map(|item| ask(&pool, &item.to_string())).collect();
    assert!(said.iter().any(Result::is_err));
}

#[test]
fn a_world_that_is_not_the_same_for_the_same_calls_is_not_pure() {
    let serve = |pool: &Pool| {
        let setting = SettingOf { name: "default".to_owned(), values: serde_json::Map::new() };
        let calls = vec![WorldCall { role: "user", name: "press".into(), arguments: "{}".into() }];
        pool.ask::<Served>(&Call::Serve(Serve { item: "a".to_owned(), setting, seed: 7, calls, snapshot: true }))
    };
    let same = pool_of(
        r#"case "$line" in
           *'"seed":7,"calls":[{"role":"user","name":"press","arguments":"{}"}],"snapshot":true}') say '{"results":["on"],"snapshot":[1]}' ;;
           esac"#,
    );
    let served = serve(&same).unwrap();
    assert_eq!((served.results, served.snapshot.get()), (vec!["on".to_owned()], "[1]"));
    assert!(served.tools.is_empty());
    let failure = serve(&pool_of(r#"say "{\"results\":[\"$$\"]}""#)).unwrap_err();
    assert!(failure.to_string().starts_with("serve of item a in default: the program is not pure"), "{failure}");
}

#[test]
fn a_call_that_fails_in_one_process_alone_costs_its_own_session_and_no_other() {
    let pool = pool_of(
        r#"if [ "$n" -gt 50 ]; then printf '{"v":1,"id":%s,"error":"gone"}\n' "$n"; else say '{"done":true}'; fi"#,
    );
    // One process is asked more often than the other, with which some of its answers are compared.
    let failed: Vec<Failure> = (0..400).filter_map(|item| ask(&pool, &item.to_string()).err()).collect();
    assert!(!failed.is_empty());
    assert!(failed.iter().all(|failure| failure.why == "gone"), "{failed:?}");
}

#[test]
fn one_that_loads_otherwise_than_another_is_not_pure() {
    let script = r#"while read -r line; do case "$line" in *'"load"'*) echo "{\"v\":1,\"id\":1,\"answer\":{\"items\":[{\"id\":\"$$\"}]}}" ;; *) echo '{"v":1,"id":2,"answer":{"done":true}}' ;; esac; done"#;
    let (pool, _) = opened(script, limits()).unwrap();
    let failures = (0..3).filter(|item| ask(&pool, &item.to_string()).is_err()).count();
    assert!(failures > 0);
    assert!(refused(&pool, "b").starts_with("load: the program is not pure"));
}

#[test]
fn a_crash_costs_its_call_alone_and_the_end_of_standard_error_is_told() {
    let pool = pool_of(
        r#"case "$line" in *'"item":"bad"'*) echo "KeyError: 'x'" >&2; exit 3 ;; *) say '{"done":true}' ;; esac"#,
    );
    assert!(ask(&pool, "good").is_ok());
    let said = refused(&pool, "bad");
    assert_eq!(said, "next of item bad in default: the program ended with exit code 3\nKeyError: 'x'");
    assert!(ask(&pool, "other").is_ok());
}

#[test]
fn what_earlier_calls_left_behind_costs_no_later_one_its_answer() {
    let pool = pool_of(r#"[ "$n" -lt 5 ] || exit 1; say '{"done":true}'"#);
    for item in 0..40 {
        assert!(ask(&pool, &item.to_string()).is_ok(), "{item}");
    }
}

#[test]
fn one_that_hangs_is_ended_when_its_time_is_up_with_everything_that_it_started() {
    let limits = PoolLimits { call: Duration::from_secs(2), ..limits() };
    let script = format!("{BEGINNING}sleep 1000 & echo $! >&2; wait{END}");
    let (pool, _) = opened(&script, limits).unwrap();
    let before = Instant::now();
    let failure = ask(&pool, "a").unwrap_err();
    assert!(failure.why.contains("no answer came within 2 s"), "{failure}");
    assert!(before.elapsed() < Duration::from_secs(20));
    let child = failure.errors.trim().to_owned();
    is_gone(&child);
}

/// Longest wait for the end of a process.
const PATIENCE: Duration = Duration::from_secs(300);

/// A killed process stays visible as a zombie until its parent waits for it.
fn is_gone(child: &str) {
    assert!(!child.is_empty());
    let state = || std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    let since = Instant::now();
    while !state().is_empty() && !state().contains(") Z ") {
        assert!(since.elapsed() < PATIENCE, "waited {} s for the end of process {}", PATIENCE.as_secs(), state());
        std::thread::yield_now();
    }
}

#[test]
fn what_a_program_leaves_behind_ends_with_its_pool_also_outside_of_its_group() {
    let pool = pool_of(
        r#"setsid sh -c 'echo $$ > "$HOME/left"; exec sleep 1000' >/dev/null 2>&1 & until [ -s "$HOME/left" ]; do :; done
           read -r left < "$HOME/left"; echo "{\"v\":1,\"id\":$n,\"error\":\"$left\"}"; exit 0"#,
    );
    let child = ask(&pool, "a").unwrap_err();
    drop(pool);
    // The answers vary with the process, so the pool compared those of two.
    let numbers = child.why.split(|c: char| !c.is_ascii_digit()).filter(|word| word.len() > 1).map(str::to_owned);
    let numbers: Vec<String> = numbers.collect();
    assert!(!numbers.is_empty(), "{child}");
    numbers.iter().for_each(|number| is_gone(number));
}

#[test]
fn one_that_floods_is_ended_and_so_is_one_whose_answer_is_too_large() {
    let flood = pool_of("exec cat /dev/zero");
    assert!(refused(&flood, "a").contains("its answer has more than 100000 bytes"));
    let errors = pool_of(r#"head -c 3000000 /dev/zero | tr '\0' x >&2; say '{"done":true}'"#);
    assert!(ask(&errors, "a").is_ok(), "what goes to standard error holds nobody up");
    let large = pool_of(r#"say "{\"unfit\":\"$(head -c 200000 /dev/zero | tr '\0' x)\"}""#);
    assert!(refused(&large, "a").contains("its answer has more than 100000 bytes"));
}

#[test]
fn what_is_no_answer_is_told_from_one() {
    for (body, expected) in [
        (
            "echo hello",
            "it wrote a line to standard output that is no answer (expected value at line 1 column 1): \"hello\"",
        ),
        (
            "echo '{\"v\":2,\"id\":2,\"answer\":{\"done\":true}}'",
            "it speaks version 2 of the protocol; this build speaks 1",
        ),
        ("echo '{\"id\":2,\"answer\":{\"done\":true}}'", "its answer has no version (`v`)"),
        ("echo '{\"v\":1,\"id\":7,\"answer\":{\"done\":true}}'", "it answered call 7 when call 2 was asked"),
        ("echo '{\"v\":1,\"id\":2}'", "its answer has neither `answer` nor `error`"),
        ("echo '{\"v\":1,\"id\":2,\"error\":\"KeyError\"}'", "KeyError"),
        ("say '{\"ask\":{}}'", "what it answered is no answer of next: missing field `messages`"),
        ("say '{\"finished\":true}'", "what it answered is no answer of next: unknown value `finished`"),
        ("say '[1]'", "what it answered is no answer of next"),
        ("exec 1>&-; sleep 1000", "it closed its standard output"),
        ("kill -KILL $$", "the program was ended by signal 9"),
    ] {
        let said = refused(&pool_of(body), "a");
        assert!(said.contains(expected), "{body}: {said}");
    }
}

#[test]
fn one_that_does_not_load_is_told_with_its_standard_error() {
    let failed = |script: &str| opened(script, limits()).err().map(|failure| failure.in_full()).unwrap();
    let said = failed("echo no data >&2; exit 1");
    assert_eq!(said, "load: the program ended with exit code 1\nno data");
    assert!(failed("read -r line; echo '{\"v\":1,\"id\":1,\"answer\":{}}'; cat").contains("missing field `items`"));
    let nowhere = Start { command: vec!["no-such-program".to_owned()], ..start() };
    let load = Load { data: [].into(), settings: Vec::new() };
    let failure = Pool::open(nowhere, limits(), &FileSet::from_origin("test"), load).err().unwrap();
    assert!(failure.why.contains("there is no such program in PATH"), "{failure}");
}

#[test]
fn a_program_sees_its_folder_and_no_variable_of_this_process() {
    let pool = pool_of(
        r#"vars=$(env | cut -d= -f1 | sort | tr '\n' ' '); [ -f benchmark.sh ] && say "{\"unfit\":\"$vars\"}""#,
    );
    let Ok(Asked::Unfit(names)) = ask(&pool, "a") else { panic!() };
    let names: Vec<&str> =
        names.split(' ').filter(|name| !matches!(*name, "" | "_" | "PWD" | "OLDPWD" | "SHLVL")).collect();
    let expected = [
        "HOME",
        "LANG",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONUTF8",
        "TMPDIR",
        "TZ",
        "XDG_CACHE_HOME",
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_protocol_is_as_it_is_published() {
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "a list of all messages")]
    struct Protocol {
        call: crate::protocol::Message<'static>,
        answer: crate::protocol::Envelope<'static>,
        load: Loaded,
        next: Asked,
        score: crate::Scored,
        tabulate: crate::Tabulated,
        simulate: crate::Reply,
        serve: Served,
    }
    let schema = schemars::schema_for!(Protocol);
    let mut document = serde_json::to_value(&schema).unwrap();
    document["title"] = json!("Protocol of coded benchmarks, version 1");
    document["description"] = json!(
        "`call` is a line to the program, `answer` a line of its; the others are `answer` of an answer, by function."
    );
    let text = serde_json::to_string_pretty(&document).unwrap() + "\n";
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol.schema.json");
    if std::env::var_os("REGATTA_UPDATE").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap_or_default(), text, "REGATTA_UPDATE=1 writes it");
}
