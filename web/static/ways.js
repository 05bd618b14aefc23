// What markup needs (data-needs) comes when a fragment first shows it: the ways to act, the clocks, the proofs. Taps on
// keys wait for it (early.js).
const known = new Set();
const tell = what => dispatchEvent(new Event(what));

function fetchWays() {
  for (const { dataset: { needs: way } } of document.querySelectorAll('[data-needs]')) {
    if (known.has(way)) continue;
    known.add(way);
    tell('coming');
    import(`./${way}.js`).catch(() => known.delete(way)).then(() => tell('come'));
  }
}

document.addEventListener('shown', fetchWays);
fetchWays();
