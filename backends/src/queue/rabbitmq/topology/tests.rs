use super::*;

/// Arguments that RabbitMQ 4 deprecates (`x-queue-master-locator`), that mean nothing to it since mirrored and lazy queues are gone, or that its
/// quorum queues do not have (`x-max-priority`).
const RETIRED: [&str; 6] =
    ["x-ha-policy", "x-ha-nodes", "x-max-priority", "x-queue-master-locator", "x-queue-mode", "x-queue-version"];

/// Topology of a process that has declared the job queue `lab`.
fn topology(ack_timeout: Option<Duration>) -> Topology {
    let config = RabbitMqConfig {
        delivery_limit: 7,
        set_aside_for: Duration::from_secs(60),
        ack_timeout,
        ..RabbitMqConfig::new("amqp://127.0.0.1", "p")
    };
    let topology = Topology::new(&config).unwrap();
    topology.declared.lock().unwrap().insert("lab".to_owned());
    topology
}

/// Settings of all queues that are named, by their names.
fn named(topology: &Topology) -> Vec<(String, QueueSettings)> {
    let queues = topology.queues().unwrap();
    queues.iter().map(|name| (name.to_string(), topology.settings(name).unwrap())).collect()
}

/// Arguments as text, in the order of their names.
fn told(arguments: &FieldTable) -> String {
    let told = arguments.inner().iter().map(|(name, value)| match value {
        AMQPValue::Boolean(value) => format!("{name}={value}"),
        AMQPValue::LongInt(value) => format!("{name}={value}"),
        AMQPValue::LongLongInt(value) => format!("{name}={value}"),
        AMQPValue::LongString(value) => format!("{name}={value}"),
        other => panic!("{name} is {other:?}, of a kind that no queue has had so far"),
    });
    told.collect::<Vec<_>>().join(" ")
}

fn word(arguments: &FieldTable, name: &str) -> Option<String> {
    match arguments.inner().get(name)? {
        AMQPValue::LongString(word) => Some(word.to_string()),
        other => panic!("{name} is {other:?}, and no word"),
    }
}

/// A queue of a running deployment has these arguments: another one is refused until the queue is deleted, so a change needs a new name.
#[test]
fn every_queue_has_the_arguments_that_running_deployments_know() {
    let work = "x-consumer-timeout=1800000 x-dead-letter-exchange= x-dead-letter-routing-key=p.dead \
                x-dead-letter-strategy=at-least-once x-delivery-limit=7";
    let overflow = "x-overflow=reject-publish x-queue-type=quorum";
    let aside = "x-dead-letter-exchange= x-dead-letter-strategy=at-least-once x-message-ttl=60000";
    let mut expected = vec![("p.dead".to_owned(), "x-queue-type=quorum".to_owned())];
    for number in 0..8 {
        let partition = format!("{work} {overflow} x-single-active-consumer=true");
        expected.push((format!("p.reports.{number}"), partition));
    }
    expected.push(("p.reports".to_owned(), format!("{work} {overflow}")));
    expected.push(("p.aside".to_owned(), format!("{aside} {overflow}")));
    expected.push(("p.aside.questions".to_owned(), format!("{aside} {overflow}")));
    expected.push(("p.jobs.lab".to_owned(), format!("{work} x-expires=604800000 {overflow}")));
    let named = named(&topology(Some(Duration::from_secs(1800))));
    let found: Vec<(String, String)> =
        named.iter().map(|(name, queue)| (name.clone(), told(&queue.arguments))).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_time_for_acknowledgements_is_the_brokers_unless_one_is_set() {
    for (name, queue) in named(&topology(None)) {
        assert!(!queue.arguments.contains_key("x-consumer-timeout"), "{name}");
    }
}

#[test]
fn every_named_queue_is_a_durable_quorum_queue() {
    for (name, queue) in named(&topology(None)) {
        assert_eq!(queue.options, QueueDeclareOptions::durable(), "{name}");
        assert_eq!(word(&queue.arguments, "x-queue-type").as_deref(), Some("quorum"), "{name}");
    }
}

#[test]
fn no_message_is_lost_between_a_queue_and_that_of_its_dead_letters() {
    let named = named(&topology(None));
    for (name, QueueSettings { arguments, .. }) in named.iter().filter(|(name, _)| name != "p.dead") {
        assert_eq!(word(arguments, "x-dead-letter-strategy").as_deref(), Some("at-least-once"), "{name}");
        assert_eq!(word(arguments, "x-overflow").as_deref(), Some("reject-publish"), "{name}: else it is at most once");
        // Not by an exchange, which might have lost its bindings.
        assert_eq!(word(arguments, "x-dead-letter-exchange").as_deref(), Some(""), "{name}");
        if let Some(next) = word(arguments, "x-dead-letter-routing-key") {
            assert_eq!(next, "p.dead", "{name}");
        }
    }
}

#[test]
fn a_listeners_queue_is_exclusive_and_bounded_and_goes_with_its_connection() {
    let QueueSettings { options, arguments } = QueueSettings::of_listener();
    let expected = QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
    assert_eq!(options, expected);
    assert_eq!(told(&arguments), "x-max-length=16 x-queue-type=classic");
}

#[test]
fn nothing_is_declared_that_rabbitmq_4_deprecates() {
    let mut queues = named(&topology(Some(Duration::from_secs(1800))));
    queues.push(("a listener's".to_owned(), QueueSettings::of_listener()));
    for (name, QueueSettings { options, arguments }) in &queues {
        // RabbitMQ 4 deprecates what is neither, and a queue of one connection has nobody to outlive it for.
        assert_ne!(options.durable, options.exclusive, "{name}");
        for retired in RETIRED {
            assert!(!arguments.contains_key(retired), "{name} has {retired}");
        }
    }
    assert_eq!(PREFETCH_OF_A_CONSUMER, BasicQosOptions { global: false }, "no prefetch of a whole channel");
}
