//! Answers of models in every benchmark: sessions, scores, pictures and tool servers.

use std::sync::{Arc, LazyLock};

use regatta_benchmark_testing::{answered, examples, miniature, read_folder};
use regatta_benchmarks::{Benchmark, Persona, Scoring, Step, Suite, ToolRequest, Verdicts, markdown_cell, markup_text};
use regatta_declared::{Declared, Permissions};
use regatta_proto::{Evaluator, ItemIndex, Question, Reply, Role, SessionSeed, Setting, ToolCall, Transcript, Verdict};

use crate::benchmarks::BUILT_IN;
use crate::input::Input;

/// Most calls of a session that is played to its end; what bounds the longer ones is tested by their benchmarks.
const CALLS_MAX: usize = 200;
/// Separates the name of a called tool from its arguments, and marks a reply as a call: ASCII's unit separator.
const UNIT: char = '\u{1f}';

/// A data set with everything that its sessions can be.
pub(crate) struct Loaded {
    pub(crate) suite: Arc<dyn Suite>,
    pub(crate) settings: Vec<(Setting, Vec<ItemIndex>)>,
    evaluators: Vec<Evaluator>,
}

/// The miniatures of all built-in benchmarks, and the declared ones.
pub(crate) static LOADED: LazyLock<Vec<Loaded>> = LazyLock::new(|| {
    let built_in = BUILT_IN.iter().map(|benchmark| {
        let suite = benchmark.load(&miniature(*benchmark)).unwrap();
        loaded(*benchmark, suite, benchmark.settings())
    });
    let declared = ["arithmetic", "functions", "instructions", "knowledge"].into_iter().map(|name| {
        let benchmark = Declared::new(Permissions::none());
        let suite = benchmark.load(&read_folder(&examples().join("benchmarks").join(name), None)).unwrap();
        let settings = suite.declared_settings();
        loaded(&benchmark, suite, settings)
    });
    built_in.chain(declared).collect()
});

fn loaded(benchmark: &dyn Benchmark, suite: Arc<dyn Suite>, settings: Vec<Setting>) -> Loaded {
    let with_items = |setting: Setting| Some((setting.clone(), suite.select(&setting, &[], None).ok()?));
    let settings = settings.into_iter().filter_map(with_items).filter(|(_, items)| !items.is_empty()).collect();
    Loaded { suite, settings, evaluators: benchmark.evaluators() }
}

pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let kind = usize::from(input.byte()) % (LOADED.len() + 3);
    match kind.checked_sub(LOADED.len()) {
        None => session(&LOADED[kind], input),
        Some(0) => tool_servers(input),
        Some(1) => escapes(&input.text()),
        Some(_) => judged(input),
    }
}

/// No answer makes a session, its scores or its pictures fail: whatever a model says is at worst wrong.
fn session(loaded: &Loaded, mut input: Input<'_>) {
    let (setting, items) = input.choose(&loaded.settings);
    let item = *input.choose(items);
    let others = input.byte();
    let replies: Vec<Reply> = input.texts().map(|text| reply(&text)).collect();
    let suite = &*loaded.suite;
    let mut transcript = Transcript::default();
    let mut number = 0;
    loop {
        match suite.next(item, setting, &transcript) {
            Step::Ask(role, request) => {
                if number == CALLS_MAX {
                    return;
                }
                // Models that play other roles answer as they should, or as wildly as the agent.
                let reply = if role == Role::Agent || others.is_multiple_of(2) {
                    replies[number % replies.len()].clone()
                } else {
                    suite.simulate(item, setting, role, Persona::Oracle, SessionSeed(1), &request)
                };
                suite.right_reply(item, setting, &request);
                suite.recognise(&request);
                transcript.events.push(answered(role, request, reply));
                number += 1;
            }
            Step::Done => break,
            // No session of an external agent is played here.
            Step::Delegate(_) => return,
            Step::Unfit(why) => panic!("a session of {setting} does not fit itself: {why}"),
            Step::Failed(failed) => panic!("a session of {setting} failed: {failed:?}"),
        }
    }
    suite.is_invalid_format(item, setting, &transcript);
    scores(loaded, item, setting, &transcript, &replies);
    for picture in suite.pictures(item, setting, &transcript) {
        assert_is_markup(&picture.svg);
    }
}

