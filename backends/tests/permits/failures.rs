use futures::future::join_all;
use regatta_proto::{Digest, ErrorClass, Failing};

use crate::world::World;

pub(crate) fn failing(request: &str, class: ErrorClass) -> Failing {
    Failing { fingerprint: Digest::of(request.as_bytes()), class }
}

pub(crate) async fn failures_are_counted_by_request_and_class(world: World) {
    let other = world.open().await;
    let (refused, filtered) = (failing("a", ErrorClass::BadRequest), failing("a", ErrorClass::ContentFilter));
    assert_eq!(other.failures(&refused.fingerprint).await.unwrap(), 0);
    assert_eq!(world.permits.failing(&refused).await.unwrap(), 1);
    assert_eq!(other.failing(&refused).await.unwrap(), 2);
    assert_eq!(world.permits.failing(&filtered).await.unwrap(), 1);
    assert_eq!(other.failing(&failing("b", ErrorClass::BadRequest)).await.unwrap(), 1);
    assert_eq!(other.failures(&refused.fingerprint).await.unwrap(), 2, "the largest count of any class");
}

pub(crate) async fn of_many_at_once_every_failure_counts(world: World) {
    let tasks = (0..20).map(|_| {
        let permits = world.permits.clone();
        tokio::spawn(async move { permits.failing(&failing("a", ErrorClass::Timeout)).await.unwrap() })
    });
    let mut counts: Vec<u32> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=20).collect::<Vec<_>>());
}
