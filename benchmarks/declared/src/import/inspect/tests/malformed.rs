//! Files and samples that make no sense, or too much of it.

use super::*;

#[test]
fn samples_that_make_no_sense_are_refused_with_their_place() {
    let options = InspectOptions::default();
    let line = |sample: Value| refused("a.jsonl", &format!("\n{sample}"), &options);
    let long = format!("{{\"input\": \"{}\", \"target\": \"x\"}}", "a".repeat(5 << 20));
    for (said, expected) in [
        (refused("a.jsonl", &long, &options), "line 1 has 5242"),
        (refused("a.jsonl", "{\"input\": ", &options), "line 1 is no JSON"),
        (refused("a.jsonl", "[1]", &options), "line 1 must be an object, is an array"),
        (refused("a.json", "7", &options), "record 1 must be an object, is a number"),
        (refused("a.json", &"[".repeat(100_000), &options), "not JSON that can be read"),
        (refused("a.jsonl", "", &options), "holds no samples"),
        (refused("a.csv", "input,input\na,b\n", &options), "the column \"input\" is there twice"),
        (refused("a.csv", "input,target\na\n", &options), "not CSV that can be read"),
        (refused("a.eval", "PK\u{3}\u{4}", &options), "inspect log dump"),
        (refused("a.parquet", "PAR1", &options), "must end in .jsonl, .json or .csv"),
        (line(json!({ "target": "x" })), "line 2, input: is missing; fields: target"),
        (
            line(json!({ "input": 7, "target": "x" })),
            "line 2, input: must be a text or a list of messages, is a number",
        ),
        (line(json!({ "input": "a" })), "line 2: has no target"),
        (line(json!({ "input": "a", "target": [{}] })), "line 2, target: must be a text or a list of texts"),
        (line(json!({ "input": "a", "target": "x", "id": [1] })), "line 2, id: must be a text or a whole number"),
        (line(json!({ "input": "a", "target": "x", "metadata": [1] })), "line 2, metadata: must be an object"),
        (line(json!({ "input": [{ "role": "tool", "content": "x" }], "target": "x" })), "has the role \"tool\""),
        (
            line(json!({ "input": [{ "role": "assistant", "content": "x" }], "target": "x" })),
            "must end with a message of the user",
        ),
        (
            line(
                json!({ "input": [{ "role": "user", "content": [{ "type": "image", "image": "x.png" }] }], "target": "x" }),
            ),
            "has a part of type image",
        ),
        (
            line(
                json!({ "input": [{ "role": "user", "content": "a" }, { "role": "user", "content": "b" }], "target": "x" }),
            ),
            "no answer follows",
        ),
        (
            line(json!({ "input": "a", "choices": ["x", "y"], "target": "C" })),
            "line 2: the target \"C\" is none of its 2 choices (AB)",
        ),
        (line(json!({ "input": "a", "choices": ["x", "y"], "target": ["A", "B"] })), "several right choices"),
        (
            line(json!({ "input": "a", "choices": vec!["x"; 27], "target": "A" })),
            "has 27 choices, and there are 26 letters",
        ),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let twice =
        "{\"id\": 1, \"input\": \"a\", \"target\": \"x\"}\n{\"id\": \"1\", \"input\": \"b\", \"target\": \"y\"}";
    assert_eq!(
        refused("a.jsonl", twice, &options),
        "line 2 (\"1\"): the id is that of line 1 (\"1\") too; give each sample its own"
    );
    let some = "{\"id\": 1, \"input\": \"a\", \"target\": \"x\"}\n{\"input\": \"b\", \"target\": \"y\"}";
    assert!(refused("a.jsonl", some, &options).contains("line 2 has no id, and others have one"));
}

#[test]
fn a_field_that_is_named_and_not_there_and_an_empty_choice_are_refused() {
    let naming = |fields: InspectFields| InspectOptions { fields, ..InspectOptions::default() };
    let choices = InspectFields { choices: "optoins".to_owned(), ..InspectFields::default() };
    assert_eq!(
        refused("tea.json", CHOICES, &naming(choices)),
        "no record has the field \"optoins\", which you name; record 1 has input, choices, target"
    );
    let metadata = InspectFields { metadata: vec!["level".to_owned()], ..InspectFields::default() };
    assert!(refused("tea.json", CHOICES, &naming(metadata)).contains("no record has the field \"level\""));
    let options = InspectOptions::default();
    for (choices, target) in [(json!(["", "x", "y"]), json!("B")), (json!("x,,y"), json!("C"))] {
        let sample = json!({ "input": "a", "choices": choices, "target": target }).to_string();
        let said = refused("a.jsonl", &sample, &options);
        assert!(said.contains("line 1, choices: holds an empty text"), "a letter would be another choice's: {said}");
    }
    let sample = json!({ "input": "a", "target": ["x", ""] }).to_string();
    assert!(refused("a.jsonl", &sample, &options).contains("line 1, target: holds an empty text"));
}

#[test]
fn a_file_of_the_other_kind_and_a_sample_of_any_number_of_fields_are_told_in_a_few_words() {
    let options = scored_by("includes", json!({}));
    assert!(refused("a.json", QUESTIONS, &options).ends_with("a file with a record in each line must end in .jsonl"));
    assert!(refused("a.jsonl", CHOICES, &options).ends_with("a file with one list of records must end in .json"));
    let mut sample = json!({ "input": "a", "target": "x" });
    for number in 0..100 {
        sample[format!("field{number}")] = json!(number);
    }
    let imported = inspect("a.jsonl", sample.to_string().as_bytes(), &options).unwrap();
    assert!(imported.notes.iter().any(|note| note.contains(" and 60 others; --metadata NAME keeps one")));
}

#[test]
fn what_would_grow_without_end_is_refused() {
    let doubling = vec![step("prompt_template", json!({ "template": "{prompt} {prompt}" })); 60];
    let options = with(doubling, vec![step("includes", json!({}))]);
    let said = refused("a.jsonl", QUESTIONS, &options);
    assert!(said.contains("the solver prompt_template: it makes a template of more than 65536 bytes"), "{said}");
    let said = refused("a.jsonl", QUESTIONS, &with(Vec::new(), vec![step("includes", json!({})); 101]));
    assert!(said.contains("has 101 scorers, at most 100 are read"), "{said}");
    let options = scored_by("includes", json!({}));
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let sample = format!("{{\"id\": 7, \"input\": \"a\", \"target\": \"x\", \"metadata\": {{\"tree\": {deep}}}}}");
    let said = refused("a.jsonl", &sample, &options);
    assert!(said.contains("line 1 (\"7\"), metadata: \"tree\" is nested deeper than the 32 levels"), "{said}");
    let long = json!([{ "input": "a".repeat(5 << 20), "target": "x" }]).to_string();
    let said = refused("a.json", &long, &options);
    assert!(said.starts_with("record 1 makes a record of 5242"), "{said}");
}

#[test]
fn a_text_in_utf_16_is_told_with_what_to_do() {
    let sample = "{\"input\": \"a\", \"target\": \"x\"}";
    let big: Vec<u8> = sample.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let little: Vec<u8> = sample.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = |mark: [u8; 2], text: &[u8]| [&mark[..], text].concat();
    for content in [marked([0xfe, 0xff], &big), marked([0xff, 0xfe], &little), big.clone(), little.clone()] {
        for file in ["a.jsonl", "a.json", "a.csv"] {
            let said = inspect(file, &content, &InspectOptions::default()).unwrap_err();
            assert_eq!(said, "is text in UTF-16; write it in UTF-8, as with: iconv -f UTF-16 -t UTF-8");
        }
    }
}
