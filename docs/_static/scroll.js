// What scrolls on its own takes the focus, so that the arrow keys can scroll it.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
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

// Escape closes a drawer that the keyboard has opened.
document.addEventListener("keydown", (event) => {
  const open = event.key === "Escape" && document.querySelector(".sidebar-toggle:checked");
  if (!open) return;
  open.checked = false;
  open.focus();
});
