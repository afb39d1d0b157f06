//! Domains and intents as agents are told them (docs/benchmarks/autoslurp.md §3.2).

use crate::policy::Policy;

/// Domains with their intents, those of lights that only some are told aside.
const DOMAINS: [(&str, &[&str]); 23] = [
    ("calendar", &["calendar_set", "calendar_remove", "calendar_query"]),
    ("lists", &["lists_query", "lists_remove", "lists_createoradd"]),
    (
        "music",
        &[
            "play_music",
            "music_likeness",
            "playlists_createoradd",
            "music_settings",
            "music_dislikeness",
            "music_query",
        ],
    ),
    ("news", &["news_query", "news_subscription"]),
    ("alarm", &["alarm_set", "alarm_query", "alarm_remove", "alarm_change"]),
    (
        "email",
        &[
            "email_sendemail",
            "email_query",
            "email_querycontact",
            "email_subscription",
            "email_addcontact",
            "email_remove",
        ],
    ),
    (
        "iot",
        &[
            "iot_coffee",
            "iot_hue_lightdim",
            "iot_hue_lightup",
            "iot_hue_lightoff",
            "iot_cleaning",
            "iot_wemo_on",
            "iot_wemo_off",
            "audio_volume_mute",
            "audio_volume_up",
            "audio_volume_down",
            "audio_volume_other",
        ],
    ),
    ("weather", &["weather_query"]),
    ("datetime", &["datetime_query", "datetime_convert"]),
    ("stock", &["qa_stock"]),
    ("qa", &["qa_factoid", "general_quirky", "qa_definition", "general_joke", "qa_maths"]),
    ("greet", &["general_greet"]),
    ("currency", &["qa_currency"]),
    ("transport", &["transport_taxi", "transport_ticket", "transport_query", "transport_traffic"]),
    ("recommendation", &["recommendation_events", "recommendation_movies", "recommendation_locations"]),
    ("podcast", &["play_podcasts"]),
    ("audiobook", &["play_audiobook"]),
    ("radio", &["play_radio", "radio_query"]),
    ("takeaway", &["takeaway_query", "takeaway_order"]),
    ("social", &["social_query", "social_post"]),
    ("cooking", &["cooking_recipe"]),
    ("phone", &["phone_text", "phone_notification"]),
    ("game", &["play_game"]),
];

/// Intents of lights that agents of `policy` are told beside the others.
const fn lights(policy: Policy) -> &'static [&'static str] {
    match policy {
        Policy::CamelAi => &["iot_hue_lightchange"],
        Policy::LangGraph | Policy::AutoGen | Policy::AgentLite => &["iot_hue_lightcolor", "iot_hue_lightother"],
    }
}

/// A line a domain: `domain: intent, intent, …`.
pub(crate) fn list(policy: Policy) -> String {
    let lines = DOMAINS.map(|(domain, intents)| {
        let own = if domain == "iot" { lights(policy) } else { &[] };
        let intents: Vec<&str> = intents.iter().chain(own).copied().collect();
        format!("{domain}: {}", intents.join(", "))
    });
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_camelais_agents_may_change_lights_without_saying_how() {
        for policy in Policy::ALL {
            let list = list(policy);
            assert_eq!(list.lines().count(), 23);
            assert_eq!(list.contains("iot_hue_lightchange"), policy == Policy::CamelAi, "{policy}");
            assert_eq!(list.contains("iot_hue_lightcolor, iot_hue_lightother"), policy != Policy::CamelAi, "{policy}");
        }
    }
}
