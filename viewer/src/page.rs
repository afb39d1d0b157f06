//! The frame of every page, and the only way out: characters that would act on a reader's screen are made visible here, whatever their
//! source.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::address;
use crate::problem::Problem;
use crate::source::Run;

/// Content security policy: pages load their own style and script, and send forms to themselves; nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page.
pub(crate) struct Page<'p> {
    /// Title in the browser.
    pub(crate) title: &'p str,
    /// The run that the page is about, and the tab that is current.
    pub(crate) run: Option<(&'p Run, Tab)>,
    /// Address of the stream whose events make the page fetch itself again.
    pub(crate) events: Option<String>,
    /// Shows the button that deletes the token from the browser.
    pub(crate) has_token: bool,
    /// Content of the page.
    pub(crate) body: Markup,
}

impl Page<'_> {
    /// A page that is about no run.
    pub(crate) const fn bare(body: Markup) -> Self {
        Self { title: "Regatta", run: None, events: None, has_token: false, body }
    }
}

/// Pages of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Overview,
    Leaderboard,
    Items,
    Compare,
    Endpoints,
    Money,
    /// A page without a permanent link.
    Session,
}

const TABS: [(Tab, &str, &str); 6] = [
    (Tab::Overview, "Overview", ""),
    (Tab::Leaderboard, "Leaderboard", "/leaderboard"),
    (Tab::Items, "Items", "/items"),
    (Tab::Compare, "Compare", "/compare"),
    (Tab::Endpoints, "Endpoints", "/endpoints"),
    (Tab::Money, "Money", "/money"),
];

/// The page as a response.
pub(crate) fn respond(page: Page<'_>) -> Response {
    let mut response = Html(visible(&document(&page).into_string())).into_response();
    protect(response.headers_mut());
    response
}

/// Sets the headers that every response carries.
pub(crate) fn protect(headers: &mut HeaderMap) {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Without a referrer browsers send forms with `Origin: null`, which is refused like any foreign one.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

fn document(page: &Page<'_>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · Regatta" }
                link rel="icon" href="/ui/assets/icon.svg";
                link rel="stylesheet" href="/ui/assets/style.css";
                script src="/ui/assets/viewer.js" defer {}
            }
            body data-events=[page.events.as_deref()] {
                a.skip href="#main" { "To the content" }
                header.top {
                    nav aria-label="Regatta" {
                        a.brand href="/ui/" { "Regatta" }
                        a href="/ui/" { "Runs" }
                        a href="/ui/money" { "Money" }
                        a href="/ui/endpoints" { "Endpoints" }
                        a href="/ui/schedules" { "Schedules" }
                        @if page.has_token { a href="/ui/logout" { "Forget the token" } }
                        @if page.events.is_some() { span #live-state .live role="status" {} }
                    }
                }
                main #main {
                    @if let Some((run, tab)) = page.run { (frame_of_run(run, tab)) }
                    (page.body)
                }
            }
        }
    }
}

fn frame_of_run(run: &Run, tab: Tab) -> Markup {
    let address = address::run(&run.name);
    html! {
        header.of-run {
            h1 { a href=(address) { (run.name) } }
            p.lead { (run.row.name) " · " (run.row.id) }
        }
        nav.tabs aria-label="Pages of this run" {
            @for (of, name, path) in TABS {
                a href={ (address) (path) } aria-current=[(of == tab).then_some("page")] { (name) }
            }
            @if run.row.ended_at.is_some() { a href={ (address) "/report" } { "Report" } }
        }
    }
}

/// Replaces control characters, and characters that change the order of reading, by their code points.
fn visible(document: &str) -> String {
    let is_harmless = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_direction(c));
    if document.chars().all(is_harmless) {
        return document.to_owned();
    }
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        match c {
            c if is_harmless(c) => out.push(c),
            c if is_direction(c) => out += &format!("⟨U+{:04X}⟩", u32::from(c)),
            _ => out.push('\u{fffd}'),
        }
    }
    out
}

/// Embeddings, overrides and isolates. Marks (U+200E, U+200F) do not reverse text, and ordinary texts have them.
const fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Longest text, in characters, that a page shows whole.
const TEXT_MAX: usize = 20_000;

/// A text of a model, a data set or a provider, cut where it is too long for a page.
pub(crate) fn said(text: &str) -> Markup {
    match text.char_indices().nth(TEXT_MAX) {
        None => html! { pre dir="auto" { (text) } },
        Some((at, _)) => {
            let (shown, rest) = text.split_at(at);
            html! {
                pre dir="auto" { (shown) }
                p.cut { "… and " (rest.chars().count()) " characters more; the transcript has them" }
            }
        }
    }
}

/// A table that scrolls by itself if it is wider than the window, also by keyboard.
pub(crate) fn scrolled(label: &str, table: Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (table) } }
}

/// Marks an SVG element as escaped; only for elements made here, in which every text is.
pub(crate) const fn svg(element: String) -> PreEscaped<String> {
    PreEscaped(element)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = html! {
            section.narrow {
                h1 { (self.status().as_u16()) " " (self.status().canonical_reason().unwrap_or_default()) }
                p { (self.sentence()) }
                p { a href="/ui/" { "All runs" } }
            }
        };
        let mut response = respond(Page { title: "No page", ..Page::bare(body) });
        *response.status_mut() = self.status();
        response
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        visible(&document(&Page { title: text, ..Page::bare(said(text)) }).into_string())
    }

    #[test]
    fn what_acts_on_a_terminal_or_turns_text_around_is_seen() {
        let page = shown("a\u{1b}]8;;http://evil.example\u{7}b\u{202e}c\r\nd\u{2066}");
        assert!(page.contains("a\u{fffd}]8;;http://evil.example\u{fffd}b⟨U+202E⟩c\u{fffd}\nd⟨U+2066⟩"), "{page}");
    }

    #[test]
    fn a_line_of_a_megabyte_is_cut_and_said_to_be() {
        let page = shown(&"x".repeat(1 << 20));
        assert!(page.len() < 70_000 + (1 << 20), "the title is the whole");
        let body = said(&"é".repeat(1 << 20)).into_string();
        assert!(body.len() < 50_000 && body.contains("… and 1028576 characters more"), "{}", body.len());
    }

    proptest! {
        /// No text becomes markup: the page has the same tags, whatever is shown.
        #[test]
        fn no_text_adds_a_tag_or_an_attribute(text in r#"([<>&"'/=a-z \x00-\x1f\u{7f}-\u{9f}\u{202a}-\u{202e}]|<script>|</pre>|<!--|]]>|javascript:|\PC){0,60}"#) {
            let page = shown(&text);
            let tags = |page: &str| page.matches('<').count();
            prop_assert_eq!(tags(&page), tags(&shown("")));
            prop_assert_eq!(page.matches('"').count(), shown("").matches('"').count());
            prop_assert!(!page.chars().any(|c| c != '\n' && c != '\t' && (c.is_control() || is_direction(c))));
        }
    }
}
