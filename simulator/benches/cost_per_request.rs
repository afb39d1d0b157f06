//! CPU time of the server for one request of realistic size, including the kernel: the client runs on another thread, and only the server's
//! thread is measured. Linux only. `cargo bench -p regatta-simulator`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement may fail loudly, and prints its result")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use regatta_benchmarks::{Benchmark, Step, Suite};
use regatta_proto::{ItemIndex, Latency, Simulation, Transcript};
use regatta_simulator::{Config, SimulatedEndpoint, SimulatedSuite};
use serde_json::json;

const REQUESTS: u32 = 20_000;
const WARM_UP: u32 = 2_000;

fn main() {
    let suite = miniature();
    let two_shot = "two-shot".parse().unwrap();
    // The longest prompt of the miniature, whose examples are no longer than the official ones.
    let body = (0..suite.items().len() as u32)
        .filter_map(|item| match suite.next(ItemIndex(item), &two_shot, &Transcript::default()) {
            Step::Ask(_, request) => {
                Some((item, json!({"model": "oracle", "messages": request.messages, "max_tokens": 1024}).to_string()))
            }
            _ => None,
        })
        .max_by_key(|(_, body)| body.len());
    let (item, body) = body.unwrap();
    let id = suite.items()[item as usize].id.to_string();
    for length in [body.len(), 8_000, 32_000] {
        let body = padded(&body, length);
        for (name, simulation) in [("flawless", Simulation::default()), ("faults and latency drawn", drawing())] {
            let simulated =
                SimulatedSuite { benchmark: "worfbench".parse().unwrap(), default_setting: None, suite: suite.clone() };
            let config = Config { simulation, ..Config::on_loopback(vec![simulated]) };
            let Cost { total_us, kernel_us } = measure(config, &id, &body);
            println!(
                "{name}, body of {} bytes: {total_us:.1} µs of CPU per request, {kernel_us:.0} of them in the kernel",
                body.len()
            );
        }
    }
}

/// Makes every random draw, with results that take no time.
fn drawing() -> Simulation {
    let latency = Latency { median_ms: 1e-9, spread: 2.0, ..Latency::default() };
    Simulation { latency, ..Simulation::default() }
}

fn padded(body: &str, length: usize) -> String {
    let mut body: serde_json::Value = serde_json::from_str(body).unwrap();
    let missing = length.saturating_sub(body.to_string().len());
    let system = body["messages"][0]["content"].as_str().unwrap();
    body["messages"][0]["content"] = format!("{system}{}", "A line of a prompt.\n".repeat(missing / 21)).into();
    body.to_string()
}

/// Microseconds of one request. The kernel's share is coarse, because it is counted in ticks of ten milliseconds.
struct Cost {
    total_us: f64,
    kernel_us: f64,
}

fn measure(config: Config, id: &str, body: &str) -> Cost {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let endpoint = SimulatedEndpoint::start(config).await.unwrap();
        let address = endpoint.address();
        let mut client = Client::connect(address, id, body);
        let warm = tokio::task::spawn_blocking(move || {
            client.ask(0..WARM_UP);
            client
        });
        let mut client = warm.await.unwrap();
        let (before, ticks_before) = (cpu_nanoseconds(), kernel_ticks());
        tokio::task::spawn_blocking(move || client.ask(WARM_UP..WARM_UP + REQUESTS)).await.unwrap();
        let (spent, ticks) = (cpu_nanoseconds() - before, kernel_ticks() - ticks_before);
        assert_eq!(endpoint.counters().total_answered(), u64::from(WARM_UP + REQUESTS));
        let requests = f64::from(REQUESTS);
        Cost { total_us: spent as f64 / 1e3 / requests, kernel_us: ticks as f64 * 1e4 / requests }
    })
}

/// A connection that sends a request, reads the answer, and repeats; its own cost is not measured.
struct Client {
    stream: TcpStream,
    id: String,
    body: String,
    received: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr, id: &str, body: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let id = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
        Self { stream, id, body: body.to_owned(), received: vec![0; 1 << 16] }
    }

    fn ask(&mut self, seeds: std::ops::Range<u32>) {
        for seed in seeds {
            let Self { stream, id, body, received } = self;
            let request = format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: simulated\r\ncontent-type: application/json\r\n\
                 x-regatta-benchmark: worfbench\r\nx-regatta-setting: two-shot\r\nx-regatta-item: {id}\r\n\
                 x-regatta-trial: 0\r\nx-regatta-seed: {seed}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(request.as_bytes()).unwrap();
            let mut length = 0;
            while !is_complete(&received[..length]) {
                let read = stream.read(&mut received[length..]).unwrap();
                assert_ne!(read, 0, "the server closed the connection");
                length += read;
            }
        }
    }
}

fn is_complete(received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    assert!(head.starts_with("HTTP/1.1 200"), "{text}");
    let declared = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    body.len() >= declared.parse::<usize>().unwrap()
}

/// CPU time of this thread so far, user and system.
fn cpu_nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Time of this thread in the kernel, in hundredths of a second.
fn kernel_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name, in parentheses, may have spaces; `stime` is the thirteenth field after it.
    text.rsplit(')').next().unwrap().split_whitespace().nth(12).unwrap().parse().unwrap()
}

fn miniature() -> Arc<dyn Suite> {
    let benchmark = regatta_worfbench::WorfBench;
    benchmark.load(&regatta_benchmark_testing::miniature(&benchmark)).unwrap()
}
