// The status page: reads the board, follows what changes, filters and shows it.

import { Board, fullName, isUntouched } from "./board.js";
import { Details, read } from "./details.js";
import { make, table } from "./dom.js";
import { Grid } from "./grid.js";
import { followTheme } from "./theme.js";

const MOST_WAITING = 200;
const RETRY_MS = 3000;
const TYPING_MS = 120;
const byId = (id) => document.getElementById(id);

const board = new Board();
const details = new Details(byId("details-title"), byId("details-body"));
const grid = new Grid(byId("nodes"), byId("rows"), (node, card) => details.node(node, card),
  () => byId("details").focus());

const filters = {
  open: (node) => node.cards.some((card) => !card.closed),
  closed: (node) => node.cards.some((card) => card.closed),
  free: (node) => node.cards.some(isUntouched),
  problem: (node) => node.problems.length > 0,
};
let sorted = [];
let models = "";

function drawAll(isOther) {
  if (isOther) sorted = [...board.nodes.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  else sorted = sorted.map((node) => board.nodes.get(node.name));
  drawModels();
  drawSums();
  drawFound();
}

function drawFound() {
  const words = byId("query").value.toLowerCase().split(/\s+/).filter(Boolean);
  const model = byId("model").value;
  const passes = filters[byId("only").value] ?? (() => true);
  const found = sorted.filter((node) => (!model || node.models.includes(model)) && passes(node)
    && words.every((word) => board.wordsOf(node).includes(word)));
  grid.show(found);
  const waiting = board.waiting().filter((pod) => {
    const text = [fullName(pod), pod.problem, pod.cause, ...pod.refusedBy.map(([code]) => code)].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  drawWaiting(waiting);
  say("found", `${found.length} of ${sorted.length} nodes, ${waiting.length} waiting pods`);
}

/** Change a text only where it is another: a screen reader reads each change. */
function say(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

function drawModels() {
  const names = [...new Set(sorted.flatMap((node) => node.models))].sort();
  if (names.join("\n") === models) return;
  models = names.join("\n");
  const chosen = byId("model").value;
  const options = names.map((name) => make("option", { value: name, text: name }));
  byId("model").replaceChildren(make("option", { value: "", text: "all" }), ...options);
  byId("model").value = names.includes(chosen) ? chosen : "";
}

function drawSums() {
  const sums = board.sums();
  const percent = sums.mib ? Math.round((100 * sums.usedMib) / sums.mib) : 0;
  const shown = {
    Nodes: sums.nodes, Cards: sums.cards, "Memory charged": `${sums.usedMib} of ${sums.mib} MiB, ${percent} %`,
    "Untouched cards": sums.untouched, "Closed cards": sums.closed, "Nodes with problems": sums.problems,
    "Waiting pods": board.waiting().length,
  };
  const parts = Object.entries(shown).map(([name, value]) =>
    make("div", {}, make("dt", { text: name }), make("dd", { text: value })));
  byId("sums").replaceChildren(...parts);
}

function drawWaiting(pods) {
  pods.sort((one, other) => (fullName(one) < fullName(other) ? -1 : 1));
  const rows = pods.slice(0, MOST_WAITING).map((pod) => [
    button(fullName(pod), () => open(pod)), pod.standing, causeOf(pod), reasonsOf(pod),
  ]);
  const more = pods.length - rows.length;
  const key = JSON.stringify(pods.slice(0, MOST_WAITING)) + more;
  if (key === drawWaiting.key) return;
  drawWaiting.key = key;
  const focused = document.activeElement?.closest("#waiting") ? document.activeElement.textContent : null;
  byId("waiting").replaceChildren(
    rows.length ? table("Pods without a place, and why they were refused last; a name or reason opens what to do",
      [["pod", false], ["state", false], ["cause", false], ["reasons", false]], rows) : make("p", { class: "hint", text: "none" }),
    make("p", { class: "hint", text: more > 0 ? `${more} more; search for them` : "" }));
  if (focused) [...byId("waiting").querySelectorAll("button")].find((each) => each.textContent === focused)?.focus();
}

function causeOf(pod) {
  return pod.problem || pod.cause;
}

function reasonsOf(pod) {
  if (pod.problem) return "";
  if (!pod.refusedBy.length) return "not asked for yet";
  const list = pod.refusedBy.flatMap(([code, count]) =>
    [button(code, () => open(pod)), ` on ${count} nodes `]);
  return make("span", {}, ...list);
}

function button(text, onclick) {
  return make("button", { type: "button", class: "link", text, onclick });
}

function open(pod) {
  details.pod(fullName(pod));
  byId("details").focus();
}

async function begin() {
  try {
    performance.mark("asked for rows");
    const told = await read(["ui", "board"]);
    board.clear();
    board.take(told);
    drawAll(true);
    performance.mark("first rows");
    follow();
  } catch (error) {
    tell("lost", `${error.message}; trying again`);
    setTimeout(begin, RETRY_MS);
  }
}

function follow() {
  const source = new EventSource(`/ui/events?since=${encodeURIComponent(board.revision)}`);
  const restart = () => {
    source.close();
    setTimeout(begin, RETRY_MS);
  };
  source.addEventListener("open", () => tell("live", "live"));
  source.addEventListener("rows", (event) => {
    try {
      drawAll(board.take(JSON.parse(event.data)));
      details.refresh();
    } catch (error) {
      tell("lost", error.message);
      source.close();
    }
  });
  source.addEventListener("lost", restart);
  source.addEventListener("error", () => {
    tell("lost", "the connection is lost; trying again");
    if (source.readyState === EventSource.CLOSED) restart();
  });
}

function tell(kind, text) {
  byId("state").className = kind;
  say("state", text);
}

let typed = 0;
byId("query").addEventListener("input", () => {
  clearTimeout(typed);
  typed = setTimeout(drawFound, TYPING_MS);
});
byId("model").addEventListener("change", drawFound);
byId("only").addEventListener("change", drawFound);
byId("details").addEventListener("keydown", (event) => {
  if (event.key === "Escape") byId("nodes").focus();
});
followTheme(byId("theme"));
begin();
