// Runs in the head, before anything is drawn: a reader who chose a theme must not see the other one flash by.
// Storage may be forbidden, for example in private windows; then the system's theme holds.
"use strict";
const theme = {
  key: "couloir-theme",
  remembered() {
    try { return localStorage.getItem(theme.key); } catch { return null; }
  },
  remember(name) {
    try { localStorage.setItem(theme.key, name); } catch { /* It holds until the page is closed. */ }
  },
  show(name) {
    if (name === "light" || name === "dark") document.documentElement.dataset.theme = name;
  },
};
theme.show(theme.remembered());
