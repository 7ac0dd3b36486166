/* The break-even calculator: fields beside the table that holds the records' figures. */
"use strict";

/* Steps after which compiling is paid back; null where it never is, NaN without three numbers. */
function breakEven(compileS, eagerMs, compiledMs) {
  const numbers = [compileS, eagerMs, compiledMs];
  if (!numbers.every((number) => Number.isFinite(number) && number >= 0)) return NaN;
  const savedMs = eagerMs - compiledMs;
  return savedMs > 0 ? Math.ceil((compileS * 1000) / savedMs) : null;
}

/* The sentence that is shown for the three figures. */
function sentence(compileS, eagerMs, compiledMs) {
  const steps = breakEven(compileS, eagerMs, compiledMs);
  if (Number.isNaN(steps)) return "Each field takes a number that is not negative.";
  if (steps === null) return "Never paid back: the compiled step is no faster.";
  const minutes = (steps * compiledMs) / 60000;
  return `Paid back after ${steps} steps, ${minutes.toPrecision(2)} minutes of compiled steps.`;
}

/* Rows of the table as [name, compile s, eager ms, compiled ms]. */
function recorded(table) {
  return Array.from(table.tBodies[0].rows, (row) => {
    const cells = Array.from(row.cells, (cell) => cell.textContent.trim());
    return [cells[0], ...cells.slice(1, 4).map(Number)];
  });
}

function labelled(text, field) {
  const label = document.createElement("label");
  label.append(text, " ", field);
  return label;
}

function numberField(name) {
  const field = document.createElement("input");
  Object.assign(field, { type: "number", min: "0", step: "any", name, inputMode: "decimal" });
  return field;
}

function addCalculator(table) {
  const rows = recorded(table);
  const choice = document.createElement("select");
  choice.append(...rows.map(([name], index) => new Option(name, String(index))));
  const fields = ["compile_s", "eager_ms", "compiled_ms"].map(numberField);
  const labels = ["Compile, seconds", "Eager step, ms", "Compiled step, ms"];
  const result = document.createElement("output");
  result.setAttribute("aria-live", "polite");

  const show = () => {
    result.value = sentence(...fields.map((field) => field.valueAsNumber));
  };
  const start = () => {
    fields.forEach((field, index) => {
      field.value = String(rows[Number(choice.value)][index + 1]);
    });
    show();
  };
  const form = document.createElement("form");
  form.className = "cip-break-even";
  form.setAttribute("aria-label", "Break-even calculator");
  form.append(labelled("Start from", choice));
  form.append(...fields.map((field, index) => labelled(labels[index], field)), result);
  form.addEventListener("submit", (event) => event.preventDefault());
  choice.addEventListener("change", start);
  fields.forEach((field) => field.addEventListener("input", show));
  (table.closest(".table-wrapper") || table).after(form);
  start();
}

if (typeof document !== "undefined") {
  document.addEventListener("DOMContentLoaded", () => {
    const table = document.querySelector("section#break-even table");
    if (table) addCalculator(table);
  });
} else {
  module.exports = { breakEven, sentence };
}
