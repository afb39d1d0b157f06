//! Tables 2, 3 and 4: teams against each other. Casts have a table of their own.

use regatta_benchmarks::{Measured, PaperColumn, PaperEntry, PaperTable, Unit};
use regatta_proto::Evaluator;

use super::cells::{Cell, ours, row_keys};
use super::metrics::name;
use super::published::{share, team};
use crate::structured::CAUSES;

const JUDGED_OTHERWISE: &str =
    "Published are the paper's numbers, which a judge made; ours come from requests and answers alone.";
const EIGHT_SCRIPTS: &str =
    "The repository has a script of its own for each framework, and the paper does not say which one made its numbers.";
const OVER_A_HUNDRED: &str = "Success is the share of right sessions. The printed accuracy is what the official script prints: right ones divided by 100, however many \
     items there are, the last item being right unless it is wrong; of an incomplete run there is none.";
const MULTI_LABEL: &str = "Shares of the failed sessions of all trials. A session may be charged to several agents, so that a row may add up to more than 100 % (published: \
     113, 112, 133 and 114), and to none.";
const BY_RULE: &str = "Ours are found by rule, published ones apparently by hand; published numbers of failed sessions are inferred from the percentages.";
const NO_JUDGES: &str =
    "All calls of models in a session; judges are not in it. Where a price is unknown there is no cost.";
const ANSWERED: &str = "Means over the sessions with a score that were answered: without those that a filter or the length of the context \
                        ended, or that asked nothing. The paper averages over queries and tells of none of these.";

/// Table 2: success.
pub(super) fn table_2(cells: &[Cell<'_>], evaluator: Evaluator) -> PaperTable {
    let is_official = matches!(evaluator, Evaluator::Official | Evaluator::OfficialFixed | Evaluator::OfficialOf(_));
    let mut columns = vec![PaperColumn::percent("success")];
    if evaluator == Evaluator::Structured {
        columns.push(PaperColumn::percent("success, lenient"));
    }
    if is_official {
        columns.push(PaperColumn::percent("printed accuracy"));
    }
    let rows = without_cast(cells).map(|cell| {
        let success = cell.result.metric(name::SUCCESS);
        let published = team(cell).map(|team| team.success);
        // Of a script's numbers it is the printed one that the paper has.
        let mut entries = vec![PaperEntry { ours: success, published: published.filter(|_| !is_official) }];
        if evaluator == Evaluator::Structured {
            entries.push(ours(cell.result.metric(name::LENIENT)));
        }
        if is_official {
            entries.push(PaperEntry { ours: cell.printed(), published });
        }
        cell.row(entries)
    });
    let notes: &[&str] = match evaluator {
        Evaluator::Structured | Evaluator::Exec | Evaluator::Declared => &[JUDGED_OTHERWISE],
        Evaluator::Official | Evaluator::OfficialFixed | Evaluator::OfficialOf(_) => &[EIGHT_SCRIPTS, OVER_A_HUNDRED],
        Evaluator::Paper => &[EIGHT_SCRIPTS],
    };
    PaperTable {
        name: "table-2-success".to_owned(),
        title: "Table 2: success rate".to_owned(),
        keys: row_keys(),
        columns,
        rows: rows.collect(),
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        is_figure: false,
    }
}

/// Table 3: what failed sessions failed of.
pub(super) fn table_3(cells: &[Cell<'_>]) -> PaperTable {
    let mut columns = vec![PaperColumn { label: "failed sessions".to_owned(), unit: Unit::Plain, decimals: 0 }];
    columns.extend(CAUSES.map(|cause| PaperColumn::percent(cause.replace('_', " "))));
    columns.push(PaperColumn::percent("none"));
    let rows = without_cast(cells).map(|cell| {
        let published = team(cell);
        let mut entries = vec![PaperEntry { ours: failed(cell), published: published.map(|team| team.failed) }];
        entries.extend(CAUSES.iter().enumerate().map(|(at, cause)| PaperEntry {
            ours: cell.result.metric(&format!("{}{cause}", name::FAIL)),
            published: published.and_then(|team| *team.causes.get(at)?).map(share),
        }));
        entries.push(ours(cell.result.metric(name::FAIL_NONE)));
        cell.row(entries)
    });
    PaperTable {
        name: "table-3-causes".to_owned(),
        title: "Table 3: causes of failures".to_owned(),
        keys: row_keys(),
        columns,
        rows: rows.collect(),
        notes: vec![MULTI_LABEL.to_owned(), BY_RULE.to_owned()],
        is_figure: false,
    }
}

/// Number of failed sessions, in all trials.
fn failed(cell: &Cell<'_>) -> Measured {
    let aggregate = &cell.result.all_trials.aggregate;
    let number = |name: &str| aggregate.get(name).and_then(serde_json::Value::as_f64);
    let failed = number("items").zip(number("passes")).map(|(items, passes)| items - passes);
    Measured { value: failed, ..Measured::default() }
}

/// Table 4: what a session costs, and what it uses.
pub(super) fn table_4(cells: &[Cell<'_>]) -> PaperTable {
    let plain = |label: &str, decimals| PaperColumn { label: label.to_owned(), unit: Unit::Plain, decimals };
    let rows = cells.iter().map(|cell| {
        let spending = &cell.result.spending;
        let used = [spending.calls, spending.tokens, spending.seconds]
            .map(|value| ours(value.map_or_else(Measured::default, |value| cell.known(value))));
        let cost = PaperEntry { ours: spending.cost_usd, published: team(cell).map(|team| team.cost_usd) };
        let keys = vec![cell.result.model.to_string(), cell.team(), cell.data(), cell.cast()];
        cell.row_under(keys, std::iter::once(cost).chain(used).collect())
    });
    PaperTable {
        name: "table-4-cost".to_owned(),
        title: "Table 4: cost of a query".to_owned(),
        keys: super::cells::keys(&["model", "team", "data", "cast"]),
        columns: vec![
            PaperColumn { label: "cost".to_owned(), unit: Unit::Money, decimals: 4 },
            plain("calls", 1),
            plain("tokens", 0),
            plain("seconds", 1),
        ],
        rows: rows.collect(),
        notes: vec![NO_JUDGES.to_owned(), ANSWERED.to_owned()],
        is_figure: false,
    }
}

fn without_cast<'c, 'a>(cells: &'c [Cell<'a>]) -> impl Iterator<Item = &'c Cell<'a>> {
    cells.iter().filter(|cell| cell.mode.cast.is_none())
}
