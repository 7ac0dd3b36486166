// A field above a table of class cip-filter that keeps the rows which hold its words. A
// range, "2.8.0 to 2.12.1", holds each release within it.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const { compare } = new Intl.Collator("en", { numeric: true });
  const spans = (text, release) =>
    [...text.matchAll(/(\d+\.\d+\.\d+) to (\d+\.\d+\.\d+)/g)].some(
      ([, first, last]) => compare(first, release) < 0 && compare(release, last) < 0,
    );
  const holds = (text, word) =>
    text.includes(word) || (/^\d+\.\d+/.test(word) && spans(text, word));
  for (const box of document.querySelectorAll("div.cip-filter")) {
    const rows = [...box.querySelectorAll("tbody tr")];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const label = document.createElement("label");
    const field = document.createElement("input");
    const told = document.createElement("output");
    Object.assign(field, { type: "search", placeholder: "words, an API, a release" });
    label.append("Filter ", field, " ", told);
    box.prepend(label);
    const apply = () => {
      const words = field.value.toLowerCase().split(/\s+/);
      let kept = 0;
      rows.forEach((row, n) => {
        row.hidden = !words.every((word) => holds(texts[n], word));
        kept += !row.hidden;
      });
      told.textContent = `${kept} of ${rows.length} rows`;
    };
    field.addEventListener("input", apply);
    apply();
  }
});
