// The list of nodes. Only rows in sight are in the document, whatever their number; the
// one that the keyboard is at stays, since a screen reader is told of it by its id.

import { make } from "./dom.js";
import { cardText } from "./board.js";

export const ROW_PX = 48;
const HEAD_PX = 30;
const SPARE = 6;

/** A grid of nodes with one cell for the name, one a card, and one for the pods. */
export class Grid {
  /**
   * @param {HTMLElement} grid The scrolling element.
   * @param {HTMLElement} rows Holds the rows.
   * @param {function(Object, Object|null)} onLook Told node and card that are looked at.
   * @param {function()} onOpen Told that Enter was pressed.
   */
  constructor(grid, rows, onLook, onOpen) {
    this.grid = grid;
    this.rows = rows;
    this.onLook = onLook;
    this.onOpen = onOpen;
    this.nodes = [];
    this.row = 0;
    this.column = 0;
    this.shown = new Map();
    this.spare = [];
    grid.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    grid.addEventListener("keydown", (event) => this.#key(event));
    grid.addEventListener("focus", () => this.#look());
    rows.addEventListener("pointerover", (event) => this.#hover(event));
    rows.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(() => this.draw()).observe(grid);
  }

  /** Show these nodes; the keyboard stays at its node where that is still there. */
  show(nodes) {
    const name = this.nodes[this.row]?.name;
    this.nodes = nodes;
    const place = nodes.findIndex((node) => node.name === name);
    this.row = Math.max(0, place);
    this.rows.style.height = `${nodes.length * ROW_PX}px`;
    const widest = nodes.reduce((most, node) => Math.max(most, node.cards.length), 0);
    this.grid.setAttribute("aria-rowcount", nodes.length + 1);
    this.grid.setAttribute("aria-colcount", widest + 2);
    this.draw();
  }

  /** Bring the rows in sight up to date. */
  draw() {
    const top = this.grid.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE);
    const last = Math.min(this.nodes.length, Math.ceil((top + this.grid.clientHeight) / ROW_PX) + SPARE);
    const isWanted = (place) => place < this.nodes.length
      && ((place >= first && place < last) || place === this.row);
    for (const [place, row] of this.shown) {
      if (isWanted(place)) continue;
      this.shown.delete(place);
      this.spare.push(row);
    }
    for (let place = first; place < last; place += 1) this.#put(place);
    if (this.row < this.nodes.length) this.#put(this.row);
    for (const row of this.spare) row.element.remove();
    this.#mark();
  }

  #put(place) {
    const node = this.nodes[place];
    let row = this.shown.get(place);
    if (!row) {
      row = this.spare.pop() ?? newRow();
      this.shown.set(place, row);
      row.place = place;
      row.element.setAttribute("aria-rowindex", place + 2);
      row.element.style.transform = `translateY(${place * ROW_PX}px)`;
    }
    if (!row.element.isConnected) this.rows.append(row.element);
    if (row.node !== node) fill(row, node);
  }

  #cells(place) {
    const row = this.shown.get(place);
    return row ? [row.name, ...row.bars.children, row.count] : [];
  }

