"use strict";

// What all parts of the page share. Texts of the data become text nodes and
// nothing else.
const data = JSON.parse(document.getElementById("data").textContent);
const events = new Map(data.events.map((e) => [e.seq, e]));
const effects = new Map();
for (const e of data.events) {
  if (!e.cause) continue;
  if (!effects.has(e.cause)) effects.set(e.cause, []);
  effects.get(e.cause).push(e);
}

function element(tag, className, text) {
  const el = document.createElement(tag);
  if (className) el.className = className;
  if (text !== undefined) el.textContent = text;
  return el;
}

const svgSpace = "http://www.w3.org/2000/svg";

function shape(tag, attributes) {
  const el = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  return el;
}

function clock(seconds) {
  return seconds.toFixed(3) + "s";
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
