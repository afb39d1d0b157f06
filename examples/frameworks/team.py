"""What the teams of all frameworks share: the session that Regatta hands over, the tools, and what each role is told.

Only the standard library, so that any framework's environment can run it.
"""

import json
import os
import sys
import urllib.request


class Session:
    """One thing that a user says, and where its models and tools are."""

    def __init__(self, line):
        told = json.loads(line)
        self.iid, self.query, self.today = told["iid"], told["query"], told["today"]
        self.servers = told["servers"]
        self.model, self.api_key = told["model"], told["api_key"]
        self._base_url, self._tools_url = told["base_url"], told["tools_url"]

    @classmethod
    def read(cls):
        """The session that stands on standard input."""
        return cls(sys.stdin.readline())

    def base_url(self, member):
        """Where `member` of the team asks its model. Regatta knows by the address whose call it is."""
        return f"{self._base_url.removesuffix('/v1')}/members/{member}/v1"

    def send(self, method, url, body=None):
        """Sends a request to a server of the session, prints the body of the answer as it came, and returns it."""
        message = {"method": method, "url": url}
        if body is not None:
            message["body"] = body
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self._tools_url}/request", json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)["body"]
        # Evaluators of logs look for what the server answered.
        print(answer, flush=True)
        return answer


def report(final, intent_output):
    """The last line: what the intent agent has predicted, and what the user is told."""
    print(json.dumps({"intent_output": intent_output, "final": final}), flush=True)


DOMAINS = {
    "calendar": "calendar_set, calendar_remove, calendar_query",
    "lists": "lists_query, lists_remove, lists_createoradd",
    "music": "play_music, music_likeness, music_dislikeness, music_query, music_settings, playlists_createoradd",
    "news": "news_query, news_subscription",
    "alarm": "alarm_set, alarm_query, alarm_remove, alarm_change",
    "email": "email_sendemail, email_query, email_querycontact, email_subscription, email_addcontact, email_remove",
    "iot": "iot_coffee, iot_cleaning, iot_wemo_on, iot_wemo_off, iot_hue_lightdim, iot_hue_lightup, iot_hue_lightoff, "
    "iot_hue_lightcolor, iot_hue_lightother, audio_volume_mute, audio_volume_up, audio_volume_down, audio_volume_other",
    "weather": "weather_query",
    "datetime": "datetime_query, datetime_convert",
    "stock": "qa_stock",
    "qa": "qa_factoid, qa_definition, qa_maths, general_quirky, general_joke",
    "greet": "general_greet",
    "currency": "qa_currency",
    "transport": "transport_taxi, transport_ticket, transport_query, transport_traffic",
    "recommendation": "recommendation_events, recommendation_movies, recommendation_locations",
    "podcast": "play_podcasts",
    "audiobook": "play_audiobook",
    "radio": "play_radio, radio_query",
    "takeaway": "takeaway_query, takeaway_order",
    "social": "social_query, social_post",
    "cooking": "cooking_recipe",
    "phone": "phone_text, phone_notification",
    "game": "play_game",
}

# Intents and slots of each server, as far as teams are told of them.
SERVERS = {
    "alarm": ("alarm_set, alarm_query", "event_name, descriptor, time, from_time, to_time"),
    "audiobook": (
        "play_audiobook",
        "player_setting, house_place, media_type, descriptor, audiobook_name, author_name",
    ),
    "calendar": (
        "calendar_set, calendar_query, calendar_remove",
        "event_name, descriptor, person, relation, date, time, from_time, to_time",
    ),
    "cooking": ("cooking_recipe", "food_type, descriptor"),
    "datetime": (
        "datetime_query, datetime_convert",
        "place_name, descriptor, date, time, time2, time_zone, time_zone2",
    ),
    "email": (
        "email_sendemail, email_query",
        "setting, person, to_person, from_person, relation, to_relation, from_relation, email_folder, content, time, "
        "date, email_address, app_name, query, personal_info",
    ),
    "game": ("play_game", "game_name"),
    "iot": (
        "iot_coffee, iot_cleaning, iot_wemo_on, iot_wemo_off, iot_hue_lightchange, iot_hue_lightdim, iot_hue_lightup, "
        "iot_hue_lightoff, audio_volume_mute, audio_volume_up, audio_volume_down, audio_volume_other",
        "device_type, house_place, change_amount, change_to, color_type, item_name, setting, time",
    ),
    "lists": ("lists_query, lists_remove, lists_createoradd", "list_name, item_name, date, time, descriptor"),
    "music": (
        "play_music, music_likeness, music_dislikeness, music_query, music_settings, playlists_createoradd",
        "player_setting, descriptor, playlist_name, artist_name, song_name, music_genre, query",
    ),
    "phone": ("phone_text, phone_notification", "device_type, text, event_name"),
    "podcasts": ("play_podcasts", "podcast_name, player_setting, podcast_descriptor"),
    "radio": (
        "play_radio, radio_query",
        "time, house_place, device_type, descriptor, player_setting, radio_name, app_name, person_name, music_genre, "
        "query",
    ),
    "recommendation": (
        "recommendation_events, recommendation_movies, recommendation_locations",
        "business_type, food_type, movie_type, place_name, event_name, movie_name, date, descriptor",
    ),
    "social": ("social_post, social_query", "media_type, person, business_name, content, date, descriptor"),
    "takeaway": (
        "takeaway_query, takeaway_order",
        "food_type, order_type, business_type, business_name, place_name, date, time, descriptor",
    ),
    "transport": (
        "transport_taxi, transport_ticket, transport_query, transport_traffic",
        "transport_type, transport_agency, business_type, business_name, place_name, to_place_name, from_place_name, "
        "query, date, time, descriptor",
    ),
    "news": ("news_subscription", "news_topic"),
}

