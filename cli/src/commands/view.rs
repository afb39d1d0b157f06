//! `regatta view`: pages of runs on this machine, for its own browser.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use regatta_proto::SystemClock;
use regatta_viewer::{Access, AnnotationUse, Directories, Source, router};

use crate::args::ViewArgs;
use crate::exit::BadConfiguration;
use crate::listener::{self, is_reached_by_others};
use crate::output;
use crate::run_directory::{self, RUNS};
use crate::signals::Leaving;
use crate::trust;

pub(crate) async fn run(args: ViewArgs) -> anyhow::Result<ExitCode> {
    // Whoever reaches the pages reads everything that was said: others than this machine's people have no way to say who they are.
    if is_reached_by_others(args.listen) {
        let problem = format!(
            "others would reach the pages on {}; listen on 127.0.0.1, and reach them from elsewhere through a tunnel, as `ssh -L`",
            args.listen
        );
        return Err(BadConfiguration(problem).into());
    }
    // A name of the system that cannot be one here is no reason to show nothing.
    let of_system = || std::env::var("USER").ok()?.parse().ok();
    let source = source(&args.directories, AnnotationUse::Shown { by: args.annotator.or_else(of_system) })?;
    let leaving = Leaving::on_signals()?;
    let listener = listener::listen(args.listen)?;
    let address = listener.local_addr().context("failed to read the address that is listened on")?;
    let routes = router(source, Access::loopback(), Arc::new(SystemClock), leaving.drain.clone());
    let serving = listener::serve(listener, routes, leaving.drain.clone());
    output::line(&format!("http://{address}/ui/"));
    output::note("open it in a browser; Ctrl-C ends it");
    serving.await.context("the server ended unexpectedly")?;
    Ok(ExitCode::SUCCESS)
}

/// The runs in `directories`, or those of the usual folder.
fn source(directories: &[PathBuf], annotations: AnnotationUse) -> anyhow::Result<Source> {
    let mut roots = Vec::new();
    for directory in directories {
        roots.push(run_directory::named(directory)?);
    }
    if roots.is_empty() {
        let usual = Path::new(RUNS);
        if !usual.is_dir() {
            let problem =
                format!("there is no folder {RUNS} here; name the directories of runs, or make one: regatta run SPEC");
            return Err(BadConfiguration(problem).into());
        }
        roots.push(usual.to_owned());
    }
    let directories = Directories::new(roots.clone(), trust::benchmarks_of, annotations);
    if directories.found().is_empty() {
        let names: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
        output::note(&format!("there is no run in {} yet; those that begin are shown", names.join(", ")));
    }
    Ok(Source::Directories(Arc::new(directories)))
}
