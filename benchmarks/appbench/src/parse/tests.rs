//! Readings of texts as models write them.

use super::paper::{Argument, collapse, normal};
use super::*;

fn pairs(text: &str) -> Vec<(&str, String)> {
    lines(text).into_iter().map(|line| (line.app, line.call)).collect()
}

fn pair(text: &str) -> Option<(String, String)> {
    pairs(text).pop().map(|(app, call)| (app.to_owned(), call))
}

fn found(app: &str, call: &str) -> Option<(String, String)> {
    Some((app.to_owned(), call.to_owned()))
}

#[test]
fn the_demanded_form_ends_at_the_last_bracket() {
    assert_eq!(pair("Trains: [a = f(#x='1')] and more"), found("Trains", "a = f(#x='1')"));
    assert_eq!(pair("Trains:\t[a = f(#x=[1])] ]x"), found("Trains", "a = f(#x=1)"));
    assert_eq!(pair("Züge２:[f]"), found("Züge２", "f"));
}

#[test]
fn anything_with_a_colon_and_brackets_is_a_call_of_what_stands_before_the_colon() {
    assert_eq!(pair("  Trains: [f()]"), found("Trains", "f()"));
    assert_eq!(pair("- Trains: [f()]"), found("- Trains", "f()"));
    assert_eq!(pair("My plan: first [search] now"), found("My plan", "first search now"));
    assert_eq!(pair("[f(#time='13:30')]"), found("[f(#time='13", "30')"));
    assert_eq!(pair(": [f()]"), found("", "f()"));
    assert_eq!(pair("]x[: y"), found("]x[", "y"), "wherever the brackets are");
}

#[test]
fn lines_without_a_colon_or_brackets_yield_nothing() {
    for text in ["", "f(x)", "Trains f [x]", "Trains: f(x)", "Trains： [f()]", "Trains: [f(", "```"] {
        assert_eq!(pair(text), None, "{text}");
    }
}

#[test]
fn only_a_line_feed_ends_a_line() {
    assert_eq!(pairs("A: [f()]\r\nB: [g()]\u{2028}C: [h()]").len(), 2);
    assert_eq!(pair("A: [f()]\r"), found("A", "f()"));
    assert_eq!(pair("\u{1c}A\u{1f}: [\u{85}f() ]"), found("A", "f()"), "these are white space to Python");
}

#[test]
fn the_apps_of_a_plan_are_those_that_are_named() {
    assert_eq!(apps(&lines("A: [f()]\n: [g()]\nB: [h()]")), ["A", "B"]);
}

fn a(text: &str) -> Option<(String, Vec<(String, String)>)> {
    let (name, arguments) = evaluation::call(text)?;
    Some((name, arguments.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect()))
}

fn a_arguments(arguments: &str) -> Vec<(String, String)> {
    a(&format!("r = f({arguments})")).unwrap().1
}

fn owned<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

#[test]
fn evaluator_a_needs_a_word_an_equals_sign_and_a_plain_word_before_the_parenthesis() {
    assert_eq!(evaluation::name("a, b = FindBus(x)").as_deref(), Some("findbus"));
    assert_eq!(evaluation::name("x == y = z g(), b=g()").as_deref(), Some("g"));
    for text in ["f(x)", "= f(x)", "a = App.f(x)", "a = f (x)", "a = f(x", "a = (x)", "", "a ="] {
        assert_eq!(evaluation::name(text), None, "{text}");
    }
}

#[test]
fn names_are_cut_between_their_first_underscores() {
    let name = |word: &str| evaluation::name(&format!("r = {word}()")).unwrap();
    assert_eq!(
        ["Trains_findtrains", "book_stylist_appointment", "x_", "_x", "plain"].map(name),
        ["findtrains", "stylist", "", "x", "plain"]
    );
}

#[test]
fn evaluator_a_splits_arguments_at_a_comma_and_a_space_alone() {
    assert_eq!(a_arguments("#A='x' , B= y "), owned([("#a", "'x'"), ("#b", "y")]));
    assert_eq!(a_arguments("#a='x',#b='y'"), [], "two equals signs lose the piece");
    assert_eq!(a_arguments("#a='x)y'"), owned([("#a", "'x")]), "the first parenthesis ends the list");
    assert_eq!(a_arguments(""), []);
}

#[test]
fn a_piece_without_an_equals_sign_empties_the_argument_before_it() {
    assert_eq!(a_arguments("#city='San Francisco, CA', #b='1'"), owned([("#city", ""), ("#b", "'1'")]));
    assert_eq!(a_arguments("'now', #a='1'"), owned([("#a", "'1'")]), "there is none before it");
    assert_eq!(a_arguments("#a='1', #b=c=d, x"), owned([("#a", "")]), "a piece that was lost is none");
}

#[test]
fn a_later_value_replaces_an_earlier_one_in_its_place() {
    assert_eq!(a_arguments("#a=1, #b=2, A=3"), owned([("#a", "3"), ("#b", "2")]));
}

