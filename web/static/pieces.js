// A game of pieces is acted in one of several ways; the script for each comes when a page first needs it.
const known = new Set();

function fetchWay() {
  const way = document.querySelector('[data-mode]')?.dataset.mode;
  if (!way || known.has(way)) return;
  known.add(way);
  import(`./${way}.js`).catch(() => known.delete(way));
}

document.addEventListener('shown', fetchWay);
fetchWay();
