// Elements. All text goes in as text: names come from the cluster, and are nobody's markup.

/**
 * Make an element.
 * @param {string} tag Its name.
 * @param {Object<string, *>} traits Attributes; `class`, `text` and `on*` as one expects.
 * @param {...(Node|string|null)} children Null is left out.
 */
export function make(tag, traits = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(traits)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** Make an SVG element. */
export function shape(tag, traits, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(traits)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/**
 * Make a table.
 * @param {string} caption What it lists.
 * @param {Array<[string, boolean]>} heads Columns, and whether each is of numbers.
 * @param {Array<Array<*>>} rows Texts, numbers or elements; the first of each is its head.
 */
export function table(caption, heads, rows) {
  const kind = (place) => (heads[place][1] ? "number" : null);
  const cell = (value, place) => {
    const traits = { class: kind(place) };
    const inner = value instanceof Node ? value : String(value);
    return place ? make("td", traits, inner) : make("th", { ...traits, scope: "row" }, inner);
  };
  const head = heads.map(([text], place) => make("th", { scope: "col", class: kind(place), text }));
  return make("table", {}, make("caption", { text: caption }),
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
}
