// Charts by Chart.js: lines, bars and points, with the same keys and colours for all.
// Each is made by a function that is called again when the colours change.
"use strict";

const charts = (() => {
  const drawn = [];   // {canvas, make, chart}
  const painters = [];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const paletteColour = (k) => colour("--c" + (k % 10));
  const short = (text, most = 24) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const brief = (value) => (value === null ? "none" : Number(value.toPrecision(4)).toString());
  const say = (text) => { document.getElementById("said").textContent = text; };

  function draw(entry) {
    if (entry.chart) entry.chart.destroy();
    entry.chart = new Chart(entry.canvas, entry.make());
  }
  function redraw() {
    drawn.forEach(draw);
    painters.forEach((paint) => paint());
  }

  const axis = (title, more = {}) => ({
    title: { display: title !== "", text: title, color: colour("--soft") },
    grid: { color: colour("--rule"), drawBorder: false },
    ...more,
    ticks: { color: colour("--soft"), maxRotation: 0, autoSkipPadding: 12, ...more.ticks },
  });
  const base = (more) => ({ animation: false, responsive: true, maintainAspectRatio: false, ...more });
  const plugins = (legend, more = {}) => ({
    legend: { display: legend, position: "bottom", onClick: () => {}, labels: { color: colour("--ink"), usePointStyle: true, boxWidth: 7, boxHeight: 7, padding: 16 } },
    ...more,
  });
  // Labels at powers of ten; over a short range also at twice and five times these.
  const powers = {
    callback(value) {
      const digit = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
      if (digit !== 1 && !(this.max / this.min < 30 && (digit === 2 || digit === 5))) return null;
      return value >= 0.01 && value < 1e4 ? String(Number(value.toPrecision(3))) : value.toExponential(0);
    },
  };

  /** Arrow keys go from point to point and say what it is; Escape leaves. */
  function keys(entry, describe) {
    let at = -1;
    entry.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step && event.key !== "Escape") return;
      event.preventDefault();
      const chart = entry.chart;
      const points = chart.data.datasets.flatMap((set, datasetIndex) =>
        chart.isDatasetVisible(datasetIndex) ? set.data.map((_, index) => ({ datasetIndex, index })) : []);
      at = step && points.length ? (at + step + points.length) % points.length : -1;
      const active = at < 0 ? [] : [points[at]];
      const place = at < 0 ? { x: 0, y: 0 } : chart.getDatasetMeta(active[0].datasetIndex).data[active[0].index];
      chart.setActiveElements(active);
      chart.tooltip.setActiveElements(active, { x: place.x, y: place.y });
      chart.update("none");
      say(at < 0 ? "" : describe(active[0].datasetIndex, active[0].index));
    });
  }

  function figure(title, label, make, describe, numbers, before = []) {
    const canvas = element("canvas", { role: "application", "aria-roledescription": "chart", tabindex: "0", "aria-label": label + " Arrow keys read the points." });
    const box = element("div", { class: "canvas" }, canvas);
    const entry = { canvas, make };
    drawn.push(entry);
    keys(entry, describe);
    const all = element("figure", {}, element("figcaption", {}, title), ...before, box, numbers);
    return { all, box, entry };
  }

  /** Buttons that show and hide; `flip(k, on)` is told. */
  function toggles(name, items, flip) {
    const buttons = items.map(({ text, sign }, k) => {
      const button = element("button", { type: "button", "aria-pressed": "true" }, ...(sign ? [sign] : []), short(text, 32));
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        flip(k, on);
      });
      return button;
    });
    return element("div", { class: "toggles", role: "group", "aria-label": name }, element("span", { class: "name" }, name), ...buttons);
  }

  function lines(block) {
    const hidden = new Set();
    const many = block.series.length > 3;
    // Many numbers in a row are an axis of numbers, not of names.
    const linear = block.x.length > 30 && block.x.every(Number.isFinite);
    const make = () => ({
      type: "line",
      data: {
        labels: block.x,
        datasets: block.series.map((one, k) => ({
          label: one.name, data: linear ? block.x.map((x, i) => ({ x, y: one.values[i] })) : one.values, hidden: hidden.has(k), borderWidth: 2, spanGaps: true,
          borderColor: paletteColour(one.colour ?? k), backgroundColor: paletteColour(one.colour ?? k),
          borderDash: one.dashed ? [5, 4] : [], pointStyle: ["circle", "rect", "triangle", "rectRot"][(one.colour ?? k) % 4],
          pointRadius: block.x.length > 60 ? 0 : 3, pointHitRadius: 8,
        })),
      },
      options: base({
        interaction: { mode: "nearest", intersect: false },
        scales: {
          x: axis(block.x_title, linear ? { type: "linear", min: block.x[0], max: block.x[block.x.length - 1], ticks: { maxTicksLimit: 8 } } : {}),
          y: axis(block.y_title ?? "", block.log ? { type: "logarithmic", ticks: powers } : {}),
        },
        plugins: plugins(block.series.length > 1),
      }),
    });
    const value = (number) => (number === null ? block.none ?? "none" : number === 0 ? "zero" : brief(number));
    const ends = block.series.map((one) => `${one.name} from ${value(one.values[0])} to ${value(one.values[one.values.length - 1])}`);
    const label = `Line chart. ${block.title}, by ${block.x_title}: ${ends.join("; ")}.`;
    const made = figure(block.title, label, make,
      (set, k) => `${block.x_title} ${block.x[k]}, ${block.series[set].name}: ${value(block.series[set].values[k])}`,
      numbersOf(block.title, [block.x_title, ...block.series.map((one) => one.name)],
        () => block.x.map((x, k) => [String(x), ...block.series.map((one) => (one.values[k] === null ? block.none ?? "none" : brief(one.values[k])))])),
      many ? [toggles("Show", block.series.map((one) => ({ text: one.name })), (k, on) => {
        on ? hidden.delete(k) : hidden.add(k);
        made.entry.chart.setDatasetVisibility(k, on);
        made.entry.chart.update();
      })] : []);
    if (many) made.all.classList.add("wide");
    // A logarithmic axis shows a zero at its floor, but needs a number above it.
    const all = block.series.flatMap((one) => one.values);
    if (!all.some((number) => (block.log ? number > 0 : number !== null))) {
      const every = (what) => all.every((number) => number === what);
      made.box.replaceWith(element("p", { class: "note" }, every(0) ? "Every value is zero." : every(null) ? "No value is finite." : "No value is above zero."));
      drawn.splice(drawn.indexOf(made.entry), 1);
    }
    return made.all;
  }

  function bars(block) {
    const make = () => ({
      type: "bar",
      data: {
        labels: block.labels.map((text) => short(text)),
        datasets: [{ label: block.value_title, data: block.values, backgroundColor: colour("--accent"), borderRadius: 3, maxBarThickness: 22 }],
      },
      options: base({
        indexAxis: "y",
        scales: { x: axis(block.value_title, { beginAtZero: true, suggestedMax: block.most }), y: axis("", { grid: { display: false }, ticks: { autoSkip: false } }) },
        plugins: plugins(false, { tooltip: { callbacks: { title: (items) => short(block.labels[items[0].dataIndex], 80) } } }),
      }),
    });
    const said = block.labels.map((text, k) => `${short(text, 40)} ${brief(block.values[k])}`);
    return figure(block.title, `Bar chart. ${block.title}: ${said.slice(0, 5).join("; ")}.`, make, (_, k) => said[k],
      numbersOf(block.title, ["feature", block.value_title], () => block.labels.map((text, k) => [text, brief(block.values[k])]))).all;
  }

  return { colour, paletteColour, short, brief, axis, base, plugins, figure, toggles, lines, bars, redraw, onRedraw: (paint) => painters.push(paint) };
})();
