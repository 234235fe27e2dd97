// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];

  // The theme is the system's, until the reader chooses one.
  const toggle = $("#theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("bulkhead-theme"); } catch { return null; } };
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  const label = () => { toggle.textContent = isDark() ? "Light theme" : "Dark theme"; };
  if (stored() === "dark" || stored() === "light") root.dataset.theme = stored();
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("bulkhead-theme", root.dataset.theme); } catch { /* a page without storage */ }
    label();
  });
  dark.addEventListener("change", label);
  label();
  toggle.hidden = false;

  const body = $("#rows");
  if (!body) return;
  const rows = [...body.rows];
  const search = $("#search"), group = $("#group"), status = $("#status"), empty = $("#empty");
  const filters = all(".filters button");
  // A row is found by its own words, not by those of its evidence.
  const texts = new Map(rows.map((row) => [row, row.dataset.q.toLowerCase()]));
  let wanted = "";

  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const ok = (!wanted || row.dataset.f === wanted) && (!group.value || row.dataset.p === group.value) &&
        words.every((word) => texts.get(row).includes(word));
      row.hidden = !ok;
      if (ok) shown++;
    }
    for (const button of filters) button.setAttribute("aria-pressed", String(button.dataset.f === wanted));
    status.textContent = `${shown} of ${rows.length} rules shown.`;
    empty.hidden = shown > 0;
  };
  const clear = () => { search.value = group.value = wanted = ""; show(); };

  search.addEventListener("input", show);
  group.addEventListener("change", show);
  for (const button of filters) {
    button.addEventListener("click", () => { wanted = button.dataset.f; show(); });
  }
  $("#clear").addEventListener("click", () => { clear(); search.focus(); });
  for (const link of all("a[data-group]")) {
    link.addEventListener("click", () => { clear(); group.value = link.dataset.group; show(); });
  }

  // The first click sorts upwards, and the next one downwards.
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  for (const button of all("thead button")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const head = button.closest("th"), column = head.cellIndex;
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.cells) {
        if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      }
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.s ?? row.cells[column].textContent.trim();
      rows.sort((a, b) => (down ? -1 : 1) * compare(key(a), key(b)));
      body.append(...rows);
    });
  }

  // A link to a rule or an attack opens it, also if a filter hides it.
  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    for (const row of all("tr.target")) row.classList.remove("target");
    if (!target) return;
    const row = target.closest("tr"), details = target.closest("details");
    if (row && row.hidden) clear();
    if (row) row.classList.add("target");
    if (!details) return;
    details.open = true;
    (row || details).scrollIntoView({ block: "start", behavior: "instant" });
    details.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("hashchange", follow);
  // The browser scrolls to the fragment itself when the page has loaded.
  addEventListener("load", () => setTimeout(follow));

  // Print what the style sheet does not summarise, and restore the page afterwards.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of opened) details.open = false; });

  $("#controls").hidden = false;
  show();
})();
