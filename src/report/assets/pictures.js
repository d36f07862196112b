// Elements, tables and pictures. Text from the data becomes text nodes only, never markup.
"use strict";

/** An element with attributes and children; strings among these are text. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const looksLikeNumber = (text) => /^(★ )?[<+−-]?\d[\d.,]*(e[+-]?\d+)?( ?%| s)?( ±.*)?$/.test(text);

/** A table in a box of its own, which scrolls when it is too wide. The first column is a heading. */
function table(caption, columns, rows, strong = -1, full = false) {
  const numeric = columns.map((_, i) => rows.length > 0 && rows.every((row) => row[i] === "" || looksLikeNumber(row[i])));
  const cell = (tag, text, i, more) => element(tag, { ...more, ...(numeric[i] && { class: "number" }) }, text);
  const head = element("tr", {}, ...columns.map((text, i) => cell("th", text, i, { scope: "col" })));
  const body = rows.map((row, at) =>
    element("tr", at === strong ? { class: "strong" } : {},
      ...row.map((text, i) => (i === 0 ? cell("th", text, i, { scope: "row" }) : cell("td", text, i)))));
  const all = element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: full ? "scroll full" : "scroll", tabindex: "0", role: "region", "aria-label": caption }, all);
}

/** The same numbers as a chart, for those who cannot see it; made when it is opened. */
function numbersOf(caption, columns, rows) {
  const details = element("details", {}, element("summary", {}, "Numbers as a table"));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(table(caption, columns, rows()));
  });
  return details;
}

/** Picture `k` of a sheet, `size` pixels wide on the screen. */
function tile(sheet, k, size, label) {
  const part = (at, count) => (count > 1 ? (100 * at) / (count - 1) : 0) + "%";
  const made = element("span", { class: sheet.ink ? "tile ink" : "tile", role: "img", "aria-label": label });
  Object.assign(made.style, {
    width: size + "px",
    aspectRatio: `${sheet.width} / ${sheet.height}`,
    backgroundImage: `url("${sheet.uri}")`,
    backgroundSize: `${100 * sheet.across}% ${100 * sheet.down}%`,
    backgroundPosition: `${part(k % sheet.across, sheet.across)} ${part(Math.floor(k / sheet.across), sheet.down)}`,
  });
  return made;
}

function pictureList(block) {
  const items = block.captions.map((caption, k) =>
    element("li", {}, tile(block.sheet, k, block.captions.length === 1 ? 168 : 96, `${block.title}, ${caption}`), caption));
  const figure = element("figure", items.length > 1 ? { class: "wide" } : {}, element("figcaption", {}, block.title), element("ul", { class: "pictures" }, ...items));
  if (block.note) figure.append(element("p", { class: "note" }, block.note));
  return figure;
}

function pairList(block) {
  const named = (text) => (text === "" ? "" : ` (class ${text})`);
  const items = block.items.map((pair, k) => {
    const from = tile(block.sources, k, 72, `source point ${pair.source}${named(pair.source_class)}`);
    const to = tile(block.targets, k, 72, `target point ${pair.target}${named(pair.target_class)}`);
    const classes = pair.source_class === "" ? "" : `${pair.source_class} → ${pair.target_class}, `;
    return element("li", {}, element("div", { class: "pair" }, from, "→", to), classes + pair.share);
  });
  return element("figure", { class: "wide" }, element("ul", { class: "pictures" }, ...items));
}

/** Black or white, whichever is easier to read on a colour of three numbers from 0 to 255. */
function readableOn(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

/** A table whose cells are the darker the larger their share. */
function heatMap(block) {
  const mix = (share) => {
    const read = (name) => [1, 3, 5].map((i) => parseInt(charts.colour(name).slice(i, i + 2), 16));
    const [from, to] = [read("--accent-soft"), read("--accent")];
    return from.map((c, i) => Math.round(c + (to[i] - c) * share));
  };
  const cells = [];
  const show = (share) => (share === null ? "–" : share === 0 ? "0" : share < 0.005 ? "<1" : String(Math.round(100 * share)));
  const body = block.rows.map((name, i) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...block.columns.map((column, j) => {
      const share = block.shares[i][j];
      const title = `${block.row_title} ${name} to ${block.column_title} ${column}: ${share === null ? "no mass" : (100 * share).toFixed(1) + " %"}`;
      const cell = element("td", { title }, show(share));
      cells.push([cell, share]);
      return cell;
    })));
  const paint = () => cells.forEach(([cell, share]) => {
    const rgb = mix(share);
    cell.style.backgroundColor = `rgb(${rgb.join()})`;
    cell.style.color = readableOn(rgb);
  });
  charts.onRedraw(paint);
  paint();
  const corner = element("th", { scope: "col" }, block.row_title);
  const head = element("thead", {},
    element("tr", {}, element("td"), element("th", { scope: "colgroup", colspan: block.columns.length }, block.column_title)),
    element("tr", {}, corner, ...block.columns.map((name) => element("th", { scope: "col" }, name))));
  const all = element("table", { class: "heat" }, element("caption", {}, block.caption), head, element("tbody", {}, ...body));
  return element("div", { class: "scroll full wide", tabindex: "0", role: "region", "aria-label": block.caption }, all);
}
