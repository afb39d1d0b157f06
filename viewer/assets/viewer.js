// Keeps a page up to date: told that something has changed, it fetches the page again and puts the parts that may change in place. Forms
// that are marked for it are sent without loading the page anew. Without it a page is complete, and as it was when it was loaded.
"use strict";
(() => {
  const address = document.body.dataset.events;
  const state = document.getElementById("live-state");
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

  const page = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");
  const replace = (fresh) => {
    for (const part of document.querySelectorAll("[data-part]")) {
      const next = fresh.getElementById(part.id);
      if (!next || next.innerHTML === part.innerHTML) continue;
      const before = focused(part);
      const scrolled = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
      part.replaceChildren(...next.childNodes);
      [...part.querySelectorAll(".scroll")].forEach((one, at) => { one.scrollLeft = scrolled[at] || 0; });
      focus(part, before);
    }
  };

  const refresh = async () => {
    if (isBusy) { isStale = true; return; }
    isBusy = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
      if (!answer.ok) { say("cannot be updated"); return; }
      replace(await page(answer));
      say("live");
    } catch {
      say("offline");
    } finally {
      isBusy = false;
      if (isStale) { isStale = false; refresh(); }
    }
  };

  // A button with a name leads to another page, which the browser loads itself.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-in-place]") || (event.submitter && event.submitter.name)) return;
    event.preventDefault();
    const told = document.getElementById(form.dataset.inPlace);
    const body = new URLSearchParams(new FormData(form));
    told.textContent = "saving …";
    try {
      const answer = await fetch(form.action, { method: "POST", body, credentials: "same-origin", cache: "no-store" });
      const fresh = await page(answer);
      if (answer.ok) replace(fresh);
      const problem = fresh.querySelector("main p");
      told.textContent = answer.ok ? "saved" : problem ? problem.textContent : "not saved";
    } catch {
      told.textContent = "not saved: the viewer does not answer";
    }
  });

  if (!address || !window.EventSource) return;
  const events = new EventSource(address);
  // What has happened between loading and following is caught up with.
  events.addEventListener("following", refresh);
  events.addEventListener("changed", refresh);
  events.addEventListener("error", () => say("offline"));
})();
