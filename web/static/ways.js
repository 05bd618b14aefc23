// What only some pages need comes when a fragment first needs it, or while the board is set up: the ways to act, the
// clocks, the proofs.
const WAYS = {
  slots: '.entry[data-length], .phone.setup:not(.cards, .pieces)',
  cards: '.hold, .phone.setup.cards',
  entry: '#enter',
  plays: '#plays, .phone.setup.pieces',
  sheet: '#sheet',
  placing: '#placing',
  duel: '#duel',
  guide: '#guide',
  clock: '[data-limit], [data-time]',
  look: '#look',
  check: '[data-check]',
  chance: '[data-pledge]',
  voice: '#voice[data-volume], .kiosk',
};
const known = new Set();

function fetchWays() {
  for (const [way, wanted] of Object.entries(WAYS)) {
    if (known.has(way) || !document.querySelector(wanted)) continue;
    known.add(way);
    import(`./${way}.js`).catch(() => known.delete(way));
  }
}

document.addEventListener('shown', fetchWays);
fetchWays();
