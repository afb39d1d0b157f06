//! Rewrites a page's links to links between files.
//!
//! Pages are rendered here, and texts of others are escaped in them, so a simple search finds exactly the tags and attributes.

use regatta_proto::Digest;

/// A page for a file, and the addresses that it links to.
pub(super) struct Links {
    pub(super) page: String,
    pub(super) found: Vec<String>,
}

/// Path of the file for `address`, relative to the site; `None` if it is no page of the run below `root`.
pub(super) fn file_of(root: &str, address: &str) -> Option<String> {
    if let Some(asset) = address.strip_prefix("/ui/assets/") {
        return Some(format!("assets/{asset}"));
    }
    let (path, query) = address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
    let below = path.strip_prefix(root).filter(|below| below.is_empty() || below.starts_with('/'))?;
    let parts: Vec<&str> = below.split('/').skip(1).collect();
    let name = match parts.as_slice() {
        [] => "index".to_owned(),
        ["events"] => return None,
        [page] => (*page).to_owned(),
        ["sessions", cell, item] => format!("sessions/{cell}/{item}"),
        ["sessions", cell, item, "transcript"] => return Some(format!("sessions/{cell}/{item}.transcript.json")),
        ["sessions", cell, item, "pictures", number] => {
            return Some(format!("sessions/{cell}/{item}.picture-{number}.svg"));
        }
        _ => return None,
    };
    // A query can be too long for a file name, and has characters that file names cannot have.
    Some(match query {
        None => format!("{name}.html"),
        Some(query) => format!("{name}.{}.html", digest(query)),
    })
}

fn digest(query: &str) -> String {
    let mut digits = Digest::of(query.as_bytes()).to_string();
    digits.truncate(16);
    digits
}

/// Rewrites `page`, which becomes the file `file` of the site of the run at `root`.
pub(super) fn between_files(root: &str, file: &str, page: &str) -> Links {
    let page = without(page, "<form", "</form>", "");
    let page = without(&page, "<script", "</script>", "");
    let page = without(&page, "<nav aria-label=\"Regatta\">", "</nav>", "<span class=\"brand\">Regatta</span>");
    let up = "../".repeat(file.matches('/').count());
    let mut found = Vec::new();
    let mut out = String::with_capacity(page.len());
    let mut rest = page.as_str();
    while let Some((before, attribute, value, after)) = next_address(rest) {
        out.push_str(before);
        let (address, fragment) = split_fragment(value);
        let address = address.replace("&amp;", "&");
        if attribute == "data-events" {
            // The page never changes, so it has no stream of events.
        } else if let Some(target) = file_of(root, &address) {
            out.push_str(&format!(" {attribute}=\"{up}{target}{fragment}\""));
            found.push(address);
        }
        rest = after;
    }
    out.push_str(rest);
    Links { page: out, found }
}

/// The next attribute that holds an address: the text before it, its name, its value, and the text after it.
fn next_address(text: &str) -> Option<(&str, &str, &str, &str)> {
    let attributes = ["href", "src", "data-events"];
    let found = attributes.iter().filter_map(|name| {
        let begin = format!(" {name}=\"/ui");
        text.find(&begin).map(|at| (at, *name))
    });
    let (at, name) = found.min()?;
    let (before, from) = text.split_at(at);
    let value = from.split_once('"')?.1;
    let (value, after) = value.split_once('"')?;
    Some((before, name, value, after))
}

fn split_fragment(value: &str) -> (&str, &str) {
    value.find('#').map_or((value, ""), |at| value.split_at(at))
}

/// `page` with `instead` in place of each section from `begin` to the next `end`.
fn without(page: &str, begin: &str, end: &str, instead: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, from)) = rest.split_once(begin) {
        let Some((_, after)) = from.split_once(end) else { break };
        out.push_str(before);
        out.push_str(instead);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "/ui/runs/a%20b";

    #[test]
    fn a_page_of_the_run_is_a_file_and_no_other_is() {
        let file = |address: &str| file_of(ROOT, address);
        assert_eq!(file(ROOT).unwrap(), "index.html");
        assert_eq!(file("/ui/runs/a%20b/report").unwrap(), "report.html");
        assert_eq!(file("/ui/runs/a%20b/sessions/3/5").unwrap(), "sessions/3/5.html");
        assert_eq!(file("/ui/runs/a%20b/sessions/3/5/pictures/0").unwrap(), "sessions/3/5.picture-0.svg");
        assert_eq!(file("/ui/assets/style.css").unwrap(), "assets/style.css");
        assert_ne!(file("/ui/runs/a%20b/items?page=1"), file("/ui/runs/a%20b/items?page=2"));
        for other in ["/ui/", "/ui/money", "/ui/runs/a%20b/events", "/ui/runs/a%20b/sessions/3/5/x", "/ui/logout"] {
            assert_eq!(file(other), None, "{other}");
        }
    }

    #[test]
    fn the_run_whose_name_begins_alike_is_another_one() {
        assert_eq!(file_of(ROOT, "/ui/runs/a%20b2/items"), None);
    }

    #[test]
    fn links_lead_to_files_and_what_needs_a_server_is_left_out() {
        let page = "<body data-events=\"/ui/runs/a%20b/events\"><nav aria-label=\"Regatta\"><a href=\"/ui/\">Regatta</a></nav>\
                    <form class=\"filters\"><input></form><script src=\"/ui/assets/viewer.js\" defer></script>\
                    <a href=\"/ui/runs/a%20b/sessions/3/6#part2\">next</a><a href=\"#here\">here</a>\
                    <a href=\"/ui/schedules\">x</a>&lt;a href=&quot;/ui/money&quot;&gt;";
        let Links { page, found } = between_files(ROOT, "sessions/3/5.html", page);
        assert_eq!(
            page,
            "<body><span class=\"brand\">Regatta</span><a href=\"../../sessions/3/6.html#part2\">next</a>\
             <a href=\"#here\">here</a><a>x</a>&lt;a href=&quot;/ui/money&quot;&gt;"
        );
        assert_eq!(found, ["/ui/runs/a%20b/sessions/3/6"]);
    }

    #[test]
    fn an_address_with_a_query_is_asked_for_as_it_was_meant() {
        let page = "<a href=\"/ui/runs/a%20b/items?benchmark=x&amp;setting=y\">";
        assert_eq!(between_files(ROOT, "index.html", page).found, ["/ui/runs/a%20b/items?benchmark=x&setting=y"]);
    }
}
