// A chart of runs: lines, values under the pointer and under the keys, and the table behind.
"use strict";

// Colour, dash and marker tell methods apart, so that any one of them is enough.
const COLOURS = 8;
const DASHES = ["", "8 3", "2 3", "10 3 2 3", "14 4", "5 2", "10 3 2 3 2 3", "1 4"];
const MARKERS = [
  "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z", // disc
  "M-3 -3H3V3H-3Z", // square
  "M0 -4.2L4 3H-4Z", // triangle
  "M0 -4.6L4.6 0L0 4.6L-4.6 0Z", // diamond
  "M-4 -1.3H-1.3V-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4Z", // cross
  "M0 4.2L4 -3H-4Z", // triangle on its tip
  "M-4.5 -1.6H4.5V1.6H-4.5Z", // beam
  "M-1.6 -4.5H1.6V4.5H-1.6Z", // post
];

function look(method) {
  const round = Math.floor(method / COLOURS);
  return {
    colour: `var(--method-${method % COLOURS})`,
    // After eight methods colours come again, with another dash and marker.
    dash: DASHES[(method + 3 * round) % DASHES.length],
    marker: MARKERS[(method + 3 * round) % MARKERS.length],
  };
}

// A short line as in the charts, for legends.
function swatch(method) {
  const { colour, dash, marker } = look(method);
  return svg("svg", { class: "swatch", viewBox: "0 0 36 12", width: 36, height: 12, "aria-hidden": "true", style: `--colour: ${colour}` },
    svg("path", { class: "line", d: "M1 6H35", "stroke-dasharray": dash }),
    svg("path", { class: "marker", d: marker, transform: "translate(18 6)" }));
}

// The points of a run that the axes can show, and how many they cannot.
function visiblePoints(run, view) {
  const xs = run.columns[view.x] ?? [];
  const ys = run.columns[view.y] ?? [];
  const points = [];
  let notPositive = 0;
  let unknown = 0;
  for (let i = 0; i < run.kept; i++) {
    const x = xs[i] ?? null;
    const y = ys[i] ?? null;
    if (x === null || y === null) unknown++;
    else if ((view.logX && x <= 0) || (view.logY && y <= 0)) notPositive++;
    else points.push({ x, y });
  }
  return { points, notPositive, unknown };
}

class LineChart {
  constructor(article, panel, methods, view) {
    this.panel = panel;
    this.methods = methods;
    this.view = view;
    this.at = null; // the point that is read: { line, index }
    this.byKeys = false; // whether keys chose it: then a pointer that leaves does not take it away
    this.plot = html("div", { className: "plot", tabIndex: 0 });
    this.plot.setAttribute("role", "application");
    this.plot.setAttribute("aria-roledescription", "chart");
    this.plot.setAttribute("aria-describedby", "keys");
    this.tip = html("div", { className: "tip", hidden: true });
    this.tip.setAttribute("aria-hidden", "true");
    this.live = html("p", { className: "unseen live" });
    this.live.setAttribute("aria-live", "polite");
    this.legend = html("p", { className: "legend" });
    this.legend.setAttribute("aria-hidden", "true");
    this.note = html("p", { className: "note" });
    this.table = html("div", { className: "scroll", tabIndex: 0 });
    this.table.setAttribute("role", "region");
    this.table.setAttribute("aria-label", `Numbers of the chart of ${panel.name}`);
    this.details = html("details", { className: "numbers" }, html("summary", {}, "Numbers of this chart"), this.table);
    article.querySelector(".drawing").append(this.legend, this.plot, this.live, this.note, this.details);

    // A table of thousands of rows costs more than the chart: it is made when somebody looks.
    this.details.addEventListener("toggle", () => this.fillTable());
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerdown", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => { if (!this.byKeys) this.read(null); });
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.plot.addEventListener("blur", () => this.read(null));
    drawAtEachWidth(this.plot, (width) => this.draw(width));
  }

  // After a change of the view.
  update() {
    this.at = null;
    this.draw(this.width);
    this.fillTable();
  }

