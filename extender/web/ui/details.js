// What is told of the node, card or pod that is looked at; asked for when it is.

import { make, table } from "./dom.js";
import { timeLine } from "./phases.js";

const WAIT_MS = 150;
const REFRESH_MS = 2000;

/** The panel beside the list. */
export class Details {
  /**
   * @param {HTMLElement} title Names what is shown.
   * @param {HTMLElement} body Holds it.
   */
  constructor(title, body) {
    this.title = title;
    this.body = body;
    this.shown = "";
    this.asked = null;
    this.again = null;
    this.started = 0;
    this.refreshing = 0;
  }

  /** Show a node, or one card of it, unless something else is looked at at once. */
  node(node, card) {
    const key = `node ${node.name} ${card ? `${card.shape.kind} ${card.number}` : ""}`;
    this.#ask(key, WAIT_MS, async (signal) => {
      const told = await read(["inspect", "nodes", node.name], signal);
      this.#put(node.name, nodeParts(told, card, (name) => this.pod(name)));
    });
  }

  /** Show a pod by its full name. */
  pod(name) {
    const [namespace, own] = name.split("/");
    this.#ask(`pod ${name}`, 0, async (signal) => {
      const told = await read(["inspect", "pods", namespace, own], signal);
      const why = told.node ? null : await read(["explain", namespace, own], signal);
      this.#put(name, podParts(told, why));
    });
  }

  /** Read again what is shown, before long and not too often: something changed. */
  refresh() {
    if (!this.again || this.refreshing) return;
    const wait = Math.max(0, this.started + REFRESH_MS - performance.now());
    this.refreshing = setTimeout(() => {
      this.refreshing = 0;
      this.#start(this.again);
    }, wait);
  }

  #ask(key, wait, ask) {
    if (key === this.shown) return;
    this.shown = key;
    this.again = ask;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#start(ask), wait);
  }

  async #start(ask) {
    this.asked?.abort();
    this.started = performance.now();
    const asked = new AbortController();
    this.asked = asked;
    try {
      await ask(asked.signal);
    } catch (error) {
      if (!asked.signal.aborted) this.#put(this.title.textContent, [make("p", { class: "bad", text: error.message })]);
    }
  }

  #put(title, parts) {
    this.title.textContent = title;
    const next = make("div", {}, ...parts);
    if (this.body.firstElementChild?.isEqualNode(next)) return;
    const focused = this.body.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.body.replaceChildren(next);
    if (focused === null) return;
    const same = [...next.querySelectorAll("button")].find((each) => each.textContent === focused);
    (same ?? this.title.parentElement).focus();
  }
}

/** Ask one of the extender's own routes. */
export async function read(path, signal) {
  const url = `/${path.map(encodeURIComponent).join("/")}`;
  const answer = await fetch(url, { signal, cache: "no-store", credentials: "omit" });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error ?? `${answer.status}`);
  return told;
}

function nodeParts(told, only, onPod) {
  const { summary, lock } = told;
  const cards = told.cards.filter((card) => !only || (card.index === only.number && card.kind === only.shape.kind));
  return [
    ...summary.problems.map((text) => make("p", { class: "bad", text })),
    lock ? make("p", { text: `locked${lock.holder ? ` by ${lock.holder}` : ""}` }) : null,
    ...told.device_ids.map((ids) =>
      make("p", { class: "hint", text: `${ids.kind}: ${ids.taken} of ${ids.allocatable} device ids of kubelet are taken` })),
    ...cards.map((card) => cardPart(card, onPod)),
    told.nominated.length ? make("p", { text: `nominated: ${told.nominated.join(", ")}` }) : null,
  ];
}

function cardPart(card, onPod) {
  const rows = card.holders.map((each) => [
    make("button", { type: "button", class: "link", text: each.pod, onclick: () => onPod(each.pod) }),
    each.held.memory_mib, each.held.core_percent, each.held.slots,
    [each.status, each.why === "allocated" ? "" : each.why, each.runs].filter(Boolean).join(", "),
    each.returns.map((back) => `${back.amount.memory_mib} MiB when ${back.when}`).join("; "),
  ]);
  const heads = [["pod", false], ["MiB", true], ["cores", true], ["slots", true], ["state", false], ["returns", false]];
  const { capacity, charged } = card;
  return make("section", { "aria-label": `card ${card.index}` },
    make("h3", { text: `card ${card.index} ${card.model}` }),
    make("p", { text: `${charged.memory_mib} of ${capacity.memory_mib} MiB, ${charged.core_percent} of ${capacity.core_percent} ${card.counts_units ? "units" : "%"} cores, ${charged.slots} of ${capacity.slots} slots` }),
    card.closed_by ? make("p", { class: "bad", text: `closed: ${card.closed_by}${card.stranded_mib ? `, ${card.stranded_mib} MiB stranded` : ""}` }) : null,
    make("p", { class: "hint", text: card.device_uuid }),
    rows.length ? table("Pods on this card", heads, rows) : make("p", { text: "no pod" }));
}

function podParts(told, why) {
  const where = told.node ? `on ${told.node}` : "without a place";
  const asks = told.asks.map((each) => [
    each.container, each.lifetime, each.cards,
    each.memory_percent ? `${each.memory_percent} %` : `${each.memory_mib} MiB`, each.core_percent,
  ]);
  const heads = [["container", false], ["lifetime", false], ["cards", true], ["memory each", true], ["cores each", true]];
  return [
    make("p", { text: `${told.status}, ${told.standing} ${where}${told.runs ? `; counts now: ${told.runs}` : ""}` }),
    told.problem ? make("p", { class: "bad", text: told.problem }) : null,
    ...told.warnings.map((text) => make("p", { class: "hint", text })),
    asks.length ? table("What its containers ask for", heads, asks) : null,
    ...told.holds.map((card) => timeLine(card, told.runs)),
    ...(why ? whyParts(why) : []),
  ];
}

function whyParts(why) {
  const { nearest } = why;
  const rows = why.groups.map((group) => [
    group.reasons.join(", "), group.nodes.length, group.nearest,
    textOf(why.nodes.find((node) => node.node === group.nearest)),
  ]);
  return [
    make("h3", { text: why.fitting.length ? `fits on ${why.fitting.length} of ${why.node_count} nodes` : `fits on none of ${why.node_count} nodes` }),
    why.cause ? make("p", {}, make("strong", { text: "cause: " }), why.cause.text) : null,
    why.cause ? make("p", {}, make("strong", { text: "note: " }), why.cause.note) : null,
    ...why.quota.map((short) => make("p", { text: short.text })),
    nearest ? make("p", { text: `nearest miss: ${nearest.node}, ${nearest.reliefs.map(reliefText).join("; ")}` }) : null,
    rows.length ? table("Why not, by reason", [["reasons", false], ["nodes", true], ["for example", false], ["in numbers", false]], rows) : null,
  ];
}

function textOf(view) {
  return view ? view.findings.map((each) => each.text).join("; ") : "";
}

function reliefText(relief) {
  const { amount } = relief;
  const parts = [
    amount.memory_mib ? `${amount.memory_mib} MiB` : "",
    amount.core_percent ? `${amount.core_percent} ${relief.counts_units ? "units" : "%"} cores` : "",
    amount.slots ? `${amount.slots} slots` : "",
    relief.device_ids ? `${relief.device_ids} device ids` : "",
  ].filter(Boolean);
  const cards = relief.indices.length ? ` on card ${relief.indices.join(", ")}` : "";
  return `${parts.join(", ")} more${cards}`;
}
