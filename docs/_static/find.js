// Search from every page: symptoms ranked for a pasted error or log, and titles with the words
// of a short one, above Sphinx's own hits.
// What you paste stays in the browser: the search page takes it after the #, which is not sent.
"use strict";

(() => {
  const root = document.documentElement.dataset.content_root;
  const searchPage = document.getElementById("search-results");
  let pasted = ""; // a field of one line would lose the line ends of a log

  const load = (name) =>
    new Promise((done, failed) => {
      const script = document.createElement("script");
      Object.assign(script, { src: `${root}_static/${name}.js`, onload: done, onerror: failed });
      document.head.append(script);
    });

  // Loaded on the first use; the Symptoms page has both from the start.
  const matcher = (() => {
    let prepared;
    return () =>
      (prepared ??= Promise.all(
        globalThis.symptomEntries ? [] : [load("symptom-data"), load("symptoms")],
      ).then(() => symptoms.prepare(globalThis.symptomEntries)));
  })();
  const titles = (() => {
    let loaded;
    return () => (loaded ??= load("title-data").then(() => globalThis.siteTitles));
  })();

  const make = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  const words = (text) => text.toLowerCase().match(/[a-z0-9]+/g) || [];
  const searchAddress = (text) => `${root}search.html#q=${encodeURIComponent(text)}`;

  // Titles in which each word of the text begins one: first those that begin with the text,
  // then the shortest.
  function titled(text, all) {
    const asked = words(text);
    const has = (title) => asked.every((word) => title.some((one) => one.startsWith(word)));
    const place = ([title]) =>
      title.length + (words(title).join(" ").startsWith(asked.join(" ")) ? 0 : 1000);
    return all
      .filter(([title]) => asked.length && has(words(title)))
      .sort((one, other) => place(one) - place(other))
      .slice(0, 5)
      .map(([title, address, where]) => {
        const link = make("a", { textContent: title, href: root + address });
        return make("li", {}, link, where && ` (${where})`);
      });
  }

  function addSuggestions(form) {
    const field = form.querySelector("input[name=q]");
    const box = make("div", { className: "cip-found", hidden: true });
    box.setAttribute("aria-live", "polite");
    form.after(box);
    const text = () => pasted || field.value;

    const show = async () => {
      const [prepared, all] = await Promise.all([matcher(), titles()]);
      box.hidden = text().trim().length < 3;
      const groups = [
        ["Symptoms like this", symptoms.items(text(), prepared, root, true)],
        ["Pages and terms", titled(text(), all)],
      ].filter(([, found]) => found.length && !box.hidden);
      const asked = field.value.trim();
      const shown = asked.length > 40 ? "this" : `“${asked}”`;
      const rest = make("a", { textContent: `Search all pages for ${shown}`, href: searchAddress(text()) });
      box.replaceChildren(
        ...groups.flatMap(([title, found]) => [make("p", { textContent: title }), make("ol", {}, ...found)]),
        make("p", {}, rest),
      );
    };
    field.addEventListener("focus", () => Promise.all([matcher(), titles()]), { once: true });
    field.addEventListener("paste", (event) => {
      const copied = event.clipboardData.getData("text");
      if (!copied.trim().includes("\n")) return;
      event.preventDefault();
      pasted = copied;
      field.value = copied.trim().replace(/\s+/g, " ");
      show();
    });
    field.addEventListener("input", () => {
      pasted = "";
      show();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      location.href = searchAddress(text());
    });
  }

  async function search(text) {
    document.querySelectorAll("input[name=q]").forEach((field) => {
      field.value = text.trim().replace(/\s+/g, " ");
    });
    const best = symptoms.items(text, await matcher(), root, false);
    if (best.length) {
      const title = make("h2", { textContent: "Symptoms" });
      searchPage.before(make("section", { className: "cip-matches" }, title, make("ol", {}, ...best)));
    }
  }

  document.querySelectorAll("form[role=search]").forEach(addSuggestions);
  if (searchPage) {
    // A hit's summary is read from its page, which no browser allows from a file on disk.
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
    const after = new URLSearchParams(location.hash.slice(1)).get("q");
    const text = after ?? new URLSearchParams(location.search).get("q");
    addEventListener("hashchange", () => location.reload());
    if (text) matcher().then(() => search(text));
    if (after) addEventListener("DOMContentLoaded", () => Search.performSearch(after));
  }
})();
