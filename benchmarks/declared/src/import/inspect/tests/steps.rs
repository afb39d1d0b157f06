//! Solvers and scorers, from a log or from the command line.

use super::*;

#[test]
fn the_places_and_numbers_of_match_are_those_of_inspect() {
    let at = |params: Value, reply: &str| values(&*lines(QUESTIONS, &scored_by("match", params)), 0, reply);
    for (location, reply, value) in [
        ("begin", "\"Germany\", of course", 1.0),
        ("begin", "In Germany", 0.0),
        ("any", "In Germany, of course", 1.0),
        ("exact", "**germany**.", 1.0),
        ("exact", "In Germany", 0.0),
    ] {
        assert_eq!(at(json!({ "location": location }), reply), [value], "{location}: {reply}");
    }
    assert_eq!(at(json!({ "ignore_case": false }), "germany"), [0.0]);
    let sums = "{\"input\": \"How much?\", \"target\": \"$1,250\"}";
    let number = |location: &str, reply: &str| {
        values(&*lines(sums, &scored_by("match", json!({ "numeric": true, "location": location }))), 0, reply)
    };
    for (location, reply, value) in [
        ("end", "First 3, then **$1,250.00**.", 1.0),
        ("end", "1250 and 3", 0.0),
        ("begin", "1250 and 3", 1.0),
        ("end", "It is 1250.001 CHF", 1.0),
        ("end", "It is 1250.1 CHF", 0.0),
        ("end", "It is 1251 CHF", 0.0),
        ("end", "about 1250%", 0.0),
        ("exact", "1250", 1.0),
        ("exact", "It is 1250", 0.0),
        ("end", "nothing", 0.0),
    ] {
        assert_eq!(number(location, reply), [value], "{location}: {reply}");
    }
}

#[test]
fn patterns_and_marked_answers_are_read_and_compared() {
    let pattern = scored_by("pattern", json!({ "pattern": r"country[[:]\s*(\w+)\Z" }));
    let suite = lines(QUESTIONS, &pattern);
    assert_eq!((values(&*suite, 0, "Country: GERMANY"), values(&*suite, 0, "Germany")), (vec![1.0], vec![0.0]));
    let options = scored_by("pattern", json!({ "pattern": r"ANSWER: (.*)", "ignore_case": false }));
    let imported = inspect("questions.jsonl", QUESTIONS.as_bytes(), &options).unwrap();
    assert!(!imported.notes.iter().any(|note| note.contains("simulate.reply")), "it is one of the usual ones");
    let answer = |pattern: &str, reply: &str| {
        values(&*lines(QUESTIONS, &scored_by("answer", json!({ "pattern": pattern }))), 0, reply)
    };
    assert_eq!(answer("word", "ANSWER: France\nANSWER: Germany."), [1.0]);
    assert_eq!(answer("word", "ANSWER: Germany\nANSWER: I do not know"), [0.0], "the last one counts");
    assert_eq!(answer("line", "So.\nAnswer: germany"), [1.0]);
    assert_eq!(answer("letter", "ANSWER: G"), [0.0]);
}

#[test]
fn several_scorers_score_the_reply_each_in_its_way() {
    let scorers = ["answer", "exact", "f1"]
        .map(|name| step(name, if name == "answer" { json!({ "pattern": "word" }) } else { json!({}) }));
    let suite = lines(QUESTIONS, &with(Vec::new(), scorers.to_vec()));
    assert_eq!(values(&*suite, 0, "ANSWER: Germany"), [1.0, 0.0, 0.67]);
    assert_eq!(values(&*suite, 0, "Germany"), [0.0, 1.0, 1.0]);
}

