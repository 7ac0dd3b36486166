// By keyboard: drawers open and close, and what scrolls on its own takes the focus.
"use strict";

// Sphinx marks the words of a search on the page that it led to, and fails on these, which
// hold "menu" and "light mode"; each icon's button has a name of its own.
document.querySelectorAll("symbol title").forEach((title) => title.remove());

document.addEventListener("DOMContentLoaded", () => {
  // Furo opens a drawer by a label of a hidden box, which no key reaches: a button in it.
  for (const label of document.querySelectorAll("label.nav-overlay-icon, label.toc-overlay-icon")) {
    const box = document.getElementById(label.htmlFor);
    const button = document.createElement("button");
    const tell = () => button.setAttribute("aria-expanded", box.checked);
    const set = (isOpen) => {
      box.checked = isOpen;
      box.dispatchEvent(new Event("change"));
    };
    button.type = "button";
    button.setAttribute("aria-label", box.getAttribute("aria-label"));
    button.append(...label.childNodes);
    button.addEventListener("click", () => set(!box.checked));
    box.addEventListener("change", tell);
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !box.checked) return;
      set(false);
      if (button.checkVisibility()) button.focus();
    });
    label.append(button);
    tell();
  }

  const apply = ({ target }) => {
    const isWider = target.scrollWidth > target.clientWidth;
    const isHigher = target.scrollHeight > target.clientHeight;
    const scrolls = /auto|scroll/.test(getComputedStyle(target).overflow) && (isWider || isHigher);
    if (scrolls) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  };
  const watch = new ResizeObserver((seen) => seen.forEach(apply));
  const boxes = "article pre, article .table-wrapper, article .cip-figure";
  document.querySelectorAll(boxes).forEach((box) => watch.observe(box));
});
