// One phone for both seats: whatever is on the page goes when the page goes, and the way back leads to the cover.
const seat = document.getElementById('live')?.dataset.seat;

const clear = () => document.getElementById('live')?.replaceChildren();
const cover = () => location.replace('/pass');

// What the other side has entered and not handed in is in this browser under the other side's cover only.
if (seat) {
  const other = seat === 'south' ? 'north' : 'south';
  for (const name of Object.keys(sessionStorage)) if (name.includes(`:${other}:`)) sessionStorage.removeItem(name);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) return;
    clear();
    cover();
  });
  addEventListener('pagehide', clear);
  document.addEventListener('click', event => {
    if (!event.target.closest?.('#cover-now')) return;
    event.preventDefault();
    clear();
    cover();
  });
}
addEventListener('pageshow', event => { if (event.persisted) cover(); });
