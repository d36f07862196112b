// Builds the page from its data: heading, warnings, contents, sections; and the plane of points.
"use strict";

/** The small shape of a cloud, or a dot in the colour of a class. */
function signOf(shape, colourName) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 12 12");
  svg.setAttribute("class", "sign");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  const outlines = { circle: "M6 1.5a4.5 4.5 0 1 0 .01 0z", triangle: "M6 1L11.5 11H.5z", rectRot: "M6 .5L11.5 6L6 11.5L.5 6z", dot: "M6 1a5 5 0 1 0 .01 0z" };
  path.setAttribute("d", outlines[shape]);
  const hollow = shape === "circle";
  path.style.fill = hollow ? "none" : `var(${colourName})`;
  if (hollow) path.style.stroke = `var(${colourName})`;
  if (hollow) path.style.strokeWidth = "2";
  svg.append(path);
  return svg;
}

const shapes = ["circle", "triangle", "rectRot"];

function scatter(block) {
  const classes = block.classes.length ? block.classes : [""];
  const labelled = block.classes.length > 0;
  // One set of points for each cloud and class, so that either can be hidden.
  const sets = block.clouds.flatMap((cloud, c) => classes.map((_, k) => {
    const points = cloud.points.map(([x, y, of, row], at) => ({ x, y, of, row, at })).filter((point) => !labelled || point.of === k);
    return { cloud: c, of: k, points };
  }));
  const shown = { clouds: block.clouds.map(() => true), classes: classes.map(() => true) };
  const visible = (set) => shown.clouds[set.cloud] && shown.classes[set.of];
  const words = (set, point) => {
    const of = !labelled || point.of < 0 ? "" : `, ${block.predicted && set.cloud === 2 ? "predicted " : ""}class ${block.classes[point.of]}`;
    return `${block.clouds[set.cloud].name} point ${point.row}${of}`;
  };
  const make = () => ({
    type: "scatter",
    data: {
      datasets: sets.map((set) => {
        const paint = charts.paletteColour(labelled ? set.of : set.cloud);
        return {
          data: set.points, hidden: !visible(set), pointStyle: shapes[set.cloud], pointRadius: 4, pointHoverRadius: 7, pointHitRadius: 4,
          borderColor: paint, backgroundColor: set.cloud === 0 ? "transparent" : set.cloud === 1 ? paint : paint + "80",
          borderWidth: set.cloud === 0 ? 1.4 : 0.8, order: [2, 0, 1][set.cloud],
        };
      }),
    },
    options: charts.base({
      interaction: { mode: "nearest", intersect: true },
      scales: { x: charts.axis(block.x_title), y: charts.axis(block.y_title) },
      plugins: charts.plugins(false, { tooltip: { enabled: false, external: showTip } }),
    }),
  });
  const tip = element("div", { class: "tip" });
  function showTip({ chart, tooltip }) {
    const item = tooltip.opacity > 0 && tooltip.dataPoints && tooltip.dataPoints[0];
    tip.style.display = item ? "block" : "none";
    if (!item) return;
    const set = sets[item.datasetIndex], point = set.points[item.dataIndex], sheet = block.clouds[set.cloud].sheet;
    tip.replaceChildren(words(set, point));
    if (sheet) tip.append(tile(sheet, point.at, 84, words(set, point)));
    const left = tooltip.caretX > chart.width / 2 ? tooltip.caretX - tip.offsetWidth - 12 : tooltip.caretX + 12;
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = Math.max(0, Math.min(tooltip.caretY + 8, chart.height - tip.offsetHeight)) + "px";
  }
  const flip = (kind) => (k, on) => {
    shown[kind][k] = on;
    sets.forEach((set, at) => made.entry.chart.setDatasetVisibility(at, visible(set)));
    made.entry.chart.update();
  };
  const before = [charts.toggles("Clouds", block.clouds.map((cloud, c) => ({ text: cloud.name, sign: signOf(shapes[c], labelled ? "--soft" : "--c" + c) })), flip("clouds"))];
  if (labelled) before.push(charts.toggles("Classes", classes.map((text, k) => ({ text, sign: signOf("dot", "--c" + (k % 10)) })), flip("classes")));
  const label = `Scatter plot. ${block.title}: ${block.clouds.map((cloud) => `${cloud.points.length} ${cloud.name} points`).join(", ")}.`;
  const rows = () => sets.flatMap((set) => set.points.map((point) =>
    [block.clouds[set.cloud].name, String(point.row), ...(labelled ? [point.of < 0 ? "" : block.classes[point.of]] : []), charts.brief(point.x), charts.brief(point.y)]));
  const made = charts.figure(block.title, label, make, (set, k) => words(sets[set], sets[set].points[k]),
    numbersOf(block.title, ["cloud", "point", ...(labelled ? ["class"] : []), "first axis", "second axis"], rows), before);
  made.box.append(tip);
  made.all.classList.add("wide");
  return made.all;
}

function build(data) {
  const kinds = {
    text: (block) => element("p", { class: "wide" }, block.text),
    table: (block) => { const made = table(block.caption, block.columns, block.rows, block.strong, true); made.classList.add("wide"); return made; },
    lines: charts.lines, bars: charts.bars, scatter, heat: heatMap, pictures: pictureList, pairs: pairList,
  };
  document.getElementById("asked").textContent = data.asked;
  document.getElementById("foot").textContent = data.foot;
  document.getElementById("warnings").append(...data.warnings.map((one) =>
    element("div", { class: "warning", role: "note" }, element("p", {}, element("strong", {}, "Careful. "), one.what, " ", one.fix))));
  const main = document.getElementById("content");
  const links = data.sections.map((section, k) => {
    const id = "section-" + (k + 1);
    const grid = element("div", { class: "grid" }, ...section.blocks.map((block) => kinds[block.kind](block)));
    main.append(element("section", { id, "aria-labelledby": id + "-heading" }, element("h2", { id: id + "-heading" }, section.heading), grid));
    return element("li", {}, element("a", { href: "#" + id }, section.heading));
  });
  document.getElementById("contents").append(element("ul", {}, ...links));
}

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
build(JSON.parse(document.getElementById("data").textContent));
charts.redraw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", charts.redraw);
// Paper is white whatever the screen is.
addEventListener("beforeprint", () => { document.documentElement.classList.add("print"); charts.redraw(); });
addEventListener("afterprint", () => { document.documentElement.classList.remove("print"); charts.redraw(); });
