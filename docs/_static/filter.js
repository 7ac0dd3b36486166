// A field above a table of class cip-filter that keeps the rows which hold its words.
document.addEventListener("DOMContentLoaded", () => {
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
        row.hidden = !words.every((word) => texts[n].includes(word));
        kept += !row.hidden;
      });
      told.textContent = `${kept} of ${rows.length} rows`;
    };
    field.addEventListener("input", apply);
    apply();
  }
});
