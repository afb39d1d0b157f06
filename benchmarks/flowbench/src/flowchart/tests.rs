//! Parsing and comparison of flowcharts in the forms of the real data.

use std::collections::BTreeSet;
use std::path::Path;

use petgraph::visit::EdgeRef;
use proptest::prelude::*;

use super::draw::{Overlay, draw};
use super::graph::{Node, Shape};
use super::path::Departure;
use super::*;

const SHOP: &str = "：
flowchart TD
AB000(Start)--Buy a bicycle-->AB001>Subgoal: find a bicycle
Description: call findBicycle [once] and look at is_found]
AB001--None found-->AB002[\"Say sorry & <goodbye>\"]
AB001-- Found -->AB003[ Tell the price ] \n\
AB003 & AB002 --Another one-->AB001
AB003-->AB004>[Take the order]

The parameters are explained as follows:
\"colour\": \"as red\"
";

/// Accessors for tests.
impl Flowchart {
    fn start_node(&self) -> &Node {
        &self.graph[self.start]
    }

    fn node(&self, id: &str) -> Option<&Node> {
        self.by_id.get(id).map(|&index| &self.graph[index])
    }

    /// Nodes in the order of their first mention.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.graph.node_weights()
    }

    /// Edges (from, label, to) in the order of the source.
    fn edges(&self) -> impl Iterator<Item = (&Node, Option<&str>, &Node)> {
        self.graph
            .edge_references()
            .map(|edge| (&self.graph[edge.source()], edge.weight().as_deref(), &self.graph[edge.target()]))
    }

    /// Nodes without outgoing edges.
    fn terminals(&self) -> impl Iterator<Item = &Node> {
        self.graph.externals(petgraph::Direction::Outgoing).map(|index| &self.graph[index])
    }
}

fn chart(text: &str) -> Flowchart {
    parse(text).unwrap_or_else(|error| unreachable!("{error}"))
}

fn refusal(text: &str) -> String {
    parse(text).map_or_else(|error| error.to_string(), |_| "parsed".to_owned())
}

#[test]
fn every_quirk_of_the_real_data_is_read() {
    let shop = chart(SHOP);
    assert_eq!(&*shop.start_node().id, "AB000");
    let nodes: Vec<(&str, Shape, &str)> = shop.nodes().map(|node| (&*node.id, node.shape, &*node.text)).collect();
    assert_eq!(
        nodes,
        [
            ("AB000", Shape::Start, "Start"),
            (
                "AB001",
                Shape::Flag,
                "Subgoal: find a bicycle\nDescription: call findBicycle [once] and look at is_found"
            ),
            ("AB002", Shape::Box, "Say sorry & <goodbye>"),
            ("AB003", Shape::Box, "Tell the price"),
            ("AB004", Shape::Flag, "Take the order"),
        ]
    );
    let edges: Vec<(&str, Option<&str>, &str)> =
        shop.edges().map(|(from, label, to)| (&*from.id, label, &*to.id)).collect();
    assert_eq!(
        edges,
        [
            ("AB000", Some("Buy a bicycle"), "AB001"),
            ("AB001", Some("None found"), "AB002"),
            ("AB001", Some("Found"), "AB003"),
            ("AB003", Some("Another one"), "AB001"),
            ("AB002", Some("Another one"), "AB001"),
            ("AB003", None, "AB004"),
        ]
    );
    assert_eq!(shop.notes.as_deref(), Some("The parameters are explained as follows:\n\"colour\": \"as red\""));
    assert_eq!(shop.terminals().map(|node| &*node.id).collect::<Vec<_>>(), ["AB004"]);
}

#[test]
fn the_next_nodes_come_with_their_intents() {
    let shop = chart(SHOP);
    let next: Vec<(Option<&str>, &str)> =
        shop.next_nodes("AB003").into_iter().map(|next| (next.intent, &*next.node.id)).collect();
    assert_eq!(next, [(Some("Another one"), "AB001"), (None, "AB004")]);
    assert!(shop.next_nodes("AB004").is_empty() && shop.next_nodes("ZZ999").is_empty());
}

#[test]
fn an_error_says_line_and_column() {
    let errors = [
        "graph TD",
        "flowchart TD",
        "flowchart XY\n",
        "flowchart TD\nAB000(Start)-->AB001",
        "flowchart TD\nAB000(Start)-->AB001[never\nends",
        "flowchart TD\nAB000(Start)--a label-- >AB001[a]",
        "flowchart TD\nAB000(Start)-->ab001[a]",
        "flowchart TD\nAB000(Start)-->AB001 words",
        "flowchart TD\nAB000(Start)-->AB001[a]\nAB001(Start)-->AB002[b]",
        "flowchart TD\nAB000-->AB001[a]\nAB001-->AB000[b]",
        "flowchart TD\nAB000(Start)-->AB001[a]\nwords",
        "flowchart TD\nAB000(Start) & é-->AB001[a]",
    ];
    let said: Vec<String> = errors.into_iter().map(refusal).collect();
    insta::assert_snapshot!("flowchart_errors", said.join("\n"));
}