  draw(width) {
    if (!width) return;
    this.width = width;
    const view = this.view;
    const height = Math.round(Math.min(440, Math.max(270, 0.7 * width)));
    const [left, right, top, bottom] = [58, 14, 22, 44];
    const shown = this.panel.runs.filter((run) => !view.off.has(run.method));
    const looked = shown.map((run) => ({ run, ...visiblePoints(run, view) }));
    this.lines = looked.filter((line) => line.points.length > 0);
    const all = this.lines.flatMap((line) => line.points);
    const x = makeScale(all.map((p) => p.x), view.logX, left, width - right, Math.floor(width / 85));
    const y = makeScale(all.map((p) => p.y), view.logY, height - bottom, top, Math.floor(height / 30));
    for (const line of this.lines) {
      for (const point of line.points) [point.px, point.py] = [x.pixel(point.x), y.pixel(point.y)];
    }

    const grid = svg("g", { class: "grid-lines" });
    for (const tick of x.ticks) {
      const at = x.pixel(tick.value).toFixed(1);
      grid.append(svg("path", { d: `M${at} ${top}V${height - bottom}` }),
        svg("text", { x: at, y: height - bottom + 17, "text-anchor": "middle" }, tick.text));
    }
    for (const tick of y.ticks) {
      const at = y.pixel(tick.value).toFixed(1);
      grid.append(svg("path", { d: `M${left} ${at}H${width - right}` }),
        svg("text", { x: left - 8, y: at, dy: "0.35em", "text-anchor": "end" }, tick.text));
    }
    this.focusRing = svg("g", { class: "ring" });
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
      grid,
      svg("path", { class: "frame", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
      svg("text", { class: "axis-label y-label", x: 4, y: 12 }, AXES[view.y]),
      svg("text", { class: "axis-label x-label", x: width - right, y: height - 6, "text-anchor": "end" }, AXES[view.x]),
      ...this.lines.map((line) => this.drawLine(line)),
      this.focusRing);
    if (this.lines.length === 0) {
      drawing.append(svg("text", { class: "nothing", x: (left + width - right) / 2, y: (top + height - bottom) / 2, "text-anchor": "middle" },
        shown.length < this.panel.runs.length && shown.length === 0 ? "All methods are switched off." : "These axes have nothing to show here."));
    }
    this.plot.replaceChildren(drawing, this.tip);
    this.plot.setAttribute("aria-label",
      `${this.panel.name}: ${AXES[view.y]} against ${AXES[view.x]}, ${count(this.lines.length, "line")}`);

    const methods = [...new Set(this.lines.map((line) => line.run.method))];
    this.legend.replaceChildren(...methods.map((method) => html("span", {}, swatch(method), this.methods[method])));
    this.note.textContent = leftOut(looked);
    this.note.hidden = this.note.textContent === "";
    this.read(this.at, this.byKeys);
  }

  // Steps after: what is best so far stays so until the next point.
  drawLine(line) {
    const { colour, dash, marker } = look(line.run.method);
    const [first, ...rest] = line.points;
    const path = `M${first.px.toFixed(1)} ${first.py.toFixed(1)}`
      + rest.map((p) => `H${p.px.toFixed(1)}V${p.py.toFixed(1)}`).join("");
    const group = svg("g", { class: line.run.repeat > 0 ? "run again" : "run", "data-method": line.run.method, style: `--colour: ${colour}` },
      svg("path", { class: "line", d: path, "stroke-dasharray": dash }));
    // Markers about 70 pixels apart, and at the end.
    let last = null;
    line.points.forEach((p, i) => {
      const ends = i === line.points.length - 1;
      if (last && !ends && Math.hypot(p.px - last.px, p.py - last.py) < 70) return;
      last = p;
      group.append(svg("path", { class: "marker", d: marker, transform: `translate(${p.px.toFixed(1)} ${p.py.toFixed(1)})` }));
    });
    return group;
  }

  // The nearest point to the pointer, if one is near.
  point(event) {
    const box = this.plot.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let nearest = 60;
    this.lines.forEach((line, l) => line.points.forEach((p, i) => {
      const distance = Math.hypot(p.px - px, p.py - py);
      if (distance < nearest) [nearest, best] = [distance, { line: l, index: i }];
    }));
    this.read(best);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || this.lines.length === 0) return;
    const line = this.lines[this.at?.line ?? 0].points;
    const index = this.at?.index ?? 0;
    const along = (step) => ({ line: this.at?.line ?? 0, index: Math.min(line.length - 1, Math.max(0, index + step)) });
    const moves = {
      ArrowRight: () => (this.at ? along(1) : along(0)),
      ArrowLeft: () => (this.at ? along(-1) : along(line.length)),
      PageDown: () => along(10),
      PageUp: () => along(-10),
      Home: () => along(-line.length),
      End: () => along(line.length),
      ArrowDown: () => this.otherLine(1),
      ArrowUp: () => this.otherLine(-1),
      Escape: () => null,
    };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    this.read(moves[event.key](), true);
  }

