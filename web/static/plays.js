// Plays by taps: a piece, then where it goes. What is tapped stays in this browser until the main key hands it in.
import { post, refuse } from './post.js';
import { say } from './say.js';
import { board, centre, frames, mark, onTap, page, pieceOn, target, tell } from './squares.js';

const CALM_MS = 400; // after a turn a finger that bounces is not heard
const MOST_WAYS = 4;
const form = () => document.getElementById('plays');
let plays = [];
let moment = '';
let asking = '';
let since = 0;
let key = '';
let taps = [];
let isMeant = false; // the key was not tapped: it is the only one
let early = []; // tapped before the plays were here

// ---- what is legal ----

async function fetchPlays() {
  const now = page().dataset.moment;
  if (now === moment || now === asking) return;
  asking = now;
  try {
    const answer = await fetch(`/api/seat/${page().dataset.seat}/plays`, { cache: 'no-store' });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error?.message);
    plays = told.plays.map(([text, squares, label, begins]) => ({ text, squares, label, key: begins }));
    if (moment !== told.moment) [key, taps, since] = ['', [], performance.now()];
    moment = told.moment;
  } catch {
    setTimeout(paint, 2000);
  }
  asking = '';
  early.splice(0).forEach(tap);
  paint();
}

// Where in a play the last tap is, when the taps are met in their order; -1: they are not.
function reached(play, tapped) {
  let at = -1;
  for (const [number, square] of tapped.entries()) {
    at = number ? play.squares.indexOf(square, at + 1) : play.squares[0] === square ? 0 : -1;
    if (at < 0) return -1;
  }
  return at;
}

const fitting = (tapped, begins = key) => plays.filter(play => play.key === begins && play.squares.length && (!tapped.length || reached(play, tapped) >= 0));
const isWhole = (play, tapped) => reached(play, tapped) === play.squares.length - 1;

// The plays that are wholly tapped: those square by square before those of which only the end was tapped.
function whole() {
  if (!taps.length) return [];
  const found = fitting(taps).filter(play => isWhole(play, taps));
  const exact = found.filter(play => play.squares.length === taps.length);
  return (exact.length ? exact : found).sort((one, other) => one.squares.length - other.squares.length);
}

function next() {
  const found = fitting(taps);
  if (!taps.length) return new Set(found.map(play => play.squares[0]));
  return new Set(found.flatMap(play => play.squares.slice(reached(play, taps) + 1)));
}

// Where a tap begins a play: with the chosen key, or on a piece that waits for one.
const begins = (play, square) => play.squares[0] === square && (play.key === key || pieceOn(square) !== '');
const beginnings = () => new Set(plays.filter(play => play.squares.length && begins(play, play.squares[0])).map(play => play.squares[0]));

function tap(square) {
  refuse('');
  if (page().dataset.moment !== moment) {
    early.push(square);
    return;
  }
  const [first] = taps;
  const tries = [[...taps, square], ...(taps.length > 1 ? [[first, square]] : []), [square, ...taps]];
  const longer = taps.length && tries.find(tapped => fitting(tapped).length);
  if (!longer && isMeant) [key, isMeant] = ['', false];
  if (longer) taps = longer;
  else if (square === first) taps = [];
  else if (square === taps.at(-1)) taps = taps.slice(0, -1);
  else if (fitting([square]).length) taps = [square];
  else if (plays.some(play => begins(play, square))) {
    // It does nothing with the key that is chosen: another one is meant when there is but one.
    const ways = [...new Set(plays.filter(play => play.squares[0] === square).map(play => play.key))];
    [key, taps] = [ways.length === 1 ? ways[0] : '', [square]];
    isMeant = Boolean(key);
  } else {
    taps = [];
    if (plays.length) refuse(say('Nothing can be done with {square} now', { square }));
  }
  paint();
}

function begin(name) {
  key = key === name && !isMeant ? '' : name;
  isMeant = false;
  if (!fitting(taps).length) taps = [];
  const here = plays.filter(play => play.key === key);
  if (!here.length) {
    refuse(say('That cannot be done now'));
    key = '';
  } else if (here.length === 1 && !here[0].squares.length) {
    handIn(here[0].text);
    return;
  }
  paint();
}

async function handIn(action) {
  if (!taps.length && performance.now() - since < CALM_MS) return;
  const answer = await post(`/api/seat/${page().dataset.seat}/hand-in`, { moment, action });
  if (answer.ok) [key, taps] = ['', []];
  paint();
}