#[test]
fn a_bracket_within_a_line_belongs_to_the_text_and_a_later_text_replaces_an_earlier_one() {
    let read = chart("flowchart LR\nAB000(Start)-->AB001[a] -->AB002[b]\nAB001-->AB001>c]");
    assert_eq!(read.nodes().count(), 2);
    assert_eq!(read.node("AB001").map(|node| (node.shape, &*node.text)), Some((Shape::Flag, "c")));
    let read = chart("flowchart LR\nAB000(Start)-->AB001[a] -->AB002[b]");
    assert_eq!(read.node("AB001").map(|node| &*node.text), Some("a] -->AB002[b"));
}

/// The real flowcharts, if the shared data exist.
fn real() -> Option<Vec<(String, String)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/benchmarks/flowbench/data/data/workflow_final.jsonl");
    let Ok(lines) = std::fs::read_to_string(&path) else {
        println!("skipped: no {}", path.display());
        return None;
    };
    let scenarios = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap_or_default());
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    Some(scenarios.map(|it| (text(&it["scenario"]), text(&it["workflow"]["flowchart"]))).collect())
}

#[test]
fn the_51_real_flowcharts_have_the_nodes_and_edges_that_were_counted() {
    let Some(real) = real() else { return };
    let mut counts = [0; 7];
    for (name, text) in &real {
        let chart = parse(text).unwrap_or_else(|error| unreachable!("{name}: {error}"));
        let unlabelled = chart.edges().filter(|(_, label, _)| label.is_none()).count();
        let flags = chart.nodes().filter(|node| node.shape == Shape::Flag).count();
        let found = [
            1,
            chart.nodes().count(),
            chart.edges().count(),
            unlabelled,
            chart.terminals().count(),
            flags,
            usize::from(chart.notes.is_some()),
        ];
        for (sum, new) in counts.iter_mut().zip(found) {
            *sum += new;
        }
        assert!(chart.depths().iter().all(Option::is_some), "{name}: not everything can be reached");
        assert_eq!(chart.nodes().filter(|node| node.shape == Shape::Start).count(), 1);
    }
    assert_eq!(counts, [51, 470, 509, 17, 179, 109, 10]);
}

fn visits<'v>(steps: &[(&'v str, &'v str)]) -> Vec<Visit<'v>> {
    steps.iter().map(|(intent, node)| Visit { last: None, intent: Some(intent), current: Some(node) }).collect()
}

fn departures(steps: &[(&str, &str)]) -> Vec<(usize, Departure)> {
    let shop = chart(SHOP);
    path_check(&[&shop], &visits(steps)).into_iter().map(|found| (found.visit, found.departure)).collect()
}

#[test]
fn the_way_along_the_edges_is_no_departure() {
    let way = [
        ("Buy a bicycle AND UNK", "AB001"),
        ("Buy a bicycle", "AB001"),
        ("found", "AB003"),
        ("UNK", "UNK"),
        ("Another  one", "AB001"),
        ("None found OR Found", "AB002"),
        ("Buy a bicycle", "AB001"),
        ("Found", "AB003"),
        ("whatever, the edge has no label", "AB004"),
    ];
    assert_eq!(departures(&way), []);
}

#[test]
fn what_was_left_out_is_named() {
    let skipped = Departure::MissingSteps(vec!["AB001".into()]);
    assert_eq!(departures(&[("Buy", "AB002")]), [(0, skipped)]);
}

#[test]
fn going_where_no_way_leads_is_the_wrong_order() {
    let way = [("Buy a bicycle", "AB001"), ("Found", "AB003"), ("order", "AB004"), ("back", "AB003")];
    assert_eq!(departures(&way), [(3, Departure::WrongOrder)]);
}

#[test]
fn an_edge_under_another_intent_is_the_wrong_transition() {
    let way = [("Buy a bicycle", "AB001"), ("None found", "AB003"), ("Another one", "AB002")];
    let misread = |node: &str| Departure::WrongTransition(Some(node.into()));
    assert_eq!(departures(&way), [(1, misread("AB002")), (2, misread("AB001"))]);
    assert_eq!(departures(&[("hello", "AB001")]), [(0, Departure::WrongTransition(None))]);
}

#[test]
fn a_node_of_no_flowchart_is_said_to_be_unknown_and_the_place_is_kept() {
    let way = [("Buy a bicycle", "AB001"), ("Found", "XY007"), ("Found", "AB003")];
    assert_eq!(departures(&way), [(1, Departure::UnknownNode)]);
    let categories = [
        Departure::MissingSteps(vec![]),
        Departure::WrongOrder,
        Departure::WrongTransition(None),
        Departure::UnknownNode,
    ];
    assert_eq!(categories.map(|departure| departure.category()), [1, 2, 3, 3]);
}

#[test]
fn a_scenario_that_was_left_for_another_goes_on_where_it_was() {
    let shop = chart(SHOP);
    let other = chart("flowchart LR\nCD000(Start)--Rent a tent-->CD001[Ask for the size]");
    let way = visits(&[("Buy a bicycle", "AB001"), ("Rent a tent", "CD001"), ("Found", "AB003")]);
    assert_eq!(path_check(&[&shop, &other], &way), []);
}

