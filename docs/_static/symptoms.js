// Ranks the entries of the Symptoms page for a pasted text, by the text's rare words.
// This is the only place that ranks: the page runs it, and so do the tests.
"use strict";

const symptoms = (() => {
  const LOG_PREFIX = /^(?:\[?rank\d+\]?:?\s*)?[VDIWEC]\d{4} [\d:.]+ \d+ \S+\](?: \[[\d/_]+\])?(?: \[__\w+\])?/;
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

  function clean(text) {
    const ids = text.match(/\bgb\d{4,}\b/gi) || [];
    const kept = [];
    let inFrame = false;
    for (const raw of text.split(/\r?\n/)) {
      const line = raw.replace(LOG_PREFIX, "").replace(/^\[?rank\d+\]?:?\s?/, "");
      if (FRAME.test(line)) {
        inFrame = true;
      } else if (inFrame && CODE_OF_A_FRAME.test(line)) {
        continue; // the source line under a frame says what you call, not what failed
      } else {
        inFrame = false;
        kept.push(line);
      }
    }
    const plain = NOISE.reduce((rest, noise) => rest.replace(noise, " "), kept.join("\n"));
    return plain + "\n" + ids.join(" ");
  }

  // The words of a text, and each pair of neighbours, which is rarer than both.
  function terms(text) {
    const found = new Set();
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
    return { weight, prepared: prepared.map((one) => ({ ...one, size: size(one.said) })) };
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

  return { prepare, rank };
})();

// The page: nothing is sent anywhere, and without this script the list below remains.
if (typeof document !== "undefined" && document.getElementById("symptom-matcher")) {
  const [form, input, status, results, data] = ["matcher", "text", "status", "results", "data"].map(
    (name) => document.getElementById("symptom-" + name),
  );
  const entries = JSON.parse(data.textContent);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const prepared = symptoms.prepare(entries);

  const add = (parent, tag, text, name) => {
    const child = parent.appendChild(document.createElement(tag));
    child.textContent = text;
    if (name) child.className = name;
    return child;
  };

  const show = () => {
    const best = symptoms.rank(input.value, prepared).slice(0, 3);
    results.replaceChildren();
    status.textContent = best.length
      ? `${best.length} ${best.length > 1 ? "entries" : "entry"}, best first`
      : input.value.trim() && "No entry shares a rare word with this; the list below has all.";
    for (const { id } of best) {
      const { title, texts, words } = byId.get(id);
      const item = results.appendChild(document.createElement("li"));
      const link = add(item, "a", title);
      link.href = document.querySelector(`#entry-${id} a`).href;
      add(item, "code", texts[0]);
      add(item, "p", words);
    }
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
  input.addEventListener("input", show);
}

if (typeof module !== "undefined") module.exports = symptoms;
