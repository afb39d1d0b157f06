//! Reads what the apps of the phone are: `apps_raw.json`, or else `apps.json`, and the exact texts in `rendered.json`
//! (docs/benchmarks/appbench.md §2.1, §2.3).

use std::collections::HashSet;
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use serde_json::{Map, Value, json};

use super::phone::{Api, App, Phone, Slot};
use super::repr::repr;

/// The fields of a raw API that hold its arguments.
const REQUIRED: &str = "additional_required_arguments";
const OPTIONAL: &str = "optional_arguments";
const RETURNED: &str = "result_arguments";

/// A file: where it is and what is in it.
pub(super) type File<'f> = (SourceLocation<'f>, &'f [u8]);

/// Makes the phone. The raw descriptions are preferred, because they keep the order of the official dictionaries; the rendered texts
/// are preferred to texts that are made here.
pub(super) fn read_phone(
    raw: Option<File<'_>>,
    apps: Option<File<'_>>,
    rendered: Option<File<'_>>,
) -> Result<Option<Phone>, DataError> {
    let rendered = rendered.map(|(file, content)| Rendered::read(file, content)).transpose()?;
    let (file, descriptions) = match (raw, apps) {
        (Some((file, content)), _) => {
            let Value::Object(descriptions) = parse(&file, content)? else {
                return Err(file.problem("must be an object of apps"));
            };
            (file, descriptions)
        }
        (None, Some((file, content))) => {
            let descriptions = raw_of_apps(&file, &parse(&file, content)?)?;
            (file, descriptions)
        }
        (None, None) => return Ok(None),
    };
    let order: Vec<Arc<str>> = match &rendered {
        Some(rendered) => rendered.order(&descriptions)?,
        None => descriptions.keys().map(|name| name.as_str().into()).collect(),
    };
    let mut phone = Vec::with_capacity(order.len());
    for name in &order {
        let description = descriptions.get(&**name).ok_or_else(|| file.error(name, "is missing"))?;
        let mut app = read_app(&file, name, description)?;
        if let Some(rendered) = &rendered {
            app.block = rendered.block(name)?;
        }
        phone.push(app);
    }
    if phone.is_empty() {
        return Err(file.problem("holds no app"));
    }
    let list = match &rendered {
        Some(rendered) => rendered.flat_apps_desc()?,
        None => phone.iter().map(|app| format!("{}: {} \n\n ", app.name, app.desc)).collect::<String>().into(),
    };
    Ok(Some(Phone::new(phone, list)))
}

/// `rendered.json`.
struct Rendered<'f> {
    file: SourceLocation<'f>,
    value: Value,
}

impl<'f> Rendered<'f> {
    fn read(file: SourceLocation<'f>, content: &[u8]) -> Result<Self, DataError> {
        let value = parse(&file, content)?;
        Ok(Self { file, value })
    }

    fn order(&self, described: &Map<String, Value>) -> Result<Vec<Arc<str>>, DataError> {
        let names = self.file.array(&self.value, "app_order")?;
        let mut order: Vec<Arc<str>> = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let field = format!("app_order[{at}]");
            let name = self.file.text_at(Some(name), &field)?;
            if !described.contains_key(name) || order.iter().any(|known| **known == *name) {
                return Err(self.file.error(&field, format!("{name} has no description, or is listed twice")));
            }
            order.push(name.into());
        }
        match described.keys().find(|name| order.iter().all(|known| **known != ***name)) {
            Some(name) => Err(self.file.error("app_order", format!("{name} is described but not listed"))),
            None => Ok(order),
        }
    }

    fn block(&self, app: &str) -> Result<Arc<str>, DataError> {
        let block = self.value.get("app_blocks").and_then(|blocks| blocks.get(app));
        Ok(self.file.text_at(block, &format!("app_blocks.{app}"))?.into())
    }

    fn flat_apps_desc(&self) -> Result<Arc<str>, DataError> {
        Ok(self.file.text(&self.value, "flat_apps_desc")?.into())
    }
}

fn parse(file: &SourceLocation<'_>, content: &[u8]) -> Result<Value, DataError> {
    serde_json::from_slice(content).map_err(|error| file.json(&error))
}

