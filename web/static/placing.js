// Pieces placed in secret: they stand in this browser alone until they are handed in.
import { refuse } from './post.js';
import { say } from './say.js';
import { handIn } from './seat.js';
import { board, centre, frames, mark, onTap, page, tell } from './squares.js';

const form = () => document.getElementById('placing');
const store = () => `placing:${page().dataset.seat}:${page().dataset.moment}`;
let squares = []; // where each piece stands
let chosen = -1;
let drawn = '';
let asked = { pieces: [], squares: [], proposal: [] };

function remember() {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith('placing:') && name !== store()) sessionStorage.removeItem(name);
  sessionStorage.setItem(store(), JSON.stringify(squares));
}

// Pieces with one letter mean the same wherever they stand: they are written in the order of their squares.
function text() {
  const left = new Map();
  asked.pieces.forEach(({ letter }, number) => left.set(letter, [...(left.get(letter) ?? []), squares[number]].sort()));
  return asked.pieces.map(({ letter }) => `${letter}@${left.get(letter).shift()}`).join(' ');
}

function tap(square) {
  const here = squares.indexOf(square);
  refuse('');
  if (chosen < 0) {
    if (here >= 0) chosen = here;
    else refuse(say('Tap one of your pieces first'));
  } else if (here === chosen) chosen = -1;
  else if (!asked.squares.includes(square)) refuse(say('Your pieces start on the framed squares'));
  else {
    if (here >= 0) squares[here] = squares[chosen];
    squares[chosen] = square;
    chosen = -1;
    remember();
  }
  paint();
}

function clear() {
  squares = [...asked.proposal];
  chosen = -1;
  refuse('');
  remember();
  paint();
}

function paint() {
  if (!form()) return;
  asked = JSON.parse(form().dataset.placing);
  if (drawn !== store()) {
    drawn = store();
    squares = JSON.parse(sessionStorage.getItem(drawn) ?? 'null') ?? [...asked.proposal];
    chosen = -1;
  }
  const pieces = asked.pieces.map(({ drawn: piece }, number) => {
    const [x, y] = centre(squares[number]);
    return `<g transform="translate(${x} ${y})"${number === chosen ? ' class="on"' : ''}>${piece}</g>`;
  });
  // The board in words: the table does not know yet what stands here.
  board().setAttribute('aria-label', asked.pieces.map(({ face }, number) => `${face} ${squares[number]}`).join(', '));
  const free = asked.squares.filter(square => chosen < 0 || square !== squares[chosen]);
  if (chosen < 0) tell('');
  else tell(`${asked.pieces[chosen].face} ${squares[chosen]}`, say('Tap where it starts. On another piece the two change places.'));
  mark(frames(free), pieces.join(''), chosen < 0 ? [] : [squares[chosen]]);
}

document.addEventListener('click', event => {
  if (form() && event.target.closest?.('#commit')) handIn(text());
  if (form() && event.target.closest?.('#clear')) clear();
});

document.addEventListener('covered', () => { chosen = -1; paint(); }); // what is half chosen would tell where it stands

onTap('placing', { tap, paint, wanted: () => new Set(asked.squares) });
document.addEventListener('shown', paint);
paint();
