// Lists what a page lacks for accessibility: a language, a title, one first heading; names of fields, pictures and drawings; scopes of
// headers of tables; text of links; ids that are there once.
(() => {
  const lacks = [];
  const all = (selector) => document.querySelectorAll(selector);
  if (!document.documentElement.lang || !document.title) lacks.push("language or title");
  if (all("h1").length !== 1) lacks.push("one h1");
  for (const field of all("input:not([type=hidden], [hidden]), select, textarea")) if (!field.labels.length) lacks.push("label of " + field.name);
  for (const image of all("img")) if (!image.alt) lacks.push("alt of " + image.src);
  // A drawing that repeats the number beside it is hidden from who cannot see it.
  for (const drawing of all("svg:not([aria-hidden=true])")) if (!drawing.getAttribute("aria-label")) lacks.push("name of a drawing");
  for (const table of all("table")) if ([...table.querySelectorAll("th")].some((header) => !header.scope)) lacks.push("scope of headers");
  for (const link of all("a")) if (!link.textContent.trim()) lacks.push("text of " + link.href);
  const ids = [...all("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) lacks.push("distinct ids");
  return lacks;
})()
