"use strict";
// Headings of the tables of class "sortable" become buttons that sort the rows; the page is whole without them.
for (const table of document.querySelectorAll(".sortable table")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") !== "descending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const value = (row) => row.cells[column].textContent.trim();
      const number = (row) => parseFloat(value(row).replace(/,/g, ""));
      const rows = [...body.rows];
      const numeric = rows.every((row) => value(row) === "" || !Number.isNaN(number(row)));
      rows.sort((a, b) => (numeric ? (number(a) || 0) - (number(b) || 0) : value(a).localeCompare(value(b))));
      if (descending) rows.reverse();
      body.append(...rows);
    });
  });
}
