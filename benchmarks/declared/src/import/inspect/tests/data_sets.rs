//! Samples of a data set as items.

use super::*;

#[test]
fn a_data_set_becomes_items_whose_targets_are_golds() {
    let imported = inspect("questions.jsonl", QUESTIONS.as_bytes(), &InspectOptions::default()).unwrap();
    assert_eq!(
        imported.notes,
        [
            "the file names no solver: generate is used; --solver names another one",
            "the file names no scorer: match is used; --scorer names another one",
        ]
    );
    let suite = suite(&imported);
    let ids: Vec<&str> = suite.items().iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["1", "two"]);
    assert_eq!(asked(&*suite, 0), ["Where is Cologne?"]);
    assert_eq!((values(&*suite, 1, "It is **White**."), values(&*suite, 1, "white, I think")), (vec![1.0], vec![0.0]));
    assert_oracle_is_right(&*suite);
}

#[test]
fn fields_are_found_under_the_names_that_are_given() {
    let fields = InspectFields {
        input: "question".to_owned(),
        target: "answer".to_owned(),
        metadata: vec!["level".to_owned()],
        ..InspectFields::default()
    };
    let options = InspectOptions { fields, ..scored_by("includes", json!({})) };
    let csv = "question,answer,level,source\nTwo and two?,four,easy,a\n,,,\nThree and three?,six,hard,b\n";
    let imported = inspect("sums.csv", csv.as_bytes(), &options).unwrap();
    assert!(imported.notes.contains(&"fields that are not read: source (2); --metadata NAME keeps one".to_owned()));
    assert_eq!(
        imported.data.lines().next().unwrap(),
        r#"{"input":"Two and two?","target":["four"],"metadata":{"level":"easy"}}"#
    );
    assert_eq!(values(&*suite(&imported), 1, "I say SIX."), [1.0]);
}

#[test]
fn a_sample_may_be_a_conversation_that_ends_with_the_user() {
    let conversation = json!({
        "input": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hello" },
            { "role": "assistant", "content": "Hello!" },
            { "role": "user", "content": [{ "type": "text", "text": "Where is" }, { "type": "text", "text": "Cologne?" }] },
        ],
        "target": "Germany",
    });
    let suite = lines(&conversation.to_string(), &InspectOptions::default());
    assert_eq!(asked(&*suite, 0), ["Be brief.", "Hello", "Hello!", "Where is\nCologne?"]);
}

#[test]
fn choices_are_shown_with_letters_and_answered_by_one() {
    let imported = inspect("tea.json", CHOICES.as_bytes(), &InspectOptions::default()).unwrap();
    assert!(imported.notes.iter().any(|note| note.contains("the words around a question are Regatta's")));
    let suite = suite(&imported);
    let question = "Which is a fruit?\n\nA) leek\nB) quince\nC) kale\n\nReply with one line, \"ANSWER: X\", where X is one of A,B,C.";
    assert_eq!(asked(&*suite, 1), [question]);
    for (reply, value) in [
        ("ANSWER: B", 1.0),
        ("answer : b.", 1.0),
        ("ANSWER: A\nNo:\nANSWER: B,", 1.0),
        ("I say answer: B!", 1.0),
        ("ANSWER: A", 0.0),
        ("ANSWER: Z", 0.0),
        ("ANSWER: A, B", 0.0),
        ("B", 0.0),
    ] {
        assert_eq!(values(&*suite, 1, reply), [value], "{reply}");
    }
    assert_oracle_is_right(&*suite);
}

#[test]
fn numbers_are_written_as_python_writes_them_or_refused() {
    let options = scored_by("includes", json!({}));
    let target = |number: &str| format!("{{\"input\": \"a\", \"target\": {number}}}");
    for (number, written) in [("7", "7"), ("1.50", "1.5"), ("2.0", "2.0"), ("1e-7", "1e-07"), ("true", "True")] {
        let imported = inspect("a.jsonl", target(number).as_bytes(), &options).unwrap();
        assert_eq!(imported.data, format!("{{\"input\":\"a\",\"target\":[\"{written}\"]}}\n"));
    }
    for (said, expected) in [
        (refused("a.jsonl", &target("123456789012345678901234567890"), &options), "write it as a text"),
        (refused("a.jsonl", &target("1e999"), &options), "line 1 is no JSON: number out of range"),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let metadata = "{\"input\": \"a\", \"target\": \"x\", \"metadata\": {\"key\": [123456789012345678901234567890]}}";
    let imported = inspect("a.jsonl", metadata.as_bytes(), &options).unwrap();
    assert!(imported.notes.iter().any(|note| note.contains("are rounded") && note.contains("key (1)")));
}

#[test]
fn an_id_is_the_one_of_the_item_or_refused() {
    let options = scored_by("includes", json!({}));
    let sample = |id: Value| json!({ "id": id, "input": "a", "target": "x" }).to_string();
    let suite = lines(&sample(json!("../a/b:c")), &options);
    assert_eq!(suite.items()[0].id.as_str(), "../a/b:c");
    for (id, expected) in [
        (json!("a\nb"), "line 1, id: item id \"a\\nb\" contains '\\n'"),
        (json!("a\u{1b}[2J"), "line 1, id: item id \"a\\u{1b}[2J\" contains"),
        (json!("x".repeat(300)), "line 1, id: item id is 300 bytes long"),
        (json!(1e300), "line 1, id: must be a text or a whole number of 64 bits"),
        (json!(true), "line 1, id: must be a text or a whole number, is a boolean"),
    ] {
        let said = refused("a.jsonl", &sample(id), &options);
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
}

#[test]
fn samples_that_need_a_sandbox_are_refused_until_a_person_leaves_it_out() {
    let sample = r#"{"input": "Count the files.", "target": "3", "sandbox": "docker", "files": {"a": "b"}}"#;
    let mut options = scored_by("includes", json!({}));
    let said = refused("files.jsonl", sample, &options);
    assert!(
        said.starts_with("line 1, sandbox: a declared benchmark has no sandbox; leave it out with --leave-out sandbox"),
        "{said}"
    );
    options.leave_out = vec![InspectField::Sandbox, InspectField::Files];
    let imported = inspect("files.jsonl", sample.as_bytes(), &options).unwrap();
    assert!(imported.notes.contains(&"left out of samples, as you said: files (1), sandbox (1)".to_owned()));
}

#[test]
fn fields_of_messages_that_are_not_carried_over_are_named() {
    let part = json!({ "type": "text", "text": "Hello", "refusal": false, "citations": [] });
    let message =
        json!({ "role": "user", "content": [part], "source": "input", "metadata": { "page": 3 }, "tool_calls": null });
    let sample = json!({ "input": [message], "target": "Hi" }).to_string();
    let imported = inspect("a.jsonl", format!("{sample}\n{sample}").as_bytes(), &InspectOptions::default()).unwrap();
    let note = "not carried over from messages of samples: metadata (2), refusal (2), source (2)";
    assert!(imported.notes.iter().any(|one| one == note), "{:#?}", imported.notes);
}