// ---- what it looks like ----

const keysOf = () => JSON.parse(form().dataset.keys);

// What the main key does now: its words, and the play behind it; without one it says what is missing.
function main() {
  const found = whole();
  if (found.length === 1) return { label: found[0].label, action: found[0].text };
  if (found.length > 1) return { label: say('Choose one of these') };
  if (taps.length) return { label: fitting(taps).length ? say('Tap where it goes') : say('Choose what to do') };
  if (key) return { label: say('{key}: tap the board', { key: keysOf().find(each => each.name === key)?.label }) };
  const straight = keysOf().find(each => each.is_main);
  if (!straight) return { label: plays.length ? say('Tap a square') : say('Wait') };
  const play = plays.find(each => each.key === straight.name && !each.squares.length);
  // Too early: the table says what is still due.
  return { label: straight.label, action: play?.text ?? form().dataset.open, isEarly: !play };
}

function paint() {
  if (!form()) return;
  if (page().dataset.moment !== moment) {
    fetchPlays();
    mark('', '');
    return;
  }
  form().dataset.taps = [key, ...taps, ''].join(' ');
  const { label, action, isEarly } = main();
  const commit = document.getElementById('commit');
  commit.className = action && !isEarly ? 'key go' : 'key off';
  commit.textContent = label;
  const several = whole().slice(0, MOST_WAYS);
  const ways = document.getElementById('ways');
  const fresh = several.length < 2 ? [] : several.map(({ text, label: words }) => {
    const way = Object.assign(document.createElement('button'), { type: 'button', className: 'key', textContent: words });
    way.dataset.play = text;
    way.append(Object.assign(document.createElement('small'), { className: 'mono', textContent: text }));
    return way;
  });
  if (fresh.length !== ways.children.length || fresh.some((way, number) => !way.isEqualNode(ways.children[number]))) ways.replaceChildren(...fresh);
  for (const each of document.querySelectorAll('[data-begin]')) {
    const isOpen = taps.length ? fitting(taps, each.dataset.begin).length : plays.some(play => play.key === each.dataset.begin);
    each.classList.toggle('off', !isOpen && each.dataset.begin !== key);
    each.setAttribute('aria-pressed', String(each.dataset.begin === key));
  }
  const [first] = taps;
  const goes = [...next()];
  const more = fitting(taps).some(play => !isWhole(play, taps));
  if (taps.length) tell(taps.join(' – '), whole().length ? (more ? say('Hand in, or tap on.') : '') : `${main().label}.`);
  else tell('');
  // Where a new piece can be placed is shown at once; else first what is tapped.
  const shows = goes.filter(square => (taps.length || key ? !taps.includes(square) : !pieceOn(square)));
  mark(frames(shows), way(), first && pieceOn(first) ? [first] : []);
}

// The way that is tapped: dots from square to square, and the piece faint where it would stand.
function way() {
  const piece = taps.length && pieceOn(taps[0]);
  const stops = piece ? taps.slice(1) : taps;
  if (!stops.length) return '';
  const line = piece ? `<path class="path" d="M${taps.map(square => centre(square).join(' ')).join('L')}"/>` : '';
  const [[x0, y0], [x1, y1]] = [centre(taps[0]), centre(taps.at(-1))];
  const faint = piece && !key ? `<g class="ghost" transform="translate(${x1 - x0} ${y1 - y0})">${piece}</g>` : '';
  return `${faint}${stops.map(target).join('')}${line}`;
}

document.addEventListener('click', event => {
  if (!form()) return;
  const hit = event.target.closest?.('[data-begin], [data-play], #commit');
  if (!hit) return;
  if (hit.dataset.begin) begin(hit.dataset.begin);
  else if (hit.dataset.play) handIn(hit.dataset.play);
  else {
    const { action, label } = main();
    if (action) handIn(action);
    else refuse(label);
  }
});

document.addEventListener('keydown', event => {
  if (event.key !== 'Escape' || !form()) return;
  [key, taps] = ['', []];
  paint();
});

onTap('plays', { tap, paint, wanted: () => new Set([...next(), ...beginnings(), ...taps]) });
document.addEventListener('shown', paint);
document.addEventListener('focusin', event => { if (event.target === board()) paint(); });
paint();
