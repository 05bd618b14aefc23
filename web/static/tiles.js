// The tables on a wall: twelve at a time, a page every twelve seconds; a table that calls stays in sight.
const PAGE_MS = 12000;
const MOST = 12;
const sheet = new CSSStyleSheet();
let first = 0;
document.adoptedStyleSheets.push(sheet);

// A wall that stands still above its sign; anything narrower is scrolled, as a phone is.
const wall = matchMedia('(min-width:1101px) and (min-aspect-ratio:5/4)');

function show() {
  const tiles = [...document.querySelectorAll('.tables>.t')];
  const others = tiles.filter((tile) => !tile.matches('.call'));
  const room = Math.max(1, MOST - (tiles.length - others.length));
  if (first >= others.length) first = 0;
  const hidden = wall.matches && tiles.length > MOST
    ? others.filter((_, place) => place < first || place >= first + room) : [];
  // By a rule of its own: the tiles' attributes are the server's, and what follows the room would take them away.
  const names = hidden.map((tile) => `.tables>:nth-child(${tiles.indexOf(tile) + 1})`);
  sheet.replaceSync(names.length ? `${names.join()}{display:none}` : '');
  return first + room;
}

// The next page; behind the last one the first. Whoever points at a table keeps it.
export function turn() {
  if (document.querySelector('.tables:is(:hover,:focus-within)')) return;
  first = show();
  show();
}

document.addEventListener('shown', show);
wall.addEventListener('change', show);
setInterval(turn, PAGE_MS);
show();
