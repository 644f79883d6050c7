// Loaded before the page is drawn, so that a chosen theme does not flash. The choice is kept in this browser only.
(() => {
  const NAME = "quoth.theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  function chosen() {
    try {
      const value = localStorage.getItem(NAME);
      return value === "dark" || value === "light" ? value : null;
    } catch {
      return null;
    }
  }

  function current() {
    return root.dataset.theme ?? (system.matches ? "dark" : "light");
  }

  function label() {
    const button = document.getElementById("theme");
    const { lightMode, light, darkMode, dark } = button.dataset;
    const isDark = current() === "dark";
    button.textContent = `◐ ${isDark ? light : dark}`;
    button.setAttribute("aria-label", isDark ? lightMode : darkMode);
  }

  if (chosen()) root.dataset.theme = chosen();

  document.addEventListener("DOMContentLoaded", () => {
    label();
    system.addEventListener("change", label);
    document.getElementById("theme").addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      label();
      try {
        localStorage.setItem(NAME, root.dataset.theme);
      } catch {
        // A browser that keeps nothing still shows the theme until the page is closed.
      }
    });
  });
})();
