//! Steering of a sweep on its page: forms for whoever may, the page that asks before a sweep is cancelled, and where the forms go.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use regatta_catalog::Sweep;
use regatta_proto::{EndpointName, Money, SweepState};
use serde::Deserialize;

use crate::forms::FormLimit;
use crate::page::{self, Page, Tab};
use crate::problem::Problem;
use crate::source::Run;
use crate::steering::{Asker, Order, Steering};
use crate::{Viewer, address};

/// Longest body of the form, in bytes: a few short fields.
const FORM_BYTES_MAX: usize = 4 << 10;
/// The form of an order.
pub(crate) const FORM: FormLimit = FormLimit { bytes_max: FORM_BYTES_MAX, advice: "send the fields of the page alone" };

/// The fields of the form.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Given {
    order: String,
    budget: String,
    endpoint: String,
    calls: String,
}

fn steering(viewer: &Viewer) -> Result<&dyn Steering, Problem> {
    viewer.steering.as_deref().ok_or_else(|| {
        Problem::missing(
            "sweeps are not steered here; a run on this machine ends with Ctrl-C, and goes on with `regatta resume`",
        )
    })
}

/// Does what the form says.
pub(crate) async fn steer(
    State(viewer): State<Viewer>,
    asker: Asker,
    Path(name): Path<String>,
    given: Result<Form<Given>, FormRejection>,
) -> Result<Response, Problem> {
    let steering = steering(&viewer)?;
    let Form(given) = given.map_err(|error| Problem::wrong(format!("invalid form: {}", error.body_text())))?;
    let (run, order) = (viewer.source.run(&name).await?, given.order()?);
    steering.steer(&asker, &run.row.id, &order).await?;
    Ok(Redirect::to(&address::run(&run.name)).into_response())
}

/// Asks once more before a sweep is cancelled.
pub(crate) async fn confirm(
    State(viewer): State<Viewer>,
    asker: Asker,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let steering = steering(&viewer)?;
    let run = viewer.source.run(&name).await?;
    if !steering.allows(&asker, run.row.owner.as_ref()).await {
        return Err(Problem::refused("a sweep is cancelled by its owner or an admin, with a token that may submit"));
    }
    let body = html! {
        section.narrow {
            h2 { "Cancel this sweep?" }
            p { "What is queued is dropped. Sessions that have begun are finished, and what was measured is kept. It can be resumed." }
            form method="post" action=(action(&run)) {
                input type="hidden" name="order" value="cancel";
                button type="submit" { "Cancel the sweep" }
            }
            p { a href=(address::run(&run.name)) { "Let it run" } }
        }
    };
    let has_token = viewer.is_asked_for_token;
    Ok(page::respond(Page { title: "Cancel", run: Some((&run, Tab::Session)), has_token, ..Page::bare(body) }))
}

/// Address of the forms.
fn action(run: &Run) -> String {
    format!("{}/steer", address::run(&run.name))
}

/// The forms that `asker` may send; nothing for readers, and none for sweeps that are complete.
pub(crate) async fn section(viewer: &Viewer, asker: &Asker, run: &Run, sweep: &Sweep) -> Markup {
    let Some(steering) = viewer.steering.as_deref() else { return html! {} };
    if !steering.allows(asker, run.row.owner.as_ref()).await {
        return html! {};
    }
    let can_be_steered = match run.row.state {
        SweepState::Running | SweepState::StoppedByBudget | SweepState::Incomplete | SweepState::Cancelled => true,
        SweepState::Tabulating | SweepState::Complete => false,
    };
    if !can_be_steered {
        // The part stays, so that a page that is open loses the forms of before.
        return html! { section #steering data-part {} };
    }
    html! {
        section #steering data-part {
            h2 { "Steering" }
            @if run.row.state != SweepState::Running {
                p.hint { "What was not measured runs again." }
                (resume(run, "Resume"))
            } @else {
                @if run.row.is_paused {
                    p.hint { "Nothing more of it begins. Sessions that had begun are finished." }
                    (resume(run, "Continue"))
                } @else {
                    form.steer method="post" action=(action(run)) {
                        input type="hidden" name="order" value="pause";
                        button type="submit" { "Pause" }
                    }
                    @if run.row.budget.is_some() { (resume(run, "Raise the budget")) }
                }
                (throttle(run, sweep))
                p { a href={ (address::run(&run.name)) "/cancel" } { "Cancel it …" } }
            }
        }
    }
}