#[test]
fn solvers_are_the_messages_of_the_conversation() {
    let solvers = vec![
        step("system_message", json!({ "template": "Be {tone}. {unknown} {{x}} {{% %}}\n" })),
        step("prompt_template", json!({ "template": "{greeting} {prompt}", "greeting": "Hello {{ you }}." })),
        step("assistant_message", json!({ "template": "Which?" })),
        step("user_message", json!({ "template": "The one." })),
        step("generate", json!({ "temperature": 0.5, "tool_calls": "loop", "seed": 3 })),
        step("user_message", json!({ "template": "Are you sure?" })),
        step("generate", json!({ "temperature": 0.5, "tool_calls": "loop", "seed": 3 })),
    ];
    let options = with(solvers, vec![step("includes", json!({}))]);
    let imported = inspect("questions.jsonl", QUESTIONS.as_bytes(), &options).unwrap();
    assert!(
        imported.notes.contains(&"not carried over from generate: seed; parameters of models are in a spec".to_owned())
    );
    let suite = suite(&imported);
    assert_eq!(
        asked(&*suite, 1),
        ["Be dry. {unknown} {x} {% %}\n", "Hello {{ you }}. Name a colour of the flag of Japan.", "Which?", "The one."]
    );
    let setting = suite.declared_settings().remove(0);
    let transcript = drive(&*suite, ItemIndex(0), &setting, Persona::Oracle, 1);
    assert_eq!(transcript.replies(regatta_proto::Role::Agent).count(), 2);
}

#[test]
fn parameters_without_a_counterpart_are_refused_by_name() {
    let scorer = |name: &str, params: Value| refused("a.jsonl", QUESTIONS, &scored_by(name, params));
    for (said, expected) in [
        (scorer("match", json!({ "location": "middle" })), "the location middle has no counterpart"),
        (scorer("match", json!({ "numeric": true, "location": "any" })), "the location any of numbers"),
        (scorer("match", json!({ "numeric": true })), "line 1 (\"1\"): the target \"Germany\" is no number"),
        (scorer("match", json!({ "ignore_case": "yes" })), "ignore_case must be true or false"),
        (scorer("f1", json!({ "stop_words": ["of"] })), "the parameter stop_words has no counterpart"),
        (scorer("pattern", json!({ "pattern": "(a)(b)" })), "has 2 groups"),
        (scorer("pattern", json!({ "pattern": "a" })), "has no group"),
        (scorer("pattern", json!({ "pattern": "(a)(?=b)" })), "no look-around"),
        (scorer("pattern", json!({ "pattern": "([a--b])" })), "has --"),
        (scorer("choice", json!({})), "line 1 (\"1\"): the target \"Germany\" must be one letter"),
        (scorer("math", json!({})), "the scorer math is not mapped"),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let solver =
        |steps: Vec<InspectStep>| refused("a.jsonl", QUESTIONS, &with(steps, vec![step("includes", json!({}))]));
    let generate = || step("generate", json!({}));
    let words = |template: &str| step("prompt_template", json!({ "template": template }));
    for (said, expected) in [
        (solver(vec![words("{prompt}")]), "add generate at the end"),
        (solver(vec![generate(), words("{prompt}")]), "changes a message that has been answered"),
        (solver(vec![generate(), generate()]), "asks again where nothing was said"),
        (solver(vec![step("user_message", json!({ "template": "b c" })), generate()]), "that is not answered"),
        (solver(vec![words("{prompt:>9}"), generate()]), "has a form, an index or an attribute"),
        (solver(vec![words("{prompt"), generate()]), "a { without its }"),
        (solver(vec![words("prompt} it"), generate()]), "a } without its {"),
        (solver(vec![words("{} it"), generate()]), "has no name"),
        (solver(vec![step("multiple_choice", json!({}))]), "line 1 (\"1\") has no choices"),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let uneven = QUESTIONS.replace("\"tone\": \"dry\"", "");
    let options = with(vec![words("{tone}: {prompt}"), generate()], vec![step("includes", json!({}))]);
    assert!(refused("a.jsonl", &uneven, &options).contains("the metadata \"tone\", which line 2 (\"two\") has not"));
}

#[test]
fn a_template_of_one_word_is_a_text_unless_it_looks_like_a_file() {
    let asks = |template: &str| {
        let solvers = vec![step("system_message", json!({ "template": template })), step("generate", json!({}))];
        inspect("a.jsonl", QUESTIONS.as_bytes(), &with(solvers, vec![step("includes", json!({}))]))
    };
    for word in ["Yes/No", "and/or", "e.g", "v1.5", "a/b.c"] {
        assert_eq!(asked(&*suite(&asks(word).unwrap()), 0)[0], word);
    }
    for file in
        ["words.txt", "prompts/system.MD", "/prompts/one", "./one", "../one", "~/one", "s3://bucket/one", "file:one"]
    {
        let said = asks(file).unwrap_err();
        assert!(said.contains(&format!("its template is in the file {file:?}")), "{said}");
    }
}
