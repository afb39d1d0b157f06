struct Since(std::sync::OnceLock<tokio::time::Instant>);
impl tracing_subscriber::fmt::time::FormatTime for Since {
    fn format_time(&self, w: &mut tracing_subscriber::fmt::format::Writer<'_>) -> std::fmt::Result {
        let since = self.0.get_or_init(tokio::time::Instant::now);
        write!(w, "{:>8} ms", since.elapsed().as_millis())
    }
}
#[test]
fn one() {
    let Ok(seed) = std::env::var("SEED") else { return };
    let plan = if seed == "x" {
        use regatta_simulation::{Blow, Event, Plan};
        Plan {
            latency_ms: 0,
            seed: 55,
            events: vec![
                Event { at_ms: 6565, process: 1, blow: Blow::Kill { down_ms: 19536 } },
                Event { at_ms: 10257, process: 0, blow: Blow::CancelAndResume },
            ],
            ..Plan::calm(55)
        }
    } else {
        regatta_simulation::shrunk(&regatta_simulation::Plan::of_seed(seed.parse().unwrap()))
    };
    println!("{plan}");
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_timer(Since(std::sync::OnceLock::new()))
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_writer(std::io::stdout)
        .init();
    println!("{:?}", regatta_simulation::simulate(&plan));
}
