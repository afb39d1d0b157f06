//! A judgement for people, pull requests and CI.

use regatta_benchmarks::{markdown_cell, markup_text};

use super::Judgement;
use super::judging::level;
use super::verdict::{Check, Verdict};

/// For a terminal.
pub(super) fn text(of: &Judgement) -> String {
    let mut text = format!("{}: {} against {}\n", of.verdict, of.run, of.baseline);
    let mut cell = "";
    for check in &of.checks {
        if check.cell != cell {
            cell = &check.cell;
            text += &format!("{cell}\n");
        }
        text += &format!("  {:<12}  {}: {}\n", check.verdict.to_string(), check.what, check.detail);
    }
    text + &control(of)
}

/// A sentence on the control of errors.
fn control(of: &Judgement) -> String {
    if let Some(confidence) = of.confidence {
        let percent = (1000.0 * confidence).round() / 10.0;
        return format!(
            "by the run's own question: all of this is right with a probability of {percent} % at least, however often it was looked at"
        );
    }
    match of.night {
        Some(night) => format!(
            "night {night}: alarms spend {} of alpha {}, so that a false one in all nights together is no likelier than that",
            level(of.alpha_worse),
            of.alpha
        ),
        None => format!("judged by itself, at alpha {}; `nights` in the policy holds it over many", of.alpha),
    }
}

/// For a pull request.
pub(super) fn markdown(of: &Judgement) -> String {
    let mut text = format!("## Gate: {}\n\n", of.verdict);
    text += &format!(
        "{} against {}\n\n| | cell | check | seen |\n| --- | --- | --- | --- |\n",
        markdown_cell(&of.run),
        markdown_cell(&of.baseline)
    );
    for Check { cell, what, verdict, detail } in &of.checks {
        text +=
            &format!("| {verdict} | {} | {} | {} |\n", markdown_cell(cell), markdown_cell(what), markdown_cell(detail));
    }
    text + &format!("\n{}\n", control(of))
}

/// As JUnit XML: a check is a test case; NO-GO is a failure, INCONCLUSIVE an error, since it could not be decided.
pub(super) fn junit(of: &Judgement) -> String {
    let count = |verdict: Verdict| of.checks.iter().filter(|check| check.verdict == verdict).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        of.checks.len(),
        count(Verdict::NoGo),
        count(Verdict::Inconclusive)
    );
    let name = markup_text(&format!("{} against {}", of.run, of.baseline));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"regatta gate\" {counts}>\n  <testsuite name=\"{name}\" {counts}>\n"
    );
    for Check { cell, what, verdict, detail } in &of.checks {
        let case = format!("    <testcase classname=\"{}\" name=\"{}\"", markup_text(cell), markup_text(what));
        let problem = match verdict {
            Verdict::Go => None,
            Verdict::NoGo => Some("failure"),
            Verdict::Inconclusive => Some("error"),
        };
        text += &match problem {
            None => format!("{case}>\n      <system-out>{}</system-out>\n    </testcase>\n", markup_text(detail)),
            Some(element) => format!(
                "{case}>\n      <{element} type=\"{verdict}\" message=\"{}\"/>\n    </testcase>\n",
                markup_text(detail)
            ),
        };
    }
    text + "  </testsuite>\n</testsuites>\n"
}
