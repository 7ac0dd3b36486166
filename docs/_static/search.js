// What Sphinx's own search does otherwise here: the order of its hits, what it marks, and
// what it says where there is none.
"use strict";

(() => {
  // These repeat what a page says, or speak of this site: they come after all others.
  const LAST = [
    /-evidence$/,
    /^how-to\/add-/,
    /^reference\/symptoms\/this-site$/,
    /^reference\/(api|behaviour-by-release|changelog|claims|drift-report)$/,
    /^reference\/(production-forms|readings|record-schema|what-changed)$/,
  ];
  // These say what to change: they come before an experiment with the same words.
  const FIRST = /^(module|how-to|reference\/symptoms)\//;
  // These say what another release of torch changes: who asks for that has them first.
  const RELEASES = /^reference\/(behaviour-by-release|what-changed)$/;
  const UPGRADE = /upgrad|migrat|release notes|breaking change/i;
  let upgrades = false;
  // On the page of a hit Sphinx marks each word of the search: of a pasted error, most of it.
  const MOST_MARKED = 4;

  // Sphinx itself tells a word in a heading (15) from one in the text (5), and no more.
  Scorer.score = ([page, , anchor, , score, , kind]) => {
    if (upgrades && RELEASES.test(page)) return score + 50;
    if (kind === "title" && !anchor) return score + 5; // the page's own title is asked for
    if (LAST.some((one) => one.test(page))) return score - 50;
    return score + (FIRST.test(page) ? 1 : 0);
  };

  const parse = Search._parseQuery;
  Search._parseQuery = (query) => {
    upgrades = UPGRADE.test(query);
    const [text, terms, excluded, marked, objects] = parse(query);
    if (marked.size > MOST_MARKED) {
      marked.clear();
      localStorage.removeItem("sphinx_highlight_terms");
    }
    return [text, terms, excluded, marked, objects];
  };

  // A page is a hit when it holds every word: a pasted error often has none, and needs none.
  const none =
    "Your search did not match any documents. Please make sure that all words are spelled" +
    " correctly and that you've selected enough categories.";
  Documentation.TRANSLATIONS[none] =
    "No page holds all of these words. Take fewer, or the line that names the error.";
})();
