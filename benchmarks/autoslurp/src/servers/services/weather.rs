//! Stand-in for open-meteo's forecast: seven days from today unless the request says otherwise, always in GMT. `latitude` and `longitude`
//! are required; a variable that the stand-in does not have is refused.

use jiff::ToSpan;
use jiff::civil::Date;
use serde_json::{Map, Value, json};

use super::Answer;
use super::draw::Draw;
use super::news::day;
use super::parameters::Parameters;

/// Most days of a forecast.
const DAYS_MAX: usize = 16;
/// Most variables of a request.
const VARIABLES_MAX: usize = 32;

/// A variable: name, unit, lowest and highest value.
type Variable = (&'static str, &'static str, f64, f64);

/// Variables by the hour, also at this moment.
const HOURLY: [Variable; 16] = [
    ("temperature_2m", "°C", -5.0, 32.0),
    ("relative_humidity_2m", "%", 20.0, 100.0),
    ("dew_point_2m", "°C", -8.0, 22.0),
    ("apparent_temperature", "°C", -8.0, 35.0),
    ("precipitation_probability", "%", 0.0, 100.0),
    ("precipitation", "mm", 0.0, 6.0),
    ("rain", "mm", 0.0, 6.0),
    ("showers", "mm", 0.0, 4.0),
    ("snowfall", "cm", 0.0, 1.0),
    ("weather_code", "wmo code", 0.0, 3.0),
    ("cloud_cover", "%", 0.0, 100.0),
    ("visibility", "m", 2000.0, 24000.0),
    ("wind_speed_10m", "km/h", 0.0, 45.0),
    ("wind_direction_10m", "°", 0.0, 359.0),
    ("uv_index", "", 0.0, 9.0),
    ("is_day", "", 0.0, 1.0),
];

/// Variables by the day.
const DAILY: [Variable; 14] = [
    ("temperature_2m_max", "°C", 10.0, 34.0),
    ("temperature_2m_min", "°C", -5.0, 10.0),
    ("apparent_temperature_max", "°C", 10.0, 36.0),
    ("apparent_temperature_min", "°C", -8.0, 10.0),
    ("sunrise", "iso8601", 5.0, 7.0),
    ("sunset", "iso8601", 17.0, 20.0),
    ("uv_index_max", "", 0.0, 9.0),
    ("precipitation_sum", "mm", 0.0, 20.0),
    ("precipitation_probability_max", "%", 0.0, 100.0),
    ("rain_sum", "mm", 0.0, 20.0),
    ("showers_sum", "mm", 0.0, 10.0),
    ("snowfall_sum", "cm", 0.0, 2.0),
    ("weather_code", "wmo code", 0.0, 3.0),
    ("wind_speed_10m_max", "km/h", 5.0, 60.0),
];

pub(super) fn answer(given: &Parameters, today: Date) -> Answer {
    forecast(given, today)
        .map_or_else(|reason| Answer::refused(400, json!({"error": true, "reason": reason})), Answer::found)
}

fn forecast(given: &Parameters, today: Date) -> Result<Value, String> {
    let latitude = degrees(given, "latitude", 90.0)?;
    let longitude = degrees(given, "longitude", 180.0)?;
    let days = days(given, today)?;
    let place = format!("{latitude:.2} {longitude:.2}");
    let mut draw = Draw::new("forecast", &place, None);
    let mut fields = Map::new();
    fields.insert("latitude".to_owned(), latitude.into());
    fields.insert("longitude".to_owned(), longitude.into());
    fields.insert("generationtime_ms".to_owned(), draw.between(0.02, 0.2, 4).into());
    fields.insert("utc_offset_seconds".to_owned(), 0.into());
    fields.insert("timezone".to_owned(), "GMT".into());
    fields.insert("timezone_abbreviation".to_owned(), "GMT".into());
    fields.insert("elevation".to_owned(), draw.between(0.0, 900.0, 1).into());
    let current = known(given, "current", &HOURLY)?;
    let hourly = known(given, "hourly", &HOURLY)?;
    let daily = known(given, "daily", &DAILY)?;
    if !current.is_empty() {
        let values = current.iter().map(|variable| (variable.0.to_owned(), value(variable, &place, today, 10, today)));
        let mut now =
            Map::from_iter([("time".to_owned(), format!("{today}T10:00").into()), ("interval".to_owned(), 900.into())]);
        now.extend(values);
        fields.insert("current_units".to_owned(), units(&current));
        fields.insert("current".to_owned(), now.into());
    }
    if !hourly.is_empty() {
        let hours = || days.iter().flat_map(|day| (0..24).map(move |hour| (*day, hour)));
        let times: Value = hours().map(|(day, hour)| format!("{day}T{hour:02}:00")).collect();
        let series =
            |variable: &Variable| hours().map(|(day, hour)| value(variable, &place, day, hour, today)).collect();
        fields.insert("hourly_units".to_owned(), units(&hourly));
        fields.insert("hourly".to_owned(), table(times, &hourly, series));
    }
    if !daily.is_empty() {
        let times: Value = days.iter().map(ToString::to_string).collect();
        let series = |variable: &Variable| days.iter().map(|day| value(variable, &place, *day, 0, today)).collect();
        fields.insert("daily_units".to_owned(), units(&daily));
        fields.insert("daily".to_owned(), table(times, &daily, series));
    }
    Ok(fields.into())
}

