/* Escape closes a definition that hover or focus has opened, until the next one. */
const quiet = (on) => document.body.classList.toggle("cip-quiet", on);
document.addEventListener("keydown", (event) => event.key === "Escape" && quiet(true));
document.addEventListener("focusin", () => quiet(false));
document.addEventListener("mouseover", (event) => event.target.closest(".cip-term") || quiet(false));
