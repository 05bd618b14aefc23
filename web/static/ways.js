// What markup needs (data-needs) comes when a fragment first shows it: the ways to act, the clocks, the proofs.
const known = new Set();

function fetchWays() {
  for (const { dataset: { needs: way } } of document.querySelectorAll('[data-needs]')) {
    if (known.has(way)) continue;
    known.add(way);
    import(`./${way}.js`).catch(() => known.delete(way));
  }
}

document.addEventListener('shown', fetchWays);
fetchWays();
