// A chart of bars. Each bar has its label and its value written beside it, so it needs neither pointer nor keys.
"use strict";

const ROW = 20; // the height of a bar with its air, enough for a line of text
const COLUMN = 25; // bars below each other before a wide chart begins another column; more bars get the whole width

function drawBars(drawing, chart) {
  const { labels, values } = chart;
  const plot = html("div", { className: "plot" });
  const note = html("p", { className: "note" });
  drawing.append(plot, note);
  drawing.parentElement.classList.toggle("wide", labels.length > COLUMN);

  const known = values.filter((value) => value !== null && (!chart.logarithmic || value > 0));
  const place = chart.logarithmic ? Math.log10 : (value) => value;
  // A logarithmic bar has no natural start: the decade below the smallest value is one, and the note says so.
  const decade = known.length === 0 ? 0 : Math.ceil(Math.log10(Math.min(...known)) - 1e-9) - 1;
  const low = chart.logarithmic ? decade : Math.min(0, ...known);
  const high = Math.max(chart.logarithmic ? decade + 1 : low, ...known.map(place));
  const start = chart.logarithmic ? low : 0;
  note.textContent = chart.logarithmic ? `${chart.values_name}; the axis is logarithmic and bars begin at ${powerOfTen(decade)}.` : `${chart.values_name}.`;

  const longest = Math.max(...labels.map((label) => label.length), 1);
  drawAtEachWidth(plot, (width) => {
    const columns = Math.max(1, Math.min(Math.floor(width / 300), Math.ceil(labels.length / COLUMN)));
    const rows = Math.ceil(labels.length / columns);
    const columnWidth = width / columns;
    // About seven pixels a letter. Labels that would leave the bars too little room stand above them, whole, in as many lines as it takes.
    const above = longest * 7 + 10 > 0.36 * columnWidth;
    const letters = Math.max(1, Math.floor((columnWidth - 12) / 7));
    const lines = above ? Math.ceil(longest / letters) : 0;
    const step = ROW * (1 + lines);
    const labelWidth = above ? 0 : longest * 7 + 10;
    const barWidth = columnWidth - labelWidth - 84;
    const scale = (value) => ((value - low) / (high - low || 1)) * barWidth;
    const height = rows * step + 4;
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": `${chart.title}: ${count(labels.length, "bar")}, ${chart.values_name} by ${chart.labels_name}. The numbers are in the table below.` });
    labels.forEach((label, i) => {
      const [x, y] = [Math.floor(i / rows) * columnWidth + labelWidth, (i % rows) * step + 2 + lines * ROW];
      const value = values[i];
      const drawn = value !== null && (!chart.logarithmic || value > 0);
      const [from, to] = drawn ? [scale(start), scale(place(value))].sort((a, b) => a - b) : [scale(start), scale(start)];
      const parts = above ? label.match(new RegExp(`.{1,${letters}}`, "gsu")) ?? [""] : [label];
      parts.forEach((part, k) => picture.append(above
        ? svg("text", { x, y: y - (parts.length - k) * ROW + ROW / 2, dy: "0.35em" }, part)
        : svg("text", { x: x - 8, y: y + ROW / 2, dy: "0.35em", "text-anchor": "end" }, part)));
      picture.append(
        svg("rect", { class: "bar", x: (x + from).toFixed(1), y: y + 3, width: (to - from).toFixed(1), height: ROW - 6 }),
        svg("text", { class: "value", x: (x + to + 6).toFixed(1), y: y + ROW / 2, dy: "0.35em" }, readable(value, 4)));
    });
    plot.replaceChildren(picture);
  });
}
