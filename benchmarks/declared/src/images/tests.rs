//! Benchmarks with images, and files in which something is wrong with them.

use std::sync::Arc;

use bytes::Bytes;
use regatta_benchmark_testing::drive;
use regatta_benchmarks::{Benchmark, NoVerdicts, Persona, Scoring, Step, Suite};
use regatta_coded::Permissions;
use regatta_proto::{ChatRequest, Evaluator, ItemIndex, Question, Setting, Transcript, json_bytes};

use super::*;
use crate::Declared;

const TEXT: &str = "v: 1\ndata: { test: test.jsonl }\nprompt:\n  turns:\n    - images: \"{{ p }}\"\n    - user: \"{{ q }}\"\nscorers:\n  right: { exact: { gold: x } }\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n one";
const GIF: &[u8] = b"GIF89a two";

/// A folder whose records show these pictures, with the same question.
fn folder(text: &str, pictures: &[&str], images: &[(&str, &[u8])]) -> FileSet {
    let mut files = FileSet::from_origin("folder");
    files.insert("benchmark.yaml", text.to_owned());
    let records = pictures.iter().map(|p| format!("{}\n", serde_json::json!({"q": "What is it?", "p": p})));
    files.insert("test.jsonl", records.collect::<String>());
    for (path, content) in images {
        files.insert(*path, Bytes::copy_from_slice(content));
    }
    files
}

fn load(files: &FileSet) -> Result<Arc<dyn Suite>, String> {
    Declared::new(Permissions::none()).load(files).map_err(|error| error.to_string())
}

fn refused(text: &str, pictures: &[&str], images: &[(&str, &[u8])]) -> String {
    load(&folder(text, pictures, images)).map(drop).unwrap_err()
}