  // The next or the previous line, at the point that is nearest along the horizontal axis.
  otherLine(step) {
    if (!this.at) return { line: 0, index: 0 };
    const line = (this.at.line + step + this.lines.length) % this.lines.length;
    const { px } = this.lines[this.at.line].points[this.at.index];
    const distances = this.lines[line].points.map((p) => Math.abs(p.px - px));
    return { line, index: distances.indexOf(Math.min(...distances)) };
  }

  // Shows the values of a point; aloud for the keys only, as a pointer passes many points.
  read(at, byKeys = false) {
    this.at = at;
    this.byKeys = byKeys;
    this.focusRing?.replaceChildren();
    this.tip.hidden = at === null;
    if (at === null) {
      this.live.textContent = "";
      return;
    }
    const { run, points } = this.lines[at.line];
    const p = points[at.index];
    const name = this.runName(run);
    const [xText, yText] = [readable(p.x), readable(p.y)];
    this.focusRing.append(svg("circle", { cx: p.px, cy: p.py, r: 7, style: `--colour: ${look(run.method).colour}` }));
    this.tip.replaceChildren(html("strong", {}, swatch(run.method), name),
      html("span", {}, `${AXES[this.view.y]} ${yText}`), html("span", {}, `${AXES[this.view.x]} ${xText}`));
    // Beside the point, on the side that has room.
    const rightHalf = p.px > this.width / 2;
    this.tip.style.left = rightHalf ? "auto" : `${p.px + 12}px`;
    this.tip.style.right = rightHalf ? `${this.width - p.px + 12}px` : "auto";
    this.tip.style.top = `${Math.max(0, p.py - 62)}px`;
    if (byKeys) {
      this.live.textContent = `${name}, point ${at.index + 1} of ${points.length}: ${AXES[this.view.y]} ${yText}, ${AXES[this.view.x]} ${xText}`;
    }
  }

  runName(run) {
    const repeated = this.panel.runs.some((other) => other.method === run.method && other.repeat !== run.repeat);
    return this.methods[run.method] + (repeated ? `, repeat ${run.repeat}` : "");
  }

  fillTable() {
    if (!this.details.open) {
      this.table.replaceChildren();
      return;
    }
    const heading = (text, className) => html("th", { scope: "col", className }, text);
    const head = html("tr", {}, heading("Method", ""),
      ...["Repeat", AXES[this.view.x], AXES[this.view.y]].map((text) => heading(text, "number")));
    const body = html("tbody");
    for (const { run, points } of this.lines) {
      for (const { x, y } of points) {
        body.append(html("tr", {}, html("td", {}, this.methods[run.method]), html("td", { className: "number" }, run.repeat),
          html("td", { className: "number" }, x), html("td", { className: "number" }, y)));
      }
    }
    this.table.replaceChildren(html("table", {}, html("thead", {}, head), body));
  }
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

// What the chart cannot show, in words.
function leftOut(looked) {
  const sum = (what) => looked.reduce((total, line) => total + line[what], 0);
  const [notPositive, unknown] = [sum("notPositive"), sum("unknown")];
  const parts = [];
  if (notPositive > 0) parts.push(`${count(notPositive, "point")} at or below zero, where a logarithmic axis has no place`);
  if (unknown > 0) parts.push(`${count(unknown, "point")} whose values are not known`);
  return parts.length === 0 ? "" : `Left out: ${parts.join("; ")}.`;
}