fn scores(loaded: &Loaded, item: ItemIndex, setting: &Setting, transcript: &Transcript, replies: &[Reply]) {
    let suite = &*loaded.suite;
    let judge = Judge { replies };
    for evaluator in &loaded.evaluators {
        let scoring = suite.score_session(item, setting, &[*evaluator], transcript, &judge);
        assert_eq!(scoring, suite.score_session(item, setting, &[*evaluator], transcript, &judge));
        match scoring {
            Scoring::Scored(scores) => {
                for score in scores.values() {
                    for (name, value) in &score.values {
                        assert!(value.is_finite(), "{name} of {evaluator:?} is {value}");
                    }
                }
            }
            Scoring::Needs(questions) => {
                assert!(questions.iter().any(|question| judge.answer(question).is_none()), "asked again");
                return;
            }
            Scoring::Unfit(why) => panic!("a finished session of {setting} is not scored by {evaluator:?}: {why}"),
            Scoring::Failed(failed) => panic!("{evaluator:?} failed: {failed:?}"),
        }
    }
    for drawing in suite.drawings(item, setting, &loaded.evaluators, transcript, &judge) {
        drop(drawing);
    }
}

/// A judge that says what the agent said, and finds texts similar by their lengths.
pub(crate) struct Judge<'r> {
    pub(crate) replies: &'r [Reply],
}

impl Verdicts for Judge<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        Some(match question {
            Question::Similarity { left, right } => {
                let similarity = |a: &String, b: &String| match (a == b, (a.len() + b.len()) % 3) {
                    (true, _) => 1_000_000,
                    (false, 0) => 900_000,
                    (false, 1) => 500_000,
                    (false, _) => -100_000,
                };
                let row = |a: &String| right.iter().map(|b| similarity(a, b)).collect();
                Verdict::Similarity { micro: left.iter().map(row).collect() }
            }
            Question::Judgement { replies_max, .. } => {
                let texts = self.replies.iter().filter_map(|reply| reply.text.as_deref());
                let mut replies: Vec<String> = texts.take(usize::from(*replies_max)).map(str::to_owned).collect();
                if replies.is_empty() {
                    replies.push(String::new());
                }
                Verdict::Replies { replies }
            }
        })
    }
}

/// A text, or calls of tools.
fn reply(text: &str) -> Reply {
    let Some((said, calls)) = text.split_once(UNIT) else { return Reply::said(text) };
    let call = |(number, call): (usize, &str)| {
        let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
        ToolCall { id: format!("call_{number}").into(), name: name.into(), arguments: arguments.into() }
    };
    Reply::calling((!said.is_empty()).then_some(said), calls.split(UNIT).enumerate().map(call).collect())
}

/// Requests of external agents to the simulated tools.
fn tool_servers(mut input: Input<'_>) {
    let loaded = input.choose(&LOADED);
    let (setting, items) = input.choose(&loaded.settings);
    let item = *input.choose(items);
    let method = *input.choose(&["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", ""]);
    let (url, body) = input.halves();
    let request = ToolRequest {
        method: method.to_owned(),
        url: String::from_utf8_lossy(url).into_owned(),
        body: (!body.is_empty()).then(|| body.to_vec()),
    };
    let answer = loaded.suite.serve(item, setting, &request);
    assert!((100..600).contains(&answer.status), "status {}", answer.status);
}

/// Nothing of a text is markup of a document.
fn escapes(text: &str) {
    let markup = markup_text(text);
    assert!(!markup.contains(['<', '>', '"', '\'']));
    assert!(
        markup
            .split('&')
            .skip(1)
            .all(|rest| { ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|entity| rest.starts_with(entity)) })
    );
    let cell = markdown_cell(text);
    assert!(!cell.contains(['<', '\n', '\r']));
    let (mut is_escaped, mut is_after_mark) = (false, false);
    for c in cell.chars() {
        assert!(is_escaped || c != '|', "{cell:?} ends its cell");
        assert!(!(is_after_mark && c == '['), "{cell:?} has a picture");
        is_after_mark = c == '!' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
    }
}

/// Prompts to simulated judges are texts of benchmarks, with what a model said in them.
fn judged(mut input: Input<'_>) {
    let loaded = input.choose(&LOADED);
    loaded.suite.simulate_judge(&input.text(), Persona::Noisy(0.5), SessionSeed(7));
}

/// Elements of a picture are its own: their names are few, and every one that is opened is closed.
pub(crate) fn assert_is_markup(svg: &str) {
    const ELEMENTS: [&str; 19] = [
        "svg", "g", "rect", "text", "tspan", "path", "line", "polyline", "polygon", "circle", "ellipse", "title",
        "desc", "defs", "marker", "style", "use", "a", "clipPath",
    ];
    for tag in svg.split('<').skip(1) {
        let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(ELEMENTS.contains(&&*name), "an element {name:?} in {svg}");
    }
    assert!(!svg.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "a control character in {svg:?}");
}

impl Loaded {
    /// Evaluators of the benchmark.
    pub(crate) fn evaluators(&self) -> &[Evaluator] {
        &self.evaluators
    }
}
