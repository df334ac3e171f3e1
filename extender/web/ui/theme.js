// Light or dark: as the system has it, until the button is pressed.

const KEY = "theme";

/** Let a button change the colours, and keep what was chosen. */
export function followTheme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (stored() ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    if (stored()) document.documentElement.dataset.theme = stored();
    button.textContent = isDark() ? "Light colours" : "Dark colours";
  };
  button.addEventListener("click", () => {
    store(isDark() ? "light" : "dark");
    show();
  });
  system.addEventListener("change", show);
  show();
}

function stored() {
  try {
    const value = localStorage.getItem(KEY);
    return value === "dark" || value === "light" ? value : null;
  } catch {
    return null; // a browser may keep nothing
  }
}

function store(value) {
  try {
    localStorage.setItem(KEY, value);
  } catch {
    document.documentElement.dataset.theme = value;
  }
}
