//! The table of the servers (docs/benchmarks/autoslurp.md §2.5), by port.

use super::server::{Format, Intent, OK, Rule, Server, Slot};

/// All simulated servers, by ascending port.
pub(crate) static SERVERS: [Server; 18] = [
    Server {
        name: "alarm",
        port: 3000,
        path: "/alarm",
        slots: &[
            free("event_name"),
            free("descriptor"),
            time("time"),
            time("from_time"),
            time("to_time"),
            time("time2").left_out_of_prompts(),
        ],
        intents: &[
            unless_one_of("alarm_set", &["time"], "when do you want to set the alarm", OK),
            unless_any(
                "alarm_query",
                "all the alarms are listed here. alarm 1: time:....",
                Some("find 1 result. alarm index: 12, alarm time: ...."),
            ),
            unless_any("alarm_remove", "do you want to delete all the alarms?", Some(OK)).left_out_of_prompts(),
            unless_any("alarm_change", "which alarm do you want to change?", Some(OK)).left_out_of_prompts(),
        ],
        unknown_intent: "not supporting intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "audiobook",
        port: 3001,
        path: "/audiobook",
        slots: &[
            free("player_setting"),
            free("house_place"),
            free("media_type"),
            free("descriptor"),
            free("audiobook_name"),
            free("author_name"),
        ],
        intents: &[unless_any("play_audiobook", "playing random audiobook", Some(OK))],
        unknown_intent: "not supporting intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "calendar",
        port: 3002,
        path: "/calendar",
        slots: &[
            free("event_name"),
            free("descriptor"),
            free("person"),
            free("relation"),
            date("date"),
            date_time("time"),
            date_time("from_time"),
            date_time("to_time"),
            date_time("time2").left_out_of_prompts(),
        ],
        intents: &[
            unless_one_of("calendar_set", &["time"], "what time do you want to set the event?", OK),
            unless_any(
                "calendar_query",
                "all the events are listed here. event 1: time:....",
                Some("find 1 result. event index: 11, event time: ...."),
            ),
            unless_any("calendar_remove", "do you want to delete all the events?", Some(OK)),
        ],
        unknown_intent: "not supporting intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "cooking",
        port: 3003,
        path: "/cooking",
        slots: &[free("food_type"), free("descriptor")],
        intents: &[unless_any(
            "cooking_recipe",
            "which kind of food do you want to cook?",
            Some("find 1 result. The recipe is : ...."),
        )],
        unknown_intent: "not support intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "datetime",
        port: 3004,
        path: "/datetime",
        slots: &[
            free("place_name"),
            free("place_name2").left_out_of_prompts(),
            free("descriptor"),
            date("date"),
            date_time("time"),
            date_time("time2"),
            free("time_zone"),
            free("time_zone2"),
        ],
        intents: &[
            unless_any("datetime_query", "Today is ....", Some("The date and time is ....")),
            unless_one_of(
                "datetime_convert",
                &["place_name", "place_name2", "time_zone", "time_zone2"],
                "which time zone you want to convert to?",
                "the time is ....",
            ),
        ],
        unknown_intent: "not supporting intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "email",
        port: 3005,
        path: "/email",
        slots: &[
            free("setting"),
            free("descriptor").left_out_of_prompts(),
            free("person"),
            free("to_person"),
            free("from_person"),
            free("relation"),
            free("to_relation"),
            free("from_relation"),
            free("email_folder"),
            free("content"),
            date_time("time"),
            date("date"),
            free("email_address"),
            free("app_name"),
            free("query"),
            free("personal_info"),
        ],
        intents: &[
            unless_one_of(
                "email_sendemail",
                &["to_person", "person", "relation", "to_relation"],
                "need provide the recipient.",
                OK,
            ),
            unless_one_of("email_addcontact", &["email_address"], "need provide email address.", OK)
                .left_out_of_prompts(),
            unless_any(
                "email_query",
                "what kind of email do you want to search for?",
                Some("find 1 result. email index: 12, email content: hi, how's going?...."),
            ),
            always("email_querycontact", "find 1 result. the contact index: 8, information is: name....")
                .left_out_of_prompts(),
            unless_any("email_subscription", "what kind of email do you want me to watch?", Some(OK))
                .left_out_of_prompts(),
            unless_any("email_remove", "what kind of email do you want to delete?", Some(OK)).left_out_of_prompts(),
        ],
        unknown_intent: "not supporting intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "game",
        port: 3006,
        path: "/game",
        slots: &[free("game_name")],
        intents: &[unless_any("play_game", "which game do you want to play?", Some(OK))],
        unknown_intent: "not supporting intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "iot",
        port: 3007,
        path: "/iot",
        slots: &[
            free("device_type"),
            free("house_place"),
            free("change_amount"),
            free("change_to"),
            free("color_type"),
            free("item_name"),
            free("setting"),
            time("time"),
        ],
        intents: &[
            always("iot_hue_lightcolor", OK).left_out_of_prompts(),
            always("iot_coffee", OK),
            always("audio_volume_mute", OK),
            always("iot_hue_lightoff", OK),
            always("iot_wemo_off", OK),
            always("iot_cleaning", OK),
            always("iot_wemo_on", OK),
            unless_one_of("iot_hue_lightdim", &["change_amount"], "change the lights with default amount.", OK),
            unless_one_of("iot_hue_lightup", &["change_amount"], "change the lights with default amount.", OK),
            unless_one_of("iot_hue_lightchange", &["change_to"], "change the lights to default.", OK),
            unless_one_of("audio_volume_up", &["change_amount"], "change the volume with default amount.", OK),
            unless_one_of("audio_volume_down", &["change_amount"], "change the volume with default amount.", OK),
            unless_one_of("audio_volume_other", &["change_to"], "change the volume to default.", OK),
        ],
        unknown_intent: "not supporting intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "lists",
        port: 3008,
        path: "/lists",
        slots: &[
            free("list_name"),
            free("item_name"),
            date("date"),
            date_time("time"),
            date_time("timeofday").left_out_of_prompts(),
            free("descriptor"),
        ],
        intents: &[
            unless_any(
                "lists_query",
                "all the lists are listed here. list 1: ....",
                Some("find 1 result. list index: 10, content: ...."),
            ),
            unless_any("lists_remove", "do you want to delete all the lists?", Some(OK)),
            unless_any("lists_createoradd", "what's the list name?", Some(OK)),
        ],
        unknown_intent: "unsupported intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "music",
        port: 3009,
        path: "/music",
        slots: &[
            free("player_setting"),
            free("descriptor"),
            free("playlist_name"),
            free("artist_name"),
            free("song_name"),
            free("music_genre"),
            free("query"),
        ],
        intents: &[
            unless_any("play_music", "play random music.", Some(OK)),
            always("music_likeness", OK),
            always("music_dislikeness", OK),
            always(
                "music_query",
                "The song name is Imagine, it belongs to album Imagine, and the artist name is John Lennon.",
            ),
            unless_any("playlists_createoradd", "which song do you want to put in this playlist?", Some(OK)),
            unless_any("music_settings", "How do you want to set the music?", Some(OK)),
        ],
        unknown_intent: "unsupported intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "phone",
        port: 3010,
        path: "/phone",
        slots: &[free("device_type"), free("text"), free("event_name")],
        intents: &[
            unless_one_of("phone_text", &["text"], "what do you want to text?", OK),
            unless_one_of("phone_notification", &["event_name"], "what event do you want to watch?", OK),
        ],
        unknown_intent: "unsupported intent.",
        message: "成功",
        checks_first: false,
    },
    Server {
        name: "podcasts",
        port: 3011,
        path: "/podcasts",
        slots: &[free("podcast_name"), free("player_setting"), free("podcast_descriptor")],
        intents: &[unless_any("play_podcasts", "play random podcast.", Some(OK))],
        unknown_intent: "unsupported intent.",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "radio",
        port: 3013,
        path: "/radio",
        slots: &[
            date_time("time"),
            free("house_place"),
            free("device_type"),
            free("descriptor"),
            free("player_setting"),
            free("radio_name"),
            free("app_name"),
            free("person_name"),
            free("music_genre"),
            free("query"),
        ],
        intents: &[unless_any("play_radio", "play random radio.", None), as_checked("radio_query")],
        unknown_intent: "unsupported intent.",
        message: "success",
        checks_first: true,
    },
    Server {
        name: "recommendation",
        port: 3014,
        path: "/recommendation",
        slots: &[
            free("business_type"),
            free("food_type"),
            free("movie_type"),
            free("place_name"),
            free("event_name"),
            free("movie_name"),
            date("date"),
            free("descriptor"),
        ],
        intents: &[
            always("recommendation_events", "find 10 results. event ..., content: ...."),
            always("recommendation_movies", "find 10 results. movie ..., content: ...."),
            unless_any(
                "recommendation_locations",
                "what kind of locations are you looking for?",
                Some("find 10 results. location ..., introduction: ...."),
            ),
        ],
        unknown_intent: "unsupported intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "social",
        port: 3015,
        path: "/social",
        slots: &[
            free("media_type"),
            free("person"),
            free("business_name"),
            free("content"),
            date("date"),
            free("descriptor"),
        ],
        intents: &[
            unless_all_of(
                "social_post",
                &["media_type", "person", "business_name", "content"],
                "what do you want to post?",
                OK,
            ),
            unless_any(
                "social_query",
                "waht social media do you want to query?",
                Some("find 10 results. post 1, content: ...."),
            ),
        ],
        unknown_intent: "unsupported intent.",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "takeaway",
        port: 3017,
        path: "/takeaway",
        slots: &[
            free("food_type").taken_from("meal_type"),
            free("meal_type").left_out_of_prompts(),
            free("order_type"),
            free("business_type"),
            free("business_name"),
            free("place_name"),
            date("date"),
            date_time("time"),
            free("descriptor"),
        ],
        intents: &[
            always("takeaway_query", "find 10 results. restaurant ..., food: ...."),
            unless_any("takeaway_order", "what do you want to order?", Some(OK)),
        ],
        unknown_intent: "unsupported intent",
        message: "成功",
        checks_first: false,
    },
    Server {
        name: "transport",
        port: 3018,
        path: "/transport",
        slots: &[
            free("transport_type"),
            free("transport_agency"),
            free("business_type"),
            free("business_name"),
            free("place_name"),
            free("to_place_name"),
            free("from_place_name"),
            free("query"),
            date("date"),
            date_time("time"),
            free("descriptor"),
        ],
        intents: &[
            unless_one_of("transport_taxi", &["to_place_name", "from_place_name"], "what is your destination?", OK),
            unless_one_of("transport_ticket", &["to_place_name", "from_place_name"], "what is your destination?", OK),
            always("transport_traffic", "find the following results. from ... road to ...."),
            unless_any(
                "transport_query",
                "what do you want to query?",
                Some("find the following results. from ... to ...."),
            ),
        ],
        unknown_intent: "unsupported intent",
        message: "success",
        checks_first: false,
    },
    Server {
        name: "news",
        port: 3020,
        path: "/news",
        slots: &[
            free("news_topic"),
            free("media_type").left_out_of_prompts(),
            free("descriptor").left_out_of_prompts(),
            free("date").left_out_of_prompts(),
            free("timeofday").left_out_of_prompts(),
            free("place_name").left_out_of_prompts(),
        ],
        intents: &[unless_any("news_subscription", "what kinds of news do you want to subscribe?", Some(OK))],
        unknown_intent: "unsupported intent",
        message: "成功",
        checks_first: false,
    },
];