fn first(suite: &dyn Suite, item: u32, setting: &Setting) -> ChatRequest {
    match suite.next(ItemIndex(item), setting, &Transcript::default()) {
        Step::Ask(_, request) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_users_message_has_the_images_of_its_record_and_a_request_their_digests_alone() {
    let suite = load(&folder(TEXT, &["a.png", "b/c.gif\na.png"], &[("a.png", PNG), ("b/c.gif", GIF)])).unwrap();
    let setting = suite.declared_settings().remove(0);
    let [png, gif] = [PNG, GIF].map(|content| Image::of(Bytes::from_static(content)).unwrap());
    let request = first(&*suite, 0, &setting);
    assert_eq!(request.messages.len(), 1);
    assert_eq!(&*request.messages[0].content, "What is it?");
    assert_eq!(request.messages[0].images, std::slice::from_ref(&png));
    assert_eq!(first(&*suite, 1, &setting).messages[0].images, [gif, png.clone()]);
    assert_eq!(request.messages[0].images[0].base64(), png.base64(), "the bytes are beside the reference");
    let written = String::from_utf8(json_bytes(&request)).unwrap();
    assert!(written.contains(&png.digest.to_string()) && !written.contains(&png.base64().unwrap()), "{written}");
}

#[test]
fn items_with_the_same_question_are_recognised_by_their_images() {
    let suite = load(&folder(TEXT, &["a.png", "b.gif", ""], &[("a.png", PNG), ("b.gif", GIF)])).unwrap();
    let setting = suite.declared_settings().remove(0);
    for item in 0..3 {
        assert_eq!(suite.recognise(&first(&*suite, item, &setting)), Some(ItemIndex(item)));
    }
}

#[test]
fn a_person_sees_the_images_of_a_recorded_session_each_once() {
    let suite = load(&folder(TEXT, &["a.png\nb.gif\na.png"], &[("a.png", PNG), ("b.gif", GIF)])).unwrap();
    let setting = suite.declared_settings().remove(0);
    let transcript = drive(&*suite, ItemIndex(0), &setting, Persona::Oracle, 1);
    // As it is stored and read again.
    let transcript: Transcript = serde_json::from_slice(&json_bytes(&transcript)).unwrap();
    let pictures = suite.pictures(ItemIndex(0), &setting, &transcript);
    let titles: Vec<&str> = pictures.iter().map(|picture| picture.title.as_str()).collect();
    assert_eq!(titles, ["a.png", "b.gif"]);
    let data = Image::of(Bytes::from_static(GIF)).unwrap().base64().unwrap();
    assert!(pictures[1].svg.contains(&format!("href=\"data:image/gif;base64,{data}\"")), "{}", pictures[1].svg);
    assert!(pictures[0].text.starts_with("png image of 12 bytes, sha256 "), "{}", pictures[0].text);
    let alone = [0, 1, 2].map(|number| suite.picture(ItemIndex(0), &setting, &transcript, number));
    assert_eq!(
        alone.map(|picture| picture.map(|picture| picture.svg)),
        [Some(pictures[0].svg.clone()), Some(pictures[1].svg.clone()), None]
    );
}

#[test]
fn a_setting_may_leave_images_out_and_what_is_an_image_alone_is_a_message() {
    let text = TEXT.replace("\"{{ p }}\"", "\"{% if setting.eyes == 'open' %}{{ p }}{% endif %}\"");
    let text = text.replace("\"{{ q }}\"", "\"{% if setting.eyes == 'shut' %}{{ q }}{% endif %}\"");
    let text = format!("settings: {{ eyes: [open, shut] }}\n{text}");
    let suite = load(&folder(&text, &["a.png"], &[("a.png", PNG)])).unwrap();
    let seen = ["eyes=open", "eyes=shut"].map(|setting| {
        let request = first(&*suite, 0, &setting.parse().unwrap());
        (request.messages[0].images.len(), request.messages[0].content.to_string())
    });
    assert_eq!(seen, [(1, String::new()), (0, "What is it?".to_owned())]);
}

#[test]
fn messages_of_a_column_may_have_images_of_the_user() {
    let text = TEXT.replace("    - images: \"{{ p }}\"\n    - user: \"{{ q }}\"\n", "    - messages: talk\n");
    let talk = |role: &str, images: serde_json::Value| {
        let mut files = FileSet::from_origin("folder");
        files.insert("benchmark.yaml", text.clone());
        let first = serde_json::json!({"role": role, "content": "Look.", "images": images});
        let talk = serde_json::json!([first, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "What is it?"}]);
        files.insert("test.jsonl", serde_json::json!({"talk": talk}).to_string());
        files.insert("a.png", PNG);
        files
    };
    let files = talk("user", serde_json::json!(["a.png"]));
    assert_eq!(Declared::new(Permissions::none()).further_files(&files).unwrap(), ["test.jsonl", "a.png"]);
    let suite = load(&files).unwrap();
    let request = first(&*suite, 0, &suite.declared_settings().remove(0));
    let seen: Vec<usize> = request.messages.iter().map(|message| message.images.len()).collect();
    assert_eq!(seen, [1, 0, 0]);
    let place = "folder: benchmark.yaml, line 5, prompt.turns[0].messages: test.jsonl line 1";
    for (role, images, problem) in [
        ("user", serde_json::json!("a.png"), ": the `images` of a message must be a list of paths"),
        ("user", serde_json::json!([7]), ": the `images` of a message must be a list of paths"),
        ("user", serde_json::json!(["/a.png"]), ": the `images` of a message are wrong: \"/a.png\" must be the path"),
        ("system", serde_json::json!(["a.png"]), ", column \"talk\": messages of the user alone have `images`"),
    ] {
        let said = load(&talk(role, images)).map(drop).unwrap_err();
        assert!(said.starts_with(&format!("{place}{problem}")), "{said}");
    }
}

#[test]
fn the_records_are_read_before_the_files_that_they_name() {
    let declared = Declared::new(Permissions::none());
    let mut files = folder(TEXT, &["b.gif", "a.png", "a.png"], &[]);
    let mut alone = FileSet::from_origin("folder");
    alone.insert("benchmark.yaml", TEXT);
    assert_eq!(declared.further_files(&alone).unwrap(), ["test.jsonl"]);
    assert_eq!(declared.further_files(&files).unwrap(), ["test.jsonl", "a.png", "b.gif"]);
    files.insert("benchmark.yaml", TEXT.replace("    - images: \"{{ p }}\"\n", ""));
    assert_eq!(declared.further_files(&files).unwrap(), ["test.jsonl"]);
}

#[test]
fn whatever_is_wrong_with_an_image_is_named_with_its_place() {
    let one = [("a.png", PNG)];
    let large = [PNG, &vec![0; 3840 << 10]].concat();
    let last = TEXT.replace(
        "    - images: \"{{ p }}\"\n    - user: \"{{ q }}\"\n",
        "    - user: \"{{ q }}\"\n    - images: \"{{ p }}\"\n",
    );
    let said = [
        refused(TEXT, &["a.png", "b.png"], &one),
        refused(TEXT, &["a.png"], &[("a.png", &b"<svg/>"[..])]),
        refused(TEXT, &["a.png"], &[("a.png", &large[..])]),
        refused(TEXT, &["../a.png"], &one),
        refused(&TEXT.replace("{{ p }}", "{{ path }}"), &["a.png"], &one),
        refused(&last, &["a.png"], &one),
    ];
    let expected = [
        "folder: b.png is missing: prompt.turns[0].images of benchmark.yaml names it, for test.jsonl line 2",
        "folder: a.png, whole file: is no image that models are sent: no PNG, JPEG, GIF or WebP",
        "folder: a.png, whole file: has 3932172 bytes, an image at most 3932160; make it smaller",
        "folder: benchmark.yaml, line 5, prompt.turns[0].images: \"../a.png\" must be the path of a file in the benchmark's folder; filled from test.jsonl line 1",
        "folder: benchmark.yaml, line 5, prompt.turns[0].images: undefined value: `path` is undefined (in `path`); filled from test.jsonl line 1, whose columns are q, p",
        "folder: benchmark.yaml, line 6, prompt.turns[1].images: must be followed by a turn of the `user`, whose images they are",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_conversation_has_no_more_images_than_providers_take() {
    let twenty = ["a.png"; 20].join("\n");
    load(&folder(TEXT, &[twenty.as_str()], &[("a.png", PNG)])).unwrap();
    let more = refused(TEXT, &[format!("{twenty}\na.png").as_str()], &[("a.png", PNG)]);
    assert!(more.ends_with("prompt: has 21 images in one conversation, at most 20 are sent; use fewer"), "{more}");
    let large = [PNG, &vec![0; 3 << 20]].concat();
    let four = ["a.png"; 4].join("\n");
    let larger = refused(TEXT, &[four.as_str()], &[("a.png", &large[..])]);
    assert!(
        larger.ends_with("has images of 12.0 MiB in one conversation, at most 10.0 MiB are sent; make them smaller"),
        "{larger}"
    );
}

#[test]
fn a_judge_sees_the_images_that_its_scorer_names_before_its_prompt() {
    const JUDGED: &str = "v: 1\ndata: { test: test.jsonl }\nprompt: { turns: [user: \"{{ q }}\"] }\nscorers:\n  good:\n    judge: { rubric: \"Is it right?\", images: \"{{ p }}\", grades: { right: 1, wrong: 0 } }\n";
    let suite = load(&folder(JUDGED, &["a.png", ""], &[("a.png", PNG)])).unwrap();
    let setting = suite.declared_settings().remove(0);
    let shown = |item: u32| {
        let transcript = Transcript::of_recorded(Some("A dog."));
        let scoring = suite.score_session(ItemIndex(item), &setting, &[Evaluator::Declared], &transcript, &NoVerdicts);
        let Scoring::Needs(mut questions) = scoring else { panic!() };
        match questions.remove(0) {
            Question::Judgement { before, .. } => before,
            other => panic!("{other:?}"),
        }
    };
    let png = Image::of(Bytes::from_static(PNG)).unwrap();
    let before = shown(0);
    assert_eq!(before.len(), 1);
    assert_eq!((&*before[0].content, &before[0].images[..]), ("", std::slice::from_ref(&png)));
    assert!(shown(1).is_empty(), "a record without images has none for its judge");
    assert_eq!(suite.image(&png.digest).unwrap().base64(), png.base64(), "workers have its bytes from the data set");
    assert!(suite.image(&Digest::of(GIF)).is_none());
    let said = refused(JUDGED, &["b.png"], &[]);
    assert!(said.contains("scorers.good.judge.images of benchmark.yaml names it"), "{said}");
}
