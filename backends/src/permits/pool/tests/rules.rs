use super::*;

/// Any moment; pools know none before it.
const START: u64 = 1_790_000_000_000;

fn slots(reply: &PoolReply) -> Vec<u32> {
    reply.grants.iter().map(|grant| grant.slots).collect()
}

fn requests(reply: &PoolReply) -> Vec<u32> {
    reply.grants.iter().map(|grant| grant.requests).collect()
}

#[test]
fn an_idle_pool_grants_a_minute_at_once() {
    let reply = Pool::default().lease(START, &request("w", limits(1000, 600, None), vec![party("s", 1000, 10)]));
    assert_eq!(reply.grants, [Grant { slots: 600, requests: 600, tokens: 6000 }]);
    assert_eq!((reply.valid_ms, reply.factor), (1000, 1.0));
}
