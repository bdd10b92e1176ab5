// The page: its data, what the reader chose, and the controls that change it.
"use strict";

// The names are those of the columns in the data.
const X_AXES = {
  seconds: "Time (s)",
  gradients: "Gradients",
  component_gradients: "Component gradients",
  lo_calls: "LO calls",
  passes: "Passes over the data",
  iterations: "Iterations",
};
const Y_AXES = {
  gap: "FW-gap",
  gap_x: "FW-gap, x part",
  gap_y: "FW-gap, y part",
  certified_gap: "Certified gap",
  bound: "Bound",
};
const AXES = { ...X_AXES, ...Y_AXES };

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function hasNumbers(column) {
  return data.panels.some((panel) => panel.runs.some((run) => column in run.columns));
}

// What is shown. Axes without a single number on the whole page are no choice.
const choices = { x: Object.keys(X_AXES).filter(hasNumbers), y: Object.keys(Y_AXES).filter(hasNumbers) };
const usual = () => ({ x: choices.x[0], y: choices.y[0], logX: true, logY: true, off: new Set() });
const view = usual();

// The view in the address, so that it can be shared. Only what differs from the usual view is written.
function hashOfView() {
  const standard = usual();
  const hash = new URLSearchParams();
  for (const axis of ["x", "y"]) if (view[axis] !== standard[axis]) hash.set(axis, view[axis]);
  for (const log of ["logX", "logY"]) if (!view[log]) hash.set(log, "0");
  for (const method of [...view.off].sort((a, b) => a - b)) hash.append("off", data.methods[method]);
  return hash.toString();
}

// The reverse. What it does not know it passes over: a hash may come from another page or an older one, or be a place on
// this page.
function viewFromHash() {
  const hash = new URLSearchParams(location.hash.slice(1));
  if (location.hash !== "" && !["x", "y", "logX", "logY", "off"].some((key) => hash.has(key))) return;
  const read = usual();
  for (const axis of ["x", "y"]) if (choices[axis].includes(hash.get(axis))) read[axis] = hash.get(axis);
  for (const log of ["logX", "logY"]) if (hash.get(log) === "0") read[log] = false;
  for (const name of hash.getAll("off")) {
    if (data.methods.includes(name)) read.off.add(data.methods.indexOf(name));
  }
  Object.assign(view, read);
}

const charts = [];

function showControls() {
  byId("x").value = view.x;
  byId("y").value = view.y;
  byId("log-x").checked = view.logX;
  byId("log-y").checked = view.logY;
  for (const box of byId("methods").querySelectorAll("input")) box.checked = !view.off.has(Number(box.value));
}

function changed() {
  const hash = hashOfView();
  // Not an entry of the history for each click; and some browsers forbid this for files.
  try { history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search); } catch { /* The view is then not shared. */ }
  for (const chart of charts) chart.update();
}

function setUpControls() {
  for (const axis of ["x", "y"]) {
    byId(axis).append(...choices[axis].map((name) => html("option", { value: name }, AXES[name])));
    byId(axis).addEventListener("change", () => { view[axis] = byId(axis).value; changed(); });
  }
  for (const [id, log] of [["log-x", "logX"], ["log-y", "logY"]]) {
    byId(id).addEventListener("change", () => { view[log] = byId(id).checked; changed(); });
  }
  data.methods.forEach((name, method) => {
    const box = html("input", { type: "checkbox", value: method });
    box.addEventListener("change", () => {
      if (box.checked) view.off.delete(method);
      else view.off.add(method);
      changed();
    });
    byId("methods").append(html("label", { className: "check" }, box, swatch(method), html("span", {}, name)));
  });
  byId("csv").addEventListener("click", () => download("runs.csv", "text/csv", csv()));
  byId("json").addEventListener("click", () => download("runs.json", "application/json", JSON.stringify(data)));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").hidden = false;
}

// All points on the page, a row each; unknown numbers are empty cells.
function csv() {
  const columns = Object.keys(AXES);
  const cell = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const rows = [["panel", "method", "repeat", "status", ...columns]];
  for (const panel of data.panels) {
    for (const run of panel.runs) {
      for (let i = 0; i < run.kept; i++) {
        rows.push([panel.name, data.methods[run.method], run.repeat, run.status, ...columns.map((name) => run.columns[name]?.[i])]);
      }
    }
  }
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  html("a", { href: address, download: name }).click();
  // The browser reads the blob after this function; a minute is ample.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function setUpTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const tell = () => button.setAttribute("aria-checked", String(isDark()));
  button.addEventListener("click", () => {
    const name = isDark() ? "light" : "dark";
    theme.show(name);
    theme.remember(name);
    tell();
  });
  system.addEventListener("change", tell);
  tell();
  button.hidden = false;
}

setUpTheme();
for (const article of document.querySelectorAll("[data-bars]")) {
  drawBars(article.querySelector(".drawing"), data.bars[article.dataset.bars]);
}
if (choices.x.length > 0 && choices.y.length > 0) {
  viewFromHash();
  setUpControls();
  showControls();
  for (const article of document.querySelectorAll("[data-panel]")) {
    charts.push(new LineChart(article, data.panels[article.dataset.panel], data.methods, view));
  }
  addEventListener("hashchange", () => {
    viewFromHash();
    showControls();
    for (const chart of charts) chart.update();
  });
}