/// `apps.json` in the form of `apps_raw.json`.
fn raw_of_apps(file: &SourceLocation<'_>, apps: &Value) -> Result<Map<String, Value>, DataError> {
    let Value::Array(apps) = apps else {
        return Err(file.problem(format!("must be an array of apps, is {}", kind_of(apps))));
    };
    let mut raw = Map::new();
    for (at, app) in apps.iter().enumerate() {
        let place = file.record(at, app.get("name").and_then(Value::as_str).unwrap_or("app without a name"));
        let name = place.text(app, "name")?;
        let mut apis = Map::new();
        for (at, api) in place.array(app, "apis")?.iter().enumerate() {
            let field = format!("apis[{at}]");
            let api_name = place.text_at(api.get("name"), &format!("{field}.name"))?;
            let mut described = Map::new();
            for known in ["desc", "is_transactional"] {
                described.insert(known.to_owned(), api.get(known).cloned().unwrap_or_default());
            }
            for (known, raw) in [("required", REQUIRED), ("optional", OPTIONAL), ("returns", RETURNED)] {
                let slots = raw_slots(&place, api.get(known), &format!("{field}.{known}"))?;
                described.insert(raw.to_owned(), slots);
            }
            if apis.insert(api_name.to_owned(), described.into()).is_some() {
                return Err(place.error(&format!("{field}.name"), format!("{api_name} occurs twice")));
            }
        }
        let base = app.get("base_required_arguments").cloned().unwrap_or_else(|| json!({}));
        let described = json!({"desc": place.text(app, "desc")?, "base_required_arguments": base, "APIs": apis});
        if raw.insert(name.to_owned(), described).is_some() {
            return Err(place.error("name", format!("{name} occurs twice")));
        }
    }
    Ok(raw)
}

fn raw_slots(place: &SourceLocation<'_>, slots: Option<&Value>, field: &str) -> Result<Value, DataError> {
    let Some(Value::Array(slots)) = slots else {
        return Err(place.error(field, "must be an array of arguments"));
    };
    let mut raw = Map::new();
    for (at, slot) in slots.iter().enumerate() {
        let field = format!("{field}[{at}]");
        let name = place.text_at(slot.get("name"), &format!("{field}.name"))?;
        let desc = place.text_at(slot.get("desc"), &format!("{field}.desc"))?;
        let key = match slot.get("type") {
            None | Some(Value::Null) => name.to_owned(),
            kind => format!("{name} ({})", place.text_at(kind, &format!("{field}.type"))?),
        };
        raw.insert(key, desc.into());
    }
    Ok(raw.into())
}

fn read_app(file: &SourceLocation<'_>, name: &str, raw: &Value) -> Result<App, DataError> {
    let desc = file.text_at(raw.get("desc"), &format!("{name}.desc"))?;
    let Some(Value::Object(described)) = raw.get("APIs") else {
        return Err(file.error(&format!("{name}.APIs"), "must be an object of APIs"));
    };
    let mut apis = Vec::with_capacity(described.len());
    for (api, raw) in described {
        let field = format!("{name}.{api}");
        let Some(Value::Bool(is_transactional)) = raw.get("is_transactional") else {
            return Err(file.error(&format!("{field}.is_transactional"), "must be true or false"));
        };
        let (required, optional) = (read_slots(file, raw, &field, REQUIRED)?, read_slots(file, raw, &field, OPTIONAL)?);
        let mut names = HashSet::new();
        if let Some(twice) = required.iter().chain(&optional).find(|slot| !names.insert(&slot.name)) {
            return Err(file.error(&field, format!("the argument {} occurs twice", twice.name)));
        }
        apis.push(Api {
            name: api.as_str().into(),
            desc: file.text_at(raw.get("desc"), &format!("{field}.desc"))?.into(),
            is_transactional: *is_transactional,
            required,
            optional,
            returns: read_slots(file, raw, &field, RETURNED)?,
        });
    }
    let block = format!("{name}: {} \n\n ", repr(raw));
    Ok(App { name: name.into(), desc: desc.into(), apis, block: block.into() })
}

/// Arguments with keys like `from_city (str)`.
fn read_slots(file: &SourceLocation<'_>, raw: &Value, api: &str, kind: &str) -> Result<Vec<Slot>, DataError> {
    let field = format!("{api}.{kind}");
    let Some(Value::Object(slots)) = raw.get(kind) else {
        return Err(file.error(&field, "must be an object of arguments"));
    };
    let read = slots.iter().map(|(key, desc)| {
        let typed = key.strip_suffix(')').and_then(|key| key.rsplit_once('('));
        let (name, kind) = typed.map_or((key.as_str(), None), |(name, kind)| (name, Some(kind.into())));
        let desc = file.text_at(Some(desc), &format!("{field}.{key}"))?.into();
        Ok(Slot { name: name.trim().into(), kind, desc })
    });
    read.collect()
}