fn b(text: &str) -> Option<(String, Vec<(String, String)>)> {
    let (name, arguments) = analysis::call(text)?;
    Some((name, arguments.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect()))
}

fn b_arguments(arguments: &str) -> Vec<(String, String)> {
    b(&format!("f({arguments})")).unwrap().1
}

#[test]
fn evaluator_b_needs_a_word_before_a_parenthesis_and_keeps_its_case() {
    assert_eq!(b("App.FindBus(x)").unwrap().0, "FindBus");
    assert_eq!(b("(x) Trains_Find(y) (").unwrap().0, "Find");
    assert_eq!(b("f(\ng(x)").unwrap().0, "g", "a call ends with its line");
    for text in ["f", "f(", "f (x)", ")f("] {
        assert_eq!(b(text), None, "{text}");
    }
}

#[test]
fn evaluator_b_takes_any_quote_for_the_end_of_a_value() {
    assert_eq!(b_arguments("#a='Mcdonald's', b = \"x'"), owned([("a", "Mcdonald"), ("b", "x")]));
    assert_eq!(b_arguments("#a='', #b='y'"), owned([("a", "', #b=")]), "an empty value swallows what follows");
    assert_eq!(b_arguments("#a='x"), [], "a value that does not end");
}

#[test]
fn evaluator_b_cuts_values_without_quotes_at_the_end_of_a_word() {
    assert_eq!(b_arguments("#a=4.5, b=c"), owned([("a", "4"), ("b", "c")]));
    assert_eq!(b_arguments("a=[1, 2], b=[3]"), owned([("a", "[1, 2], b=[3]")]), "lists go to the last bracket");
    assert_eq!(b_arguments("a=[1, b=2"), owned([("b", "2")]));
    assert_eq!(b_arguments("a=b=c"), owned([("a", "b")]));
}

fn paper_call(text: &str) -> Option<paper::Call> {
    paper::call(text, |name| ["findbus", "get_ride"].contains(&name))
}

#[test]
fn the_papers_reader_finds_names_behind_apps() {
    let name = |text: &str| paper_call(text).unwrap().name;
    assert_eq!(name("a = Buses.FindBus(x)"), "findbus");
    assert_eq!(name("Buses_findbus ()"), "findbus");
    assert_eq!(name("get_ride()"), "get_ride", "a known name is not cut");
    assert_eq!(name("x_y()"), "x_y", "what would be no name either is not cut");
    assert_eq!(name(r"a = get\_ride()"), "get_ride");
}

#[test]
fn the_papers_reader_refuses_what_is_no_call() {
    for text in ["", "findbus", "findbus(", "a b(x)", "= (x)", ")f(x)", "a = b = f(x)"] {
        assert_eq!(paper_call(text), None, "{text}");
    }
}

#[test]
fn returned_names_stand_before_the_first_equals_sign() {
    assert_eq!(paper_call("a, , b c = f()").unwrap().returned, ["a", "b c"]);
    assert!(paper_call("f(#a=b)").unwrap().returned.is_empty());
}

#[test]
fn commas_within_values_do_not_end_them_for_the_paper() {
    let literal = |text: &str| Argument::Literal(text.to_owned());
    let call = paper_call("f(#city='San Francisco, CA',B=\"x),\", #c = #y, d=4.50, e='', z)").unwrap();
    let arguments: Vec<(&str, &Argument)> = call.arguments.iter().map(|(key, value)| (key.as_str(), value)).collect();
    assert_eq!(
        arguments,
        [
            ("b", &literal("x),")),
            ("c", &Argument::Name("y".to_owned())),
            ("city", &literal("San Francisco, CA")),
            ("d", &literal("4.50")),
            ("e", &literal("'', z")),
        ]
    );
}

#[test]
fn more_than_one_number_sign_is_dropped_but_begins_no_argument() {
    assert_eq!(paper_call("f(##a=1)").unwrap().arguments["a"], Argument::Literal("1".to_owned()));
    assert_eq!(paper_call("f(b=1, ##a=1)").unwrap().arguments["b"], Argument::Literal("1, ##a=1".to_owned()));
}

#[test]
fn the_last_of_several_values_counts() {
    assert_eq!(paper_call("f(a=1, A='2')").unwrap().arguments["a"], Argument::Literal("2".to_owned()));
}

#[test]
fn literals_are_compared_without_case_spaces_and_zeros_that_mean_nothing() {
    let cases = [
        ("  New \u{3000} York\u{1f}", "new york"),
        ("007.50", "7.5"),
        ("0.0", "0"),
        ("000", "0"),
        ("1.", "1."),
        (".5", ".5"),
        ("1.2.3", "1.2.3"),
        ("-01", "-01"),
        ("٣.0", "٣.0"),
    ];
    for (text, expected) in cases {
        assert_eq!(normal(text), expected);
    }
    assert_eq!(collapse(" A  b "), "A b", "collapsing keeps the case");
}