#[test]
fn an_intent_may_have_been_cut_at_its_comma() {
    let tea = chart("flowchart TD\nAB000(Start)--Tea, please-->AB001[a]\nAB000--Coffee-->AB002[b]");
    assert_eq!(path_check(&[&tea], &visits(&[("Tea", "AB001")])), []);
    assert_eq!(path_check(&[&tea], &visits(&[("please", "AB001")])).len(), 1);
}

#[test]
fn a_conversation_is_laid_over_the_flowcharts_that_it_touched() {
    let shop = chart(SHOP);
    let other = chart("flowchart LR\nCD000(Start)--Rent a tent-->CD001[Ask for the size]");
    let drawn = lay_over(&[&shop, &other], &visits(&[("Rent a tent", "CD001"), ("UNK", "UNK")]));
    assert_eq!(drawn.len(), 1);
    assert!(
        drawn[0].svg.contains("CD001")
            && drawn[0].svg.contains("visited")
            && !drawn[0].svg.contains("class=\"departure\"")
    );
    let drawn = lay_over(&[&shop, &other], &visits(&[("Rent a tent AND Found", "CD001 AND AB003"), ("x", "AB004")]));
    assert_eq!(drawn.len(), 2);
    assert_eq!(drawn[1].words, "Way: CD001.");
    assert_eq!(
        drawn[0].words,
        "Way: AB003 → AB004. Agent turn 1 goes to AB003: steps are missing. AB000 leads to AB001 (Buy a bicycle)"
    );
    assert!(drawn[0].svg.contains("class=\"departure\"") && !drawn[1].svg.contains("class=\"departure\""));
    assert!(lay_over(&[&shop], &[]).is_empty() && lay_over(&[], &visits(&[("x", "AB001")])).is_empty());
}

fn overlay(steps: &[(&str, &str)]) -> Overlay {
    let shop = chart(SHOP);
    let departure = path_check(&[&shop], &visits(steps)).into_iter().next();
    Overlay { visited: steps.iter().map(|(_, node)| (*node).into()).collect(), departure }
}

#[test]
fn a_drawing_shows_the_way_and_where_it_left() {
    let way = overlay(&[("Buy a bicycle", "AB001"), ("Found", "AB004")]);
    insta::assert_snapshot!("drawn_shop", draw(&chart(SHOP), &way));
}

#[test]
fn a_drawing_says_in_words_when_the_departure_ends_nowhere() {
    let drawn = draw(&chart(SHOP), &overlay(&[("Buy a bicycle", "<b>")]));
    assert!(drawn.contains("Agent turn 1 goes to &lt;b&gt;: there is no such node."));
    assert!(!drawn.contains("<b>"));
}

#[test]
fn nodes_of_a_drawing_never_overlap() {
    let Some(real) = real() else { return };
    for (name, text) in real {
        let chart = chart(&text);
        let layout = super::layout::layout(&chart);
        assert_eq!(layout.places.len(), chart.nodes().count());
        for (number, place) in layout.places.iter().enumerate() {
            assert!(place.x + super::layout::NODE_WIDTH <= layout.width && place.y + place.height <= layout.height);
            for other in &layout.places[..number] {
                let apart = place.x.abs_diff(other.x) >= super::layout::NODE_WIDTH
                    || place.y + place.height <= other.y
                    || other.y + other.height <= place.y;
                assert!(apart, "{name}");
            }
        }
        assert_eq!(draw(&chart, &Overlay::default()), draw(&chart, &Overlay::default()));
    }
}

/// Text composed of the syntax elements.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "：",
        "flowchart TD",
        "flowchart",
        "\n",
        " ",
        "AB000",
        "(Start)",
        "AB001",
        "--",
        "-->",
        "--yes-->",
        "[",
        "]",
        ">",
        "\"",
        "&",
        "words",
        "é",
        "\u{0}",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in prop_oneof![any::<String>(), pieces()]) {
        for text in [text.clone(), format!("flowchart TD\nAB000(Start)-->AB001[a]\n{text}")] {
            if let Ok(chart) = parse(&text) {
                draw(&chart, &Overlay::default());
            }
        }
    }

    #[test]
    fn no_way_makes_the_comparison_panic_and_every_finding_is_of_a_visit(
        steps in prop::collection::vec((any::<String>(), prop_oneof![any::<String>(), pieces()]), 0..12)
    ) {
        let shop = chart(SHOP);
        let visits: Vec<Visit<'_>> = steps
            .iter()
            .map(|(intent, node)| Visit { last: None, intent: Some(intent), current: Some(node) })
            .collect();
        let findings = path_check(&[&shop], &visits);
        let places: BTreeSet<usize> = findings.iter().map(|found| found.visit).collect();
        prop_assert!(places.iter().all(|place| *place < visits.len()));
        lay_over(&[&shop], &visits);
        for departure in findings {
            draw(&shop, &Overlay { visited: BTreeSet::from(["AB001".into()]), departure: Some(departure) });
        }
    }
}