const fn slot(name: &'static str, format: Option<Format>) -> Slot {
    Slot { name, format, in_prompts: true, value_of: name }
}

const fn free(name: &'static str) -> Slot {
    slot(name, None)
}

const fn time(name: &'static str) -> Slot {
    slot(name, Some(Format::Time))
}

const fn date_time(name: &'static str) -> Slot {
    slot(name, Some(Format::DateTime))
}

const fn date(name: &'static str) -> Slot {
    slot(name, Some(Format::Date))
}

const fn intent(name: &'static str, rule: Rule) -> Intent {
    Intent { name, in_prompts: true, rule }
}

const fn always(name: &'static str, answer: &'static str) -> Intent {
    intent(name, Rule::Always(answer))
}

const fn as_checked(name: &'static str) -> Intent {
    intent(name, Rule::AsChecked)
}

const fn unless_any(name: &'static str, question: &'static str, answer: Option<&'static str>) -> Intent {
    intent(name, Rule::UnlessAny(question, answer))
}

const fn unless_one_of(
    name: &'static str,
    slots: &'static [&'static str],
    question: &'static str,
    answer: &'static str,
) -> Intent {
    intent(name, Rule::UnlessOneOf(slots, question, answer))
}

const fn unless_all_of(
    name: &'static str,
    slots: &'static [&'static str],
    question: &'static str,
    answer: &'static str,
) -> Intent {
    intent(name, Rule::UnlessAllOf(slots, question, answer))
}

impl Slot {
    const fn left_out_of_prompts(self) -> Self {
        Self { in_prompts: false, ..self }
    }

    const fn taken_from(self, other: &'static str) -> Self {
        Self { value_of: other, ..self }
    }
}

impl Intent {
    const fn left_out_of_prompts(self) -> Self {
        Self { in_prompts: false, ..self }
    }
}
