"use strict";
// Tables sort by a click on a column, or by Enter and Space on it: numbers by their value, all else as text; a second click turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const before = head.getAttribute("aria-sort");
      // What is largest is what one looks for in numbers.
      const first = numeric ? "descending" : "ascending";
      const other = numeric ? "ascending" : "descending";
      const order = before === first ? other : first;
      const sign = order === "ascending" ? 1 : -1;
      const key = (row) => {
        const cell = row.cells[column];
        return numeric ? parseFloat(cell.dataset.value) : cell.textContent;
      };
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (!numeric) return sign * x.localeCompare(y, undefined, { numeric: true });
        // Cells without a number come last in both orders.
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return sign * (x - y);
      };
      const body = table.tBodies[0];
      body.append(...Array.from(body.rows).sort(compare));
      heads.forEach((one) => one.setAttribute("aria-sort", one === head ? order : "none"));
    });
  });
}
// Values where a finger is: a pointer that hovers has the browser's own tooltip.
const tip = document.getElementById("tip");
document.addEventListener("pointerdown", (event) => {
  const marked = event.pointerType === "mouse" ? null : event.target.closest("[data-tip]");
  tip.hidden = !marked;
  if (!marked) return;
  tip.textContent = marked.dataset.tip;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = Math.max(8, Math.min(event.clientX + 8, room)) + "px";
  tip.style.top = Math.max(8, event.clientY - tip.offsetHeight - 12) + "px";
});
// On paper everything is unfolded.
const folded = [];
window.addEventListener("beforeprint", () => {
  for (const box of document.querySelectorAll("details:not([open])")) {
    folded.push(box);
    box.open = true;
  }
});
window.addEventListener("afterprint", () => folded.splice(0).forEach((box) => { box.open = false; }));
