//! The workflow of an answer over the gold one, for people who look at a session: nodes as the paper matches them.

use regatta_benchmarks::{Drawing, Verdicts};
use regatta_proto::Evaluator;

use super::data::Record;
use super::parse_paper::{PaperWorkflow, parse};
use super::{paper, scoring};

/// The workflow of `reply` over that of `record`; a reply without one leaves the whole gold missing.
pub(crate) fn drawings(
    record: &Record,
    evaluators: &[Evaluator],
    reply: Option<&str>,
    verdicts: &dyn Verdicts,
) -> Vec<Drawing> {
    let Some(gold) = parse(&record.gold) else { return Vec::new() };
    let answer = reply.and_then(parse).unwrap_or(PaperWorkflow { nodes: Vec::new(), edges: Vec::new() });
    let partner = partners(record, evaluators, reply, verdicts)
        .filter(|partner| partner.len() == answer.nodes.len())
        .unwrap_or_else(|| equal(&answer.nodes, &gold.nodes));
    let owned = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
    let (of_answer, of_gold) = (owned(&answer.nodes), owned(&gold.nodes));
    vec![Drawing::over("Workflow", (&of_answer, &answer.edges), (&of_gold, &gold.edges), &partner, |_, _| true)]
}

/// The gold node of each node of the reply by similarity; `None` where the similarities are not known.
fn partners(
    record: &Record,
    evaluators: &[Evaluator],
    reply: Option<&str>,
    verdicts: &dyn Verdicts,
) -> Option<Vec<Option<usize>>> {
    let known = scoring::known_similarities(record, evaluators, reply, verdicts)?;
    let mapping = paper::score(reply, &record.gold, &known).ok()?.mapping?;
    Some(mapping.into_iter().map(|column| usize::try_from(column).ok()).collect())
}

/// Texts that are equal, each gold one once.
fn equal(answer: &[&str], gold: &[&str]) -> Vec<Option<usize>> {
    let mut is_taken = vec![false; gold.len()];
    let mut partner = |text: &&str| {
        let at = gold.iter().zip(&is_taken).position(|(wanted, taken)| wanted == text && !taken)?;
        is_taken[at] = true;
        Some(at)
    };
    answer.iter().map(&mut partner).collect()
}

#[cfg(test)]
mod tests {
    use regatta_benchmarks::NoVerdicts;
    use regatta_proto::{Question, Verdict};

    use super::*;
    use crate::task::Task;

    /// Texts are alike when they begin alike.
    struct ByLetter;

    impl Verdicts for ByLetter {
        fn answer(&self, question: &Question) -> Option<Verdict> {
            let Question::Similarity { left, right } = question else { return None };
            let row =
                |text: &String| right.iter().map(|other| if text[..1] == other[..1] { 1_000_000 } else { 0 }).collect();
            Some(Verdict::Similarity { micro: left.iter().map(row).collect() })
        }
    }

    fn drawn(reply: Option<&str>, verdicts: &dyn Verdicts) -> String {
        let gold = "Node:\n1: find it\n2: wash it\n3: bring it\nEdge: (START,1) (1,2) (2,3) (3,END)";
        let id = "alfworld_1".parse().unwrap();
        let (system, prompt) = ("".into(), "".into());
        let record = Record { id, task: Task::Alfworld, system, prompt, gold: gold.into() };
        let drawing = drawings(&record, &[Evaluator::Paper], reply, verdicts).remove(0);
        let nodes =
            drawing.nodes.iter().map(|node| format!("{} {} {}", node.presence.as_str(), node.label, node.detail));
        let edges = drawing.edges.iter().map(|edge| format!("{} {}-{}", edge.presence.as_str(), edge.from, edge.to));
        nodes.chain(edges).map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn nodes_are_partners_as_the_paper_matches_them() {
        let reply = "Node:\n1: find the cup\n2: bring it\n3: sing\nEdge: (START,1) (1,2) (2,3) (3,END)";
        insta::assert_snapshot!(drawn(Some(reply), &ByLetter), @r"
        matched find the cup find it
        matched bring it
        extra sing
        missing wash it
        extra 0-1
        extra 1-2
        missing 0-3
        missing 3-1
        ");
    }

    #[test]
    fn without_similarities_equal_texts_are_partners() {
        let reply = "Node:\n1: find the cup\n2: bring it\nEdge: (1,2)";
        insta::assert_snapshot!(drawn(Some(reply), &NoVerdicts), @r"
        extra find the cup
        matched bring it
        missing find it
        missing wash it
        extra 0-1
        missing 2-3
        missing 3-1
        ");
    }

    #[test]
    fn of_an_answer_without_a_workflow_the_whole_gold_is_missing() {
        assert_eq!(drawn(Some("sorry"), &ByLetter).matches("missing").count(), 5);
        assert_eq!(drawn(None, &ByLetter).matches("missing").count(), 5);
    }
}
