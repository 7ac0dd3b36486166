// Ranks the entries of the Symptoms page for a pasted text, by the text's rare words.
// This is the only place that ranks: the page runs it, and so do the tests.
"use strict";

const symptoms = (() => {
  const LOG_PREFIX = /^(?:\[?rank\d+\]?:?\s*)?(?:[VDIWEC]\d{4} [\d:.]+ \d+ )?(?:\S+\.py:\d+\](?: \[[\d/_]+\])?(?: \[__\w+\])?|\[[\d :,-]+\] [\w.]+: \[[A-Z]+\])/;
  const FRAME = /^\s*File\s+"?[^\n]*,? (?:line \d+|in )/;
  const CODE_OF_A_FRAME = /^(?:\s*(?:-->\s*)?\d+\s|\s{4,}|[\s^~]*$)/;
  const NOISE = [
    /https?:\/\/\S+/g, // addresses on the web
    /\b0x[0-9a-f]+\b/gi, // and in memory
    /(?:[A-Za-z]:|~)?(?:^|(?<=[\s"'`(=:,~A-Za-z]))[\\/][^\s"'`(),]+/gm, // paths
    /\b[\w./\\-]+\.(?:py|pyd|so|cpp|hpp|h|cu|lib|dll|json)\b(?::\d+)?/g, // files
    /(["'])[^\s"']{1,80}\1/g, // quoted names
    /\b(?:please do this especially if|For even more developer context).*$/gm,
  ];

  // A guard on a value has no word of its own: its names and numbers are yours.
  // It has a line to itself, or stands behind what says why a frame was compiled again.
  const GUARDS = [
    ["guard-number", /(?:^|guard failure: |last reason: )[\s-]*(?:\d+\/\d+: )?(?:L\[\W\w+\W\]|[A-Za-z]\w*) == -?[\d.]/],
    ["guard-attribute", /(?:^|guard failure: |last reason: )[\s-]*(?:\d+\/\d+: )?(?:L\[\W\w+\W\]|\w+)[\w.[\]'"]*\.\w+ == \S/],
  ];

  // What a log of recompiles says before each guard; it is the same whatever the cause.
  const HEAD = /^\s*(?:Recompiling function .*|triggered by the following guard failure\(s\):|guard \d+ failures:)\s*$/;
  const CAUSE = /^\s*- \S/;

  // The lines of a text, without what a log puts before each, nor the indentation of all.
  function lines(text) {
    const bare = text
      .split(/\r?\n/)
      .map((line) => line.replace(LOG_PREFIX, "").replace(/^\[?rank\d+\]?:?\s?/, ""));
    const indents = bare.filter((line) => line.trim()).map((line) => line.search(/\S/));
    const common = indents.length ? Math.min(...indents) : 0;
    return bare.map((line) => line.slice(common));
  }

  function clean(text) {
    const ids = text.match(/\bgb\d{4,}\b/gi) || [];
    const kept = [];
    let inFrame = false;
    for (const line of lines(text)) {
      if (FRAME.test(line)) {
        inFrame = true;
      } else if (inFrame && CODE_OF_A_FRAME.test(line)) {
        continue; // the source line under a frame says what you call, not what failed
      } else {
        inFrame = false;
        kept.push(line);
      }
    }
    const said = kept.some((line) => CAUSE.test(line)) ? kept.filter((line) => !HEAD.test(line)) : kept;
    const plain = NOISE.reduce((rest, noise) => rest.replace(noise, " "), said.join("\n"));
    return plain + "\n" + ids.join(" ");
  }

  // The words of a text, and each pair of neighbours, which is rarer than both.
  function terms(text) {
    const bare = lines(text);
    const found = new Set(
      GUARDS.filter(([, shape]) => bare.some((line) => shape.test(line))).map(([name]) => name),
    );
    for (const line of clean(text).split("\n")) {
      const words = (line.match(/[A-Za-z_][A-Za-z0-9_]+/g) || [])
        .map((word) => word.toLowerCase())
        .filter((word) => !/\d/.test(word) || word.startsWith("gb"));
      words.forEach((word, place) => {
        found.add(word);
        if (place) found.add(words[place - 1] + " " + word);
      });
    }
    return found;
  }

  // Entries with their terms, and the weight of each term: the rarer, the heavier.
  function prepare(entries) {
    const seen = new Map();
    const prepared = entries.map((entry) => {
      const said = new Set(entry.texts.flatMap((text) => [...terms(text)]));
      terms(entry.title).forEach((term) => said.add(term));
      const about = new Set([...terms(entry.words)].filter((term) => !said.has(term)));
      [...said, ...about].forEach((term) => seen.set(term, (seen.get(term) || 0) + 1));
      return { entry, said, about };
    });
    const weight = (term) => Math.log((entries.length + 1) / ((seen.get(term) || 0) + 0.5));
    const size = (said) => [...said].reduce((sum, term) => sum + weight(term) ** 2, 0);
    const sized = prepared.map((one) => ({ ...one, size: size(one.said) }));
    return { weight, prepared: sized, byId: new Map(sized.map((one) => [one.entry.id, one])) };
  }

  // The ids of the entries that share rare words with the text, best first.
  function rank(text, { weight, prepared }) {
    const asked = terms(text);
    const worth = (set) =>
      [...asked].reduce((sum, term) => (set.has(term) ? sum + weight(term) ** 2 : sum), 0);
    return prepared
      .map(({ entry, said, about, size }) => ({
        id: entry.id,
        score: (worth(said) + 0.3 * worth(about)) / Math.sqrt(1 + Math.sqrt(size)),
      }))
      .filter(({ score }) => score > 1)
      .sort((a, b) => b.score - a.score);
  }

  // The best entries as list items; `root` leads from this page to the top of the site.
  function items(text, prepared, root, isBrief) {
    return rank(text, prepared)
      .slice(0, 3)
      .map(({ id }) => {
        const { entry } = prepared.byId.get(id);
        const item = document.createElement("li");
        const add = (tag, said) => {
          const child = item.appendChild(document.createElement(tag));
          child.textContent = said;
          return child;
        };
        add("a", entry.title).href = `${root}${entry.page}.html#${entry.id}`;
        if (!isBrief) {
          add("code", entry.texts[0]);
          add("p", entry.words);
        }
        return item;
      });
  }

  return { prepare, rank, items };
})();

// The Symptoms page: nothing is sent anywhere, and without this script its list remains.
if (typeof document !== "undefined" && document.getElementById("symptom-matcher")) {
  const [form, input, status, results] = ["matcher", "text", "status", "results"].map((name) =>
    document.getElementById("symptom-" + name),
  );
  const prepared = symptoms.prepare(globalThis.symptomEntries);
  const root = document.documentElement.dataset.content_root;

  const show = () => {
    const best = symptoms.items(input.value, prepared, root, false);
    results.replaceChildren(...best);
    status.textContent = best.length
      ? `${best.length} ${best.length > 1 ? "symptoms" : "symptom"}, best first`
      : input.value.trim() && "No symptom shares a rare word with this; the list below has all.";
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
  input.addEventListener("input", show);
}

if (typeof module !== "undefined") module.exports = symptoms;
