// Keeps a page up to date: told that something has changed, it fetches the page again and puts the parts that may change in place.
// Without it a page is complete, and as it was when it was loaded.
"use strict";
(() => {
  const address = document.body.dataset.events;
  const state = document.getElementById("live-state");
  if (!address || !window.EventSource) return;
  const say = (text) => { if (state && state.textContent !== text) state.textContent = text; };
  let isBusy = false;
  let isStale = false;

  // Where the keyboard is, in words that outlive the element.
  const focused = (part) => {
    const element = document.activeElement;
    if (!element || !part.contains(element)) return null;
    const same = [...part.querySelectorAll(element.tagName)];
    return { tag: element.tagName, href: element.getAttribute("href"), at: same.indexOf(element) };
  };
  const focus = (part, before) => {
    if (!before) return;
    const all = [...part.querySelectorAll(before.tag)];
    const found = (before.href && all.find((one) => one.getAttribute("href") === before.href)) || all[before.at];
    if (found) found.focus({ preventScroll: true });
  };

  const refresh = async () => {
    if (isBusy) { isStale = true; return; }
    isBusy = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
      if (!answer.ok) { say("cannot be updated"); return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-part]")) {
        const next = fresh.getElementById(part.id);
        if (!next || next.innerHTML === part.innerHTML) continue;
        const before = focused(part);
        const scrolled = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
        part.replaceChildren(...next.childNodes);
        [...part.querySelectorAll(".scroll")].forEach((one, at) => { one.scrollLeft = scrolled[at] || 0; });
        focus(part, before);
      }
      say("live");
    } catch {
      say("offline");
    } finally {
      isBusy = false;
      if (isStale) { isStale = false; refresh(); }
    }
  };

  const events = new EventSource(address);
  // What has happened between loading and following is caught up with.
  events.addEventListener("following", refresh);
  events.addEventListener("changed", refresh);
  events.addEventListener("error", () => say("offline"));
})();