/// The form that has a sweep go on. Where it runs already, a budget is all that there is to say.
fn resume(run: &Run, label: &str) -> Markup {
    let runs = run.row.state == SweepState::Running && !run.row.is_paused;
    html! {
        form.steer method="post" action=(action(run)) {
            input type="hidden" name="order" value="resume";
            @if let Some(budget) = run.row.budget {
                label {
                    "Budget in dollars, now " (budget)
                    input type="number" name="budget" min=(budget.dollars()) step="any" required[runs];
                }
            }
            button type="submit" { (label) }
        }
    }
}

fn throttle(run: &Run, sweep: &Sweep) -> Markup {
    let endpoints = &sweep.lock.endpoints;
    let most = endpoints.values().map(|endpoint| endpoint.limits.concurrency).max().unwrap_or(1);
    html! {
        form.steer method="post" action=(action(run)) {
            input type="hidden" name="order" value="throttle";
            label {
                "Endpoint"
                select name="endpoint" {
                    @for (name, endpoint) in endpoints {
                        @let of_spec = endpoint.limits.concurrency;
                        @let now = run.row.concurrency.get(name).copied().unwrap_or(of_spec);
                        option value=(name) { (name) ": " (now) " of " (of_spec) }
                    }
                }
            }
            label {
                "Calls at once, empty for those of the spec"
                input type="number" name="calls" min="1" max=(most) step="1";
            }
            button type="submit" { "Set" }
        }
    }
}

impl Given {
    fn order(&self) -> Result<Order, Problem> {
        match self.order.as_str() {
            "pause" => Ok(Order::Pause),
            "resume" => Ok(Order::Resume { budget: self.budget()? }),
            "throttle" => {
                let endpoint = self.endpoint.parse::<EndpointName>();
                let endpoint = endpoint.map_err(|error| Problem::wrong(format!("endpoint: {error}")))?;
                Ok(Order::Throttle { endpoint, calls: self.calls()? })
            }
            "cancel" => Ok(Order::Cancel),
            given => Err(Problem::wrong(format!("unknown order {given:?} (known: pause, resume, throttle, cancel)"))),
        }
    }

    fn budget(&self) -> Result<Option<Money>, Problem> {
        let given = self.budget.trim();
        if given.is_empty() {
            return Ok(None);
        }
        let dollars = given.parse::<f64>().ok();
        match dollars.and_then(Money::from_dollars).filter(|budget| *budget > Money::ZERO) {
            Some(budget) => Ok(Some(budget)),
            None => Err(Problem::wrong(format!("a budget is a number of dollars, as 80, and {given:?} is none"))),
        }
    }

    fn calls(&self) -> Result<Option<u32>, Problem> {
        let given = self.calls.trim();
        match given.parse::<u32>() {
            Ok(calls) => Ok(Some(calls)),
            Err(_) if given.is_empty() => Ok(None),
            Err(_) => Err(Problem::wrong(format!("calls at once are a whole number, as 4, and {given:?} is none"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(given: Given) -> Result<Order, String> {
        given.order().map_err(|problem| problem.sentence().to_owned())
    }

    fn given(order: &str) -> Given {
        Given { order: order.to_owned(), ..Given::default() }
    }

    #[test]
    fn an_order_is_one_of_four() {
        assert_eq!(order(given("pause")).unwrap(), Order::Pause);
        assert_eq!(order(given("cancel")).unwrap(), Order::Cancel);
        let error = order(given("delete")).unwrap_err();
        assert_eq!(error, "unknown order \"delete\" (known: pause, resume, throttle, cancel)");
    }

    #[test]
    fn a_budget_is_an_amount_or_left_as_it_is() {
        let resumed = |budget: &str| order(Given { budget: budget.to_owned(), ..given("resume") });
        assert_eq!(resumed(" ").unwrap(), Order::Resume { budget: None });
        assert_eq!(resumed("80").unwrap(), Order::Resume { budget: Money::from_dollars(80.0) });
        for wrong in ["0", "-3", "+inf", "NaN", "much", "1,5"] {
            assert!(resumed(wrong).unwrap_err().contains("a number of dollars"), "{wrong}");
        }
    }

    #[test]
    fn calls_at_once_are_a_number_or_those_of_the_spec() {
        let throttled = |endpoint: &str, calls: &str| {
            order(Given { endpoint: endpoint.to_owned(), calls: calls.to_owned(), ..given("throttle") })
        };
        let endpoint = "sim".parse().unwrap();
        assert_eq!(throttled("sim", "4").unwrap(), Order::Throttle { endpoint, calls: Some(4) });
        assert!(matches!(throttled("sim", "").unwrap(), Order::Throttle { calls: None, .. }));
        assert!(throttled("sim", "many").unwrap_err().contains("a whole number"));
        assert!(throttled("../sim", "4").is_err());
    }
}
