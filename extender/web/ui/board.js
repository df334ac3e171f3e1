// The cluster as the extender tells it: nodes with their cards, and pods.
// The form of the messages is that of extender/wire/board.py.

const FORMAT = 1;

/** All rows, kept up to date by messages. */
export class Board {
  constructor() {
    /** By name: {name, pods, problems, cards, models, closed, words}. */
    this.nodes = new Map();
    /** By number: {namespace, name, place, standing, problem, cause, refusedBy}. */
    this.pods = new Map();
    /** Numbers of the pods at each place. */
    this.podsAt = new Map();
    this.revision = "";
  }

  /** Forget all, before a whole board is taken in. */
  clear() {
    this.nodes.clear();
    this.pods.clear();
    this.podsAt.clear();
  }

  /**
   * Take in a whole board or a change of it.
   * @returns {boolean} Whether nodes came or went, so that their order is another.
   */
  take(told) {
    if (told.format !== FORMAT) throw new Error("this page is older than the extender: load it again");
    this.revision = told.revision;
    this.#takePods(told);
    return this.#takeNodes(told);
  }

  #takeNodes({ nodes, reasons }) {
    let isOther = false;
    for (const name of nodes.gone) isOther = this.nodes.delete(name) || isOther;
    const shapes = nodes.shapes.map(([kind, model, mode, slots, mib, cores, units]) =>
      ({ kind, model, mode, slots, mib, cores, units }));
    let at = 0;
    nodes.name.forEach((name, place) => {
      const cards = [];
      for (const end = at + nodes.cards[place]; at < end; at += 1) {
        const closed = nodes.closed[at];
        cards.push({
          shape: shapes[nodes.shape[at]], number: nodes.number[at], slots: nodes.slots[at],
          mib: nodes.mib[at], cores: nodes.cores[at], closed: closed < 0 ? "" : reasons[closed],
        });
      }
      isOther = isOther || !this.nodes.has(name);
      this.nodes.set(name, {
        name, cards, pods: nodes.pods[place], problems: nodes.problems[place] ?? [],
        models: [...new Set(cards.map((card) => card.shape.model))], words: null,
      });
    });
    return isOther;
  }

  #takePods({ pods, places, reasons }) {
    for (const number of pods.gone) this.#drop(number);
    pods.id.forEach((number, row) => {
      this.#drop(number);
      const place = pods.place[row] < 0 ? null : places[pods.place[row]];
      this.pods.set(number, {
        namespace: pods.namespaces[pods.namespace[row]], name: pods.name[row], place,
        standing: pods.standings[pods.standing[row]], problem: pods.problem[row] ?? "",
        cause: pods.causes[pods.cause[row]] ?? "",
        refusedBy: (pods.refused_by[row] ?? []).map(([code, count]) => [reasons[code], count]),
      });
      if (place === null) return;
      if (!this.podsAt.has(place)) this.podsAt.set(place, new Set());
      this.podsAt.get(place).add(number);
      this.#forgetWords(place);
    });
  }

  #drop(number) {
    const pod = this.pods.get(number);
    this.pods.delete(number);
    if (!pod || pod.place === null) return;
    this.podsAt.get(pod.place)?.delete(number);
    this.#forgetWords(pod.place);
  }

  #forgetWords(name) {
    const node = this.nodes.get(name);
    if (node) node.words = null;
  }

  /** All that a node can be found by, in small letters. */
  wordsOf(node) {
    if (node.words === null) {
      const pods = [...(this.podsAt.get(node.name) ?? [])].map((number) => fullName(this.pods.get(number)));
      const closed = node.cards.map((card) => card.closed);
      node.words = [node.name, ...node.models, ...new Set(closed), ...node.problems, ...pods]
        .join("\n").toLowerCase();
    }
    return node.words;
  }

  /** Pods that have no place. */
  waiting() {
    return [...this.pods.values()].filter((pod) => pod.place === null);
  }

  /** The cluster in numbers. */
  sums() {
    const sums = { nodes: this.nodes.size, cards: 0, mib: 0, usedMib: 0, closed: 0, untouched: 0, problems: 0 };
    for (const node of this.nodes.values()) {
      sums.cards += node.cards.length;
      sums.problems += node.problems.length ? 1 : 0;
      for (const card of node.cards) {
        sums.mib += card.shape.mib;
        sums.usedMib += card.mib;
        sums.closed += card.closed ? 1 : 0;
        sums.untouched += isUntouched(card) ? 1 : 0;
      }
    }
    return sums;
  }
}

/** Whether nobody holds anything of a card that takes more. */
export function isUntouched(card) {
  return !card.closed && !card.slots && !card.mib && !card.cores;
}

/** namespace/name. */
export function fullName(pod) {
  return `${pod.namespace}/${pod.name}`;
}

/** A card in words, for those who do not see its bar. */
export function cardText(card) {
  const { shape } = card;
  const unit = shape.units ? "units" : "%";
  const parts = [
    `card ${card.number}`, shape.model, `${card.mib} of ${shape.mib} MiB`,
    `${card.cores} of ${shape.cores} ${unit} cores`, `${card.slots} of ${shape.slots} slots`,
  ];
  if (card.closed) parts.push(`closed: ${card.closed}`);
  return parts.join(", ");
}
