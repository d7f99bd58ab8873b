for (const table of document.querySelectorAll("table.sorts")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        return "order" in cell.dataset ? (cell.dataset.order === "" ? null : Number(cell.dataset.order)) : cell.textContent.trim();
      };
      const rows = [...body.rows].sort((one, two) => {
        const [a, b] = [key(one), key(two)];
        if (a === null || b === null) return (a === null) - (b === null);
        const way = typeof a === "number" ? a - b : a.localeCompare(b);
        return up ? way : -way;
      });
      body.append(...rows);
    });
  });
}