  #mark() {
    this.marked?.classList.remove("active");
    this.marked?.removeAttribute("id");
    const cells = this.#cells(this.row);
    if (!cells.length) {
      this.grid.removeAttribute("aria-activedescendant");
      return;
    }
    this.column = Math.min(this.column, cells.length - 1);
    this.marked = cells[this.column];
    this.marked.classList.add("active");
    this.marked.id = `cell-${this.row}-${this.column}`;
    this.grid.setAttribute("aria-activedescendant", this.marked.id);
  }

  #look() {
    const node = this.nodes[this.row];
    if (node) this.onLook(node, node.cards[this.column - 1] ?? null);
  }

  #scrolled() {
    if (this.frame) return;
    this.grid.classList.add("scrolls");
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.grid.classList.remove("scrolls"), 200);
  }

  #key(event) {
    const page = Math.max(1, Math.floor((this.grid.clientHeight - HEAD_PX) / ROW_PX) - 1);
    const last = this.nodes.length - 1;
    const end = this.#cells(this.row).length - 1;
    const moves = {
      ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
      PageDown: [page, 0], PageUp: [-page, 0],
      Home: event.ctrlKey ? [-last, 0] : [0, -end], End: event.ctrlKey ? [last, 0] : [0, end],
    };
    if (event.key === "Enter") this.onOpen();
    else if (event.key in moves && last >= 0) this.#move(moves[event.key], last);
    else return;
    event.preventDefault();
  }

  #move([down, right], last) {
    this.row = Math.min(last, Math.max(0, this.row + down));
    const columns = this.nodes[this.row].cards.length + 2;
    this.column = Math.min(columns - 1, Math.max(0, this.column + right));
    const top = this.row * ROW_PX;
    const room = this.grid.clientHeight - HEAD_PX - ROW_PX;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (top > this.grid.scrollTop + room) this.grid.scrollTop = top - room;
    this.draw();
    this.#look();
  }

  #at(event) {
    const element = event.target.closest(".node");
    const row = [...this.shown.values()].find((each) => each.element === element);
    if (!row) return null;
    const cell = event.target.closest("[role=gridcell], [role=rowheader]");
    return { row: row.place, column: Math.max(0, this.#cells(row.place).indexOf(cell)) };
  }

  #hover(event) {
    if (event.pointerType === "touch") return;
    const at = this.#at(event);
    if (!at) return;
    const node = this.nodes[at.row];
    this.onLook(node, node.cards[at.column - 1] ?? null);
  }

  #click(event) {
    const at = this.#at(event);
    if (!at) return;
    [this.row, this.column] = [at.row, at.column];
    this.draw();
    this.#look();
  }
}

function newRow() {
  const name = make("div", { class: "name", role: "rowheader", "aria-colindex": 1 }, make("b"), make("small"));
  const bars = make("div", { class: "bars", role: "presentation" });
  const count = make("div", { class: "count", role: "gridcell" });
  return { name, bars, count, node: null, place: -1, element: make("div", { class: "node", role: "row" }, name, bars, count) };
}

function fill(row, node) {
  row.node = node;
  const [name, below] = row.name.children;
  name.textContent = node.name;
  name.title = node.name;
  below.textContent = node.problems[0] ?? node.models.join(", ");
  below.className = node.problems.length ? "bad" : "";
  while (row.bars.children.length > node.cards.length) row.bars.lastChild.remove();
  while (row.bars.children.length < node.cards.length) row.bars.append(newBar());
  node.cards.forEach((card, place) => draw(row.bars.children[place], card, place));
  row.count.textContent = node.pods;
  row.count.setAttribute("aria-label", `${node.pods} pods`);
  row.count.setAttribute("aria-colindex", node.cards.length + 2);
}

function newBar() {
  return make("div", { class: "card", role: "gridcell" }, make("i", { class: "mib" }), make("i", { class: "cores" }));
}

function draw(bar, card, place) {
  const { shape } = card;
  const isOver = card.mib > shape.mib || card.cores > shape.cores || card.slots > shape.slots;
  const isMarked = bar.classList.contains("active");
  bar.className = `card${card.closed ? " closed" : ""}${isOver ? " over" : ""}${isMarked ? " active" : ""}`;
  bar.setAttribute("aria-label", cardText(card));
  bar.setAttribute("aria-colindex", place + 2);
  bar.children[0].style.transform = `scaleX(${part(card.mib, shape.mib)})`;
  bar.children[1].style.transform = `scaleX(${part(card.cores, shape.cores)})`;
}

function part(used, all) {
  return all > 0 ? Math.min(1, Math.max(0, used / all)).toFixed(4) : used > 0 ? 1 : 0;
}
