//! Web pages about sweeps: a list with progress and cost, every item with all models side by side, every session with its conversation,
//! verdicts and expected answer, and the differences between two models or runs.
//!
//! Rendered on the server, from the same [`Ledger`](regatta_backends::Ledger) and [`Blobs`](regatta_backends::Blobs) as everything else, so
//! a run's directory and a deployment have the same pages. Nothing here writes to them but people's annotations, which go to a file of their own in a
//! run's directory, or to objects of their own beside the results of a deployment's sweep. What people order of a deployment's sweeps goes to whoever serves the pages
//! ([`Steering`]). The store counts and pages lists. A page is complete without script; with it, the page replaces in place the parts that change.
//!
//! A new page is a file in `pages`, a route here, and one among `ROUTES` of `tests/fuzzing/src/pages.rs`. Markup is made with `maud`, which
//! escapes every value; all output passes through `page`, which makes characters visible that would act on a reader's screen.

mod access;
mod address;
pub mod annotations;
mod assets;
mod authors;
pub mod conversation;
mod differences;
mod drawing;
mod drifts;
mod forecasts;
mod forms;
mod live;
mod numbers;
mod page;
mod pages;
mod problem;
mod progress;
mod remembered;
mod searching;
mod selection;
mod site;
mod source;
mod steering;
mod turns;

use std::num::NonZeroUsize;
use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::response::Redirect;
use axum::routing::{get, post};
use regatta_backends::{AttemptTimes, CellMean, ItemMean};
use regatta_catalog::DecidedSoFar;
use regatta_coordinator::Foretold;
use regatta_proto::{Clock, ItemIndex};
use tokio_util::sync::CancellationToken;

pub use self::access::{Access, TokenUse};
pub use self::authors::Authors;
pub use self::drifts::{DriftError, Drifts};
pub use self::site::{SiteError, write_site};
pub use self::source::{AnnotationUse, Directories, Run, Source, Store};
pub use self::steering::{Asker, Order, Refused, Steering};
use crate::annotations::stored::{OfSweep, ReadObjects};
use crate::live::Watching;
use crate::pages::money::Spending;
use crate::progress::Rates;
use crate::remembered::Remembered;
use crate::selection::Place;
use crate::source::{AnnotatedRun, AnnotationPlace};
use crate::turns::Turns;

/// Path prefix of all pages.
pub const ROOT: &str = "/ui";

/// Models whose means by item are remembered: two comparisons. Each has an entry for every item of a benchmark.
const ITEM_MEANS: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// State that all requests share.
#[derive(Clone)]
struct Viewer {
    source: Source,
    clock: Arc<dyn Clock>,
    rates: Arc<Rates>,
    orders: Arc<Remembered<Arc<[ItemIndex]>>>,
    selections: Arc<Remembered<Option<Arc<[Place]>>>>,
    means: Arc<Remembered<Vec<CellMean>>>,
    item_means: Arc<Remembered<Arc<[ItemMean]>>>,
    spending: Arc<Remembered<Arc<Spending>>>,
    sequences: Arc<Remembered<Option<Arc<DecidedSoFar>>>>,
    times: Arc<Remembered<Arc<[AttemptTimes]>>>,
    read_annotations: Arc<ReadObjects>,
    forecasts: Arc<Remembered<Option<Foretold>>>,
    watching: Watching,
    is_asked_for_token: bool,
    /// Steers sweeps for those who may; `None` where nobody does.
    steering: Option<Arc<dyn Steering>>,
    /// Compares the nights of schedules; `None` where nobody does.
    drifts: Option<Arc<dyn Drifts>>,
    /// Knows who annotates sweeps of a deployment; `None` where nobody does.
    authors: Option<Arc<dyn Authors>>,
}

impl Viewer {
    /// Gives a deployment's `run` its annotations, with `asker` as the author of further ones if they may. Where nobody knows who looks, there are none.
    async fn sign(&self, run: &mut Run, asker: &Asker) {
        let (Some(_), Some(authors)) = (self.source.deployment(), &self.authors) else { return };
        let (blobs, read) = (run.store.catalog.blobs().clone(), Arc::clone(&self.read_annotations));
        let place = AnnotationPlace::Sweep(OfSweep::new(blobs, run.row.id.clone(), read));
        run.annotated = Some(AnnotatedRun { place, by: authors.name(asker).await });
    }
}

