// A pod's phases on a time line: what it holds of a card, one phase after the other. How
// long each lasts nobody knows beforehand, so that all are as wide.

import { make, shape, table } from "./dom.js";

const [WIDTH, HEIGHT, TOP, FOOT] = [600, 120, 10, 22];

/**
 * Draw what a pod holds of one card.
 * @param {Object} card Of `holds` of /inspect/pods and /explain.
 * @param {string} runs The phase that counts now; may be empty.
 */
export function timeLine(card, runs) {
  const title = card.index === null ? card.device_uuid : `card ${card.index} ${card.model}`;
  const rows = card.phases.map((phase) => [
    phase.name, state(phase, runs), phase.held.memory_mib, phase.held.core_percent, phase.held.slots,
  ]);
  const returns = card.returns.map((each) =>
    make("li", { text: `${each.amount.memory_mib} MiB return when ${each.when}` }));
  return make("section", { "aria-label": `Phases on ${title}` },
    make("h3", { text: title }), drawing(card, runs),
    table(`Phases in order; charged now: ${card.now.memory_mib} MiB`,
      [["phase", false], ["state", false], ["MiB", true], ["cores", true], ["slots", true]], rows),
    returns.length ? make("ul", {}, ...returns) : null);
}

function state(phase, runs) {
  if (phase.is_over) return "over";
  return phase.name === runs ? "counts now" : "";
}

function drawing(card, runs) {
  const most = Math.max(card.now.memory_mib, 1, ...card.phases.map((phase) => phase.held.memory_mib));
  const wide = WIDTH / Math.max(1, card.phases.length);
  const base = HEIGHT - FOOT;
  const high = (mib) => (mib / most) * (base - TOP);
  // The table beside it has the same, for those who do not see it.
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  card.phases.forEach((phase, place) => {
    const tall = high(phase.held.memory_mib);
    svg.append(shape("rect", {
      class: phase.is_over ? "phase past" : "phase", x: place * wide, y: base - tall, width: wide, height: tall,
    }));
    if (phase.name === runs || card.phases.length === 1) {
      const middle = place * wide + wide / 2;
      svg.append(shape("path", { class: "runs", d: `M${middle} ${base + 3}l9 14h-18z` }));
    }
  });
  const line = base - high(card.now.memory_mib);
  svg.append(shape("line", { class: "charge", x1: 0, x2: WIDTH, y1: line, y2: line }),
    shape("line", { class: "base", x1: 0, x2: WIDTH, y1: base, y2: base }));
  return svg;
}