SERVICES = """\
- a search, for questions of all kinds: http://api.serpstack.com/search?access_key=KEY&query=...
- news: http://api.mediastack.com/v1/news?access_key=KEY&keywords=...&date=...&sort=published_desc
- weather, first the place: https://geocoding-api.open-meteo.com/v1/search?name=...&count=10&language=en&format=json
  then with its coordinates: https://api.open-meteo.com/v1/forecast?latitude=...&longitude=...&hourly=temperature_2m&models=gfs_seamless
- stocks, first a search for "NAME stock symbol", then: http://api.marketstack.com/v1/eod?access_key=KEY&symbols=...&limit=5
- exchange rates, between three-letter codes: https://api.freecurrencyapi.com/v1/latest?apikey=KEY&base_currency=...&currencies=..."""


def intent_prompt():
    """What the intent agent is told."""
    domains = "\n".join(f"- {domain}: {intents}" for domain, intents in DOMAINS.items())
    return (
        "Work out what the user of a smart home wants: the domain first, then one of its intents, then the slots, with "
        "values as the user said them. Ask nothing back.\n"
        'Write it as domain:D,intent:I,slot:value,... For "set the alarm to two pm" that is domain:alarm and then '
        f"intent:alarm_set,time:two pm.\n\nThe domains and their intents:\n{domains}"
    )


def time_prompt():
    """What the time agent is told."""
    return (
        "Turn the slots of date and time into dates such as 2025-05-28 and clock times such as 10:00. It is 10:00 now. "
        "Ask the tool what day it is before you count from it; without any date or time, say that there is none.\n"
        "Answer with slot:value,slot:value."
    )


def location_prompt():
    """What the location agent is told."""
    return (
        "Turn the slots of places into names of places. The user is in New York, and that is also what \"here\" means; "
        "leave rooms of the house as they are.\nAnswer with slot:value,slot:value."
    )


def servers(session):
    """The servers of the home, a line for each."""
    lines = [
        f"- {name}: {session.servers[name]} intents: {intents} slots: {slots}"
        for name, (intents, slots) in SERVERS.items()
    ]
    return "\n".join(lines)


def url_prompt(session):
    """What the agent is told that writes the URL."""
    return (
        "Write the one URL that does what the user wants, and nothing else. For the home it is the address of a server "
        "with ?intent=I&slot=value&..., where slots that are called otherwise get the server's names and those that it "
        f"does not know are left out.\n\nThe servers of the home:\n{servers(session)}\n\nOther services, where KEY is "
        f"written as it is:\n{SERVICES}"
    )


def request_prompt():
    """What the agent is told that sends the request."""
    return "Send the latest URL with the tool, always, and then say what the server answered without changing it."


def lone_prompt(session):
    """What an agent is told that does all of it alone, with one tool."""
    return (
        f"You run a smart home in New York; today is {session.today}, and it is 10:00. Do what the user wants with the tool "
        "`request`, which sends a GET request to a URL; then tell the user in a sentence or two what came of it, with what the "
        "server said and nothing else. For the home the URL is the address of a server with ?intent=I&slot=value&..., with dates "
        f"such as 2025-05-28 and clock times such as 10:00.\n\nThe servers of the home:\n{servers(session)}\n\n"
        f"Other services, where KEY is written as it is:\n{SERVICES}"
    )


def shell_prompt(session):
    """What a coding agent is told, whose own tool is a shell: its `request` is this file."""
    command = f"The tool `request` is the command: python3 {__file__} 'URL'"
    return f"{lone_prompt(session)}\n\n{command}\nThe user says: {session.query}"


def response_prompt():
    """What the agent is told that answers the user."""
    return (
        "Tell the user in a sentence or two what came of it, with what the server said and nothing else. If the server "
        "asks for something, ask the user.\nWrite {'response':'your sentences'}."
    )


if __name__ == "__main__":
    told = {"iid": "", "query": "", "today": "", "servers": {}, "model": "", "api_key": "", "base_url": ""}
    Session(json.dumps({**told, "tools_url": os.environ["REGATTA_TOOLS_URL"]})).send("GET", sys.argv[1])