fn degrees(given: &Parameters, name: &str, most: f64) -> Result<f64, String> {
    let text = given.get(name).ok_or_else(|| format!("The parameter {name} is missing."))?;
    let degrees = text.parse::<f64>().ok().filter(|degrees| degrees.abs() <= most);
    degrees.ok_or_else(|| format!("{name} must be a number between -{most} and {most}."))
}

fn days(given: &Parameters, today: Date) -> Result<Vec<Date>, String> {
    let unreadable = || format!("The days of a forecast must be readable, in order, and at most {DAYS_MAX}.");
    let (first, last) = match (given.get("start_date"), given.get("end_date")) {
        (None, None) => {
            let count = given.number("forecast_days", 7, 1..=DAYS_MAX).ok_or_else(unreadable)?;
            let further = i64::try_from(count).unwrap_or(1) - 1;
            (today, today.checked_add(further.days()).map_err(|_| unreadable())?)
        }
        (first, last) => day(first.unwrap_or_default()).zip(day(last.unwrap_or_default())).ok_or_else(unreadable)?,
    };
    let days: Vec<Date> = first.series(1.day()).take_while(|day| *day <= last).take(DAYS_MAX + 1).collect();
    if days.is_empty() || days.len() > DAYS_MAX { Err(unreadable()) } else { Ok(days) }
}

/// The variables that a request asks for.
fn known(given: &Parameters, name: &str, all: &'static [Variable]) -> Result<Vec<&'static Variable>, String> {
    let find = |asked: &str| all.iter().find(|variable| variable.0 == asked);
    let asked = given.list(name, VARIABLES_MAX);
    asked
        .into_iter()
        .map(|asked| find(asked).ok_or_else(|| format!("There is no {name} variable of this name.")))
        .collect()
}

fn units(variables: &[&Variable]) -> Value {
    let time = ("time".to_owned(), Value::from("iso8601"));
    let of_variable = |variable: &&Variable| (variable.0.to_owned(), Value::from(variable.1));
    std::iter::once(time).chain(variables.iter().map(of_variable)).collect()
}

fn table(times: Value, variables: &[&Variable], series: impl Fn(&Variable) -> Value) -> Value {
    let of_variable = |variable: &&Variable| (variable.0.to_owned(), series(variable));
    std::iter::once(("time".to_owned(), times)).chain(variables.iter().map(of_variable)).collect()
}

/// Value of a variable at a place and hour, as the forecast of `today` has it.
fn value((name, unit, low, high): &Variable, place: &str, day: Date, hour: i8, today: Date) -> Value {
    let mut draw = Draw::new(name, &format!("{place} {day} {hour}"), Some(today));
    match *unit {
        "iso8601" => {
            let hour = draw.between(*low, *high, 0);
            format!("{day}T{hour:02}:{:02}", draw.below(60)).into()
        }
        "%" | "wmo code" | "°" => draw.between(*low, *high, 0).into(),
        _ if *name == "is_day" => i32::from((6..18).contains(&hour)).into(),
        _ => draw.between(*low, *high, 1).into(),
    }
}
