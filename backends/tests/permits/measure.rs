use std::time::Instant;
use futures::future::join_all;
use crate::world::{World, wanting, spending, account};
use regatta_proto::*;
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn measure() {
    for (name, world) in [("memory", World::memory()), ("postgres", World::postgres().await)] {
        for workers in [1usize, 4, 16, 50] {
            let handles = join_all((0..4).map(|_| world.open())).await;
            let begun = Instant::now();
            let tasks = (0..workers).map(|n| { let p = handles[n % 4].clone(); tokio::spawn(async move {
                let mut times = Vec::new();
                for _ in 0..100 {
                    let mut r = wanting(&format!("w-{workers}-{n}"), 40);
                    r.parties.push(Party { sweep: "t".parse().unwrap(), ..r.parties[0].clone() });
                    r.parties.push(Party { model: "other".to_owned(), ..r.parties[0].clone() });
                    let t = Instant::now();
                    p.lease(&r).await.unwrap();
                    times.push(t.elapsed().as_micros());
                }
                times
            })});
            let mut times: Vec<u128> = join_all(tasks).await.into_iter().flat_map(Result::unwrap).collect();
            times.sort_unstable();
            eprintln!("LEASE {name} {workers} workers: median {} us, p99 {} us, {:.0}/s", times[times.len()/2], times[times.len()*99/100], times.len() as f64 / begun.elapsed().as_secs_f64());
        }
        world.permits.open_account(&account("s"), Money(1 << 40), Money::ZERO).await.unwrap();
        let t = Instant::now();
        for n in 0..500 { world.permits.settle(&spending(&format!("w{}", n % 50), n, 10)).await.unwrap(); }
        eprintln!("SETTLE {name} {} us", t.elapsed().as_micros() / 500);
    }
}
