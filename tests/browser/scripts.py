"""What the page is asked, in its own language."""

from typing import Final

LIVE: Final = "document.getElementById('state').textContent === 'live'"

BARS: Final = """
[...document.querySelectorAll('#rows .node')].map((row) => ({
  node: row.querySelector('b').textContent,
  pods: row.querySelector('.count').textContent,
  cards: [...row.querySelectorAll('.card')].map((card) => ({
    text: card.getAttribute('aria-label'),
    mib: card.children[0].getBoundingClientRect().width / card.clientWidth,
    cores: card.children[1].getBoundingClientRect().width / card.clientWidth,
  })),
})).sort((one, other) => one.node < other.node ? -1 : 1)
"""

MARKS: Final = """
(() => {
  const style = getComputedStyle(document.documentElement);
  const level = (hex) => {
    const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const value = (name) => level(style.getPropertyValue(name).trim());
  const ratio = (one, other) => {
    const [dark, light] = [value(one), value(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const pairs = [
    ['--memory', '--empty'], ['--cores', '--empty'], ['--line', '--page'],
    ['--stripe', '--empty'], ['--focus', '--page'], ['--bad', '--panel'],
    ['--memory', '--panel'],
  ];
  const named = pairs.map(([one, other]) => [`${one} on ${other}`, ratio(one, other)]);
  return Object.fromEntries(named);
})()
"""

WATCH_TASKS: Final = """
window.longest = 0; window.tasks = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) {
    window.tasks.push(each.duration);
    window.longest = Math.max(window.longest, each.duration);
  }
}).observe({type: 'longtask'});
"""

SCROLL: Final = """
new Promise((done) => {
  const grid = document.getElementById('nodes');
  const times = [];
  let last = performance.now(), frame = 0;
  const step = (now) => {
    times.push(now - last);
    last = now;
    // Slowly, fast, and in great leaps, down and up.
    const by = [60, 900, 20000][frame % 3] * (frame % 40 < 26 ? 1 : -1);
    grid.scrollTop += by;
    frame += 1;
    if (frame < 240) requestAnimationFrame(step);
    else done({frames: times.length, slowest: Math.max(...times.slice(1)),
               rows: document.querySelectorAll('.node').length, top: grid.scrollTop});
  };
  requestAnimationFrame(step);
})
"""

IDS_TWICE: Final = """
(() => {
  const ids = [...document.querySelectorAll('[id]')].map((each) => each.id);
  return ids.filter((id, at) => ids.indexOf(id) !== at);
})()
"""

ROW_INDICES: Final = """
[...document.querySelectorAll('.node')].map((row) => row.getAttribute('aria-rowindex'))
"""

HEIGHTS: Final = """
[...document.querySelectorAll('svg .phase')].map((each) => +each.getAttribute('height'))
"""

SECOND_CARD: Final = """
(({x, y}) => [x, y])(document.querySelectorAll('.card')[1].getBoundingClientRect())
"""

TIMES: Final = """
Object.fromEntries(
  [...performance.getEntriesByType('paint'), ...performance.getEntriesByType('mark')]
    .map((each) => [each.name, each.startTime]))
"""

ROWS_GOT: Final = """
performance.getEntriesByName(new URL('/ui/board', location).href)[0].responseEnd
"""

ROW_BYTES: Final = """
performance.getEntriesByName(new URL('/ui/board', location).href)[0].transferSize
"""
