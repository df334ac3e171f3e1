"""How well texts stand out, computed in the browser from what it shows.

Source: WCAG 2.2, "relative luminance" and "contrast ratio".
"""

from typing import Final

from tests.browser.chromium import Tab

_LEAST: Final = """
(() => {
  const parts = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const level = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((each) => each / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parts(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = {ratio: 99, text: ''}, count = 0;
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.closest('noscript')) continue;
    count += 1;
    const own = level(parts(getComputedStyle(element).color));
    const [dark, light] = [own, level(behind(element))].sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < least.ratio) least = {ratio, text};
  }
  return {...least, count};
})()
"""


async def contrast(browser: Tab) -> float:
    """Give the least contrast of any text on the page with what is behind it.

    Raises:
        AssertionError: There is hardly any text.
    """
    least = await browser.evaluate(_LEAST)
    assert least["count"] > 20, least
    ratio: float = least["ratio"]
    return ratio
