#[test]
#[ignore = "by hand"]
fn zz_dump() {
    use super::*;
    use crate::appbench::official::app_selection::Selection;
    use crate::appbench::{official, paper as p, topology::Topology};
    use serde_json::{json, Value};
    use std::io::{BufRead, Write};
    let data = crate::appbench::vectors::data().unwrap();
    // unicode
    let mut f = std::fs::File::create("/tmp/h/diff/unicode.txt").unwrap();
    for c in (0..if std::env::var("U").is_ok() {0x110000u32} else {0}).filter_map(char::from_u32) {
        let l = crate::python::lower(&c.to_string());
        writeln!(f, "{:x} {} {} {} {}", c as u32, u8::from(crate::python::is_word(c)), u8::from(crate::python::is_space(c)),
            crate::python::decimal_digit(c).map_or(-1, i32::from),
            l.chars().map(|c| format!("{:x}", c as u32)).collect::<Vec<_>>().join(",")).unwrap();
    }
    let Ok(file) = std::fs::File::open("/tmp/h/diff/in.jsonl") else { return };
    let mut out = std::io::BufWriter::new(std::fs::File::create("/tmp/h/diff/out.jsonl").unwrap());
    for line in std::io::BufReader::new(file).lines() {
        let v: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = v["text"].as_str().unwrap();
        let entry = data.find(v["item"].as_str().unwrap()).unwrap();
        let ls = lines(text);
        let calls: Vec<&str> = ls.iter().map(|l| l.call.as_str()).collect();
        let a = official::score(entry, &ls, None);
        let sel: Vec<&str> = v["sel"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
        let s = Selection::of(&data.phone, &sel);
        let parsed: Vec<Value> = calls.iter().map(|c| {
            let paper = paper::call(c, |n| data.phone.has_api(n));
            json!([evaluation::name(c), evaluation::call(&without_backslashes(c)).map(|(n, d)| (n, json!(d).as_object().unwrap().iter().map(|(k,v)|(k.clone(),v.clone())).collect::<Vec<_>>())),
              analysis::call(c).map(|(n, d)| (n, json!(d).as_object().unwrap().iter().map(|(k,v)|(k.clone(),v.clone())).collect::<Vec<_>>())),
              paper.map(|c| json!([c.returned, c.name, c.arguments.iter().map(|(k, a)| match a { paper::Argument::Literal(t) => json!([k, "lit", t, paper::normal(t)]), paper::Argument::Name(t) => json!([k, "name", t, paper::normal(t)])}).collect::<Vec<_>>()])),
            ])}).collect();
        let t = Topology::of(calls.len(), &calls);
        let topo = match t { Ok(t) => json!([t.sizes(), t.weak_sizes(), t.edges()]), Err(e) => json!(e.name()) };
        let apps_l = apps(&ls);
        writeln!(out, "{}", json!({
          "lines": ls.iter().map(|l| (l.app, &l.call)).collect::<Vec<_>>(),
          "calls": parsed, "topo": topo,
          "sel": [json!(s.attempts), json!(s.apps), json!(s.revise(&apps_l))],
          "off": a.detail(), "paper": p::score(entry, &data.phone, &ls),
        })).unwrap();
    }
}