/// The pages of `source` below [`ROOT`], for the people that `access` admits. Streams of events end when `stop` fires.
pub fn router(source: Source, access: Access, clock: Arc<dyn Clock>, stop: CancellationToken) -> Router {
    let viewer = Viewer {
        source,
        clock,
        rates: Arc::default(),
        orders: Arc::default(),
        selections: Arc::default(),
        means: Arc::default(),
        spending: Arc::default(),
        sequences: Arc::default(),
        times: Arc::default(),
        read_annotations: Arc::default(),
        forecasts: Arc::new(Remembered::of_at_most(forecasts::REMEMBERED)),
        item_means: Arc::new(Remembered::of_at_most(ITEM_MEANS)),
        watching: Watching::new(stop),
        is_asked_for_token: access.is_asked_for_token(),
        steering: access.steering(),
        drifts: access.drifts(),
        authors: access.authors(),
    };
    let access = Arc::new(access);
    let turns = Turns::default();
    let pages = Router::new()
        .route("/ui/", get(pages::runs::show))
        .route("/ui/money", get(pages::money::of_all))
        .route("/ui/endpoints", get(pages::all_endpoints::show))
        .route("/ui/schedules", get(pages::schedules::show))
        .route("/ui/schedules/{schedule}/drift", get(pages::files::drift))
        .route("/ui/runs/{run}", get(pages::run::show))
        .route("/ui/runs/{run}/leaderboard", get(pages::leaderboard::show))
        .route("/ui/runs/{run}/items", get(pages::items::show))
        .route("/ui/runs/{run}/compare", get(pages::compare::show))
        .route("/ui/runs/{run}/endpoints", get(pages::endpoints::show))
        .route("/ui/runs/{run}/money", get(pages::money::of_run))
        .route("/ui/runs/{run}/report", get(pages::files::report))
        .route("/ui/runs/{run}/cancel", get(pages::steering::confirm))
        .route("/ui/runs/{run}/sessions/{cell}/{item}", get(pages::session::show))
        .route("/ui/runs/{run}/sessions/{cell}/{item}/transcript", get(pages::files::transcript))
        .route("/ui/runs/{run}/sessions/{cell}/{item}/pictures/{number}", get(pages::files::picture))
        .layer(middleware::from_fn_with_state(turns.clone(), turns::take));
    // Streams hold nothing but their connection, and have a limit of their own.
    let streams =
        Router::new().route("/ui/events", get(live::of_all)).route("/ui/runs/{run}/events", get(live::of_run));
    // A form may come slowly, and holds no turn until it is there. Then all annotations of the run are read for it, as for a page.
    let annotate = post(pages::annotate::annotate)
        .layer(middleware::from_fn_with_state(turns, turns::take))
        .layer(middleware::from_fn_with_state(pages::annotate::FORM, forms::read))
        .layer(middleware::from_fn(access::of_a_page));
    let steer = post(pages::steering::steer)
        .layer(middleware::from_fn_with_state(pages::steering::FORM, forms::read))
        .layer(middleware::from_fn(access::of_a_page));
    let steering = Router::new().route("/ui/runs/{run}/steer", steer);
    let annotating = Router::new().route("/ui/runs/{run}/sessions/{cell}/{item}/annotate", annotate);
    let pages = pages
        .merge(annotating)
        .merge(steering)
        .merge(streams)
        .route("/ui/logout", get(access::logout))
        .fallback(problem::no_page)
        .with_state(viewer)
        .layer(middleware::from_fn_with_state(access.clone(), access::admit));
    Router::new()
        .route("/", get(|| async { Redirect::to("/ui/") }))
        .route("/ui", get(|| async { Redirect::to("/ui/") }))
        .merge(access::door(access))
        .merge(assets::routes())
        .merge(pages)
}
