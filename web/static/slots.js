// The buffer of a seat's orders, slot by slot: it lives in this browser until it is handed in. A key fills the chosen
// slot, else the first free one; slots change places by drag, by the keys below, or by the arrows on the keyboard.
import { post, refuse } from './post.js';
import { say } from './say.js';
import { handIn, icon, page } from './seat.js';

const FREE = ' ';
const DRAG_PX = 8;
const ARROWS = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
const form = () => document.querySelector('.entry[data-length]');
const store = () => `draft:${page().dataset.seat}:${page().dataset.moment}`;
const slots = () => [...document.querySelectorAll('.slot')];
const keys = () => [...document.querySelectorAll('.order')];
const keyOf = letter => keys().find(key => key.dataset.letter === letter);
// What is typed: the letter on a key, else that of the notation.
const typed = letter => keys().find(key => key.dataset.initial === letter) ?? keyOf(letter);
let draft = []; // a letter for each slot, or FREE
let chosen = -1;
let touched = 0; // the slot that was changed last
let planned = '';
let drawn = '';

function remember() {
  const text = draft.join('');
  for (const name of Object.keys(sessionStorage)) {
    if (name.startsWith('draft:') && (name !== store() || !text.trim())) sessionStorage.removeItem(name);
  }
  if (text.trim()) sessionStorage.setItem(store(), text);
}

const missing = () => draft.filter(letter => letter === FREE).length;
const next = () => (chosen >= 0 ? chosen : draft.indexOf(FREE));

// ---- what it looks like ----

function paintSlot(slot, place) {
  const key = keyOf(draft[place]);
  slot.className = `slot${key ? ' full' : place === next() ? ' next' : ''}${place === chosen ? ' chosen' : ''}`;
  slot.setAttribute('aria-pressed', String(place === chosen));
  const number = place + 1;
  const order = key?.dataset.word ?? key?.getAttribute('aria-label');
  slot.setAttribute('aria-label', key ? say('Slot {number}: {order}', { number, order }) : say('Slot {number}: free', { number }));
  const inside = `<span class="k">${number}</span>${key ? `${icon(key.dataset.drawing)}<b>${key.dataset.initial}</b>` : ''}`;
  if (slot.innerHTML !== inside) slot.innerHTML = inside;
  slot.dataset.letter = draft[place].trim();
}

function paint() {
  if (!form()) {
    draft = [];
    drawn = '';
    remember();
    return;
  }
  if (drawn !== store()) {
    const length = Number(form().dataset.length);
    draft = [...(sessionStorage.getItem(store()) ?? '').padEnd(length, FREE)].slice(0, length);
    chosen = -1;
  }
  drawn = store();
  slots().forEach(paintSlot);
  const focused = document.activeElement;
  const number = missing();
  const isFresh = number === draft.length && document.getElementById('example');
  const tools = chosen >= 0 ? 'one' : isFresh ? 'none' : 'all';
  for (const key of document.querySelectorAll('[data-slots]')) key.hidden = key.dataset.slots !== tools;
  if (focused?.matches('[data-slots][hidden]')) slots()[touched]?.focus({ preventScroll: true });
  const main = document.getElementById('hand-in');
  main.className = number ? 'key off' : 'key go';
  main.textContent = number ? say('Hand in: {number} missing', { number }) : say('Hand in');
  const sign = document.getElementById('to-go');
  const words = sign?.dataset.words.split('|')[number];
  if (words && sign.textContent !== words) sign.textContent = words;
  plan();
}

async function plan() {
  const place = document.getElementById('plan');
  const entered = draft.join('').split(FREE)[0];
  const wanted = `${store()} ${entered}`;
  if (!place) return;
  if (!entered) {
    place.innerHTML = '';
    planned = wanted;
  } else if (wanted !== planned || !place.innerHTML) {
    planned = wanted;
    const { seat, moment } = page().dataset;
    const answer = await post(`/api/seat/${seat}/plan`, { moment, entered });
    const now = document.getElementById('plan');
    if (answer.ok && now && wanted === planned) now.innerHTML = answer.svg;
  }
}

// ---- what is done ----

function change(letters, at = -1) {
  draft = letters;
  if (chosen >= 0) touched = chosen;
  chosen = at;
  refuse('');
  remember();
  paint();
}

function enter(letter, place = next()) {
  if (place < 0) refuse(say('All slots are full: hand in, or go back'));
  else change(changed(place, letter));
}

const changed = (place, letter) => draft.map((before, number) => (number === place ? letter : before));
const clear = place => change(changed(place, FREE));

function back() {
  const full = draft.join('').trimEnd().length;
  if (chosen >= 0) clear(chosen);
  else if (full) clear(full - 1);
}

// Take the order of one slot to another; those between move up.
function move(from, to, follow) {
  if (to < 0 || to >= draft.length || from === to) return;
  const letters = draft.filter((_, place) => place !== from);
  letters.splice(to, 0, draft[from]);
  change(letters, follow ? to : -1);
}

async function tryHandIn() {
  const number = missing();
  if (number) refuse(say('{number} missing: press a key for each slot', { number }));
  else if (await handIn(draft.join(''))) {
    draft = draft.map(() => FREE); // drawn by the next fragment: what is sealed
    remember();
  }
}

const TOOLS = {
  back,
  clear: () => change(draft.map(() => FREE)),
  'slot-left': () => move(chosen, chosen - 1, true),
  'slot-right': () => move(chosen, chosen + 1, true),
  'slot-away': () => clear(chosen),
  'hand-in': tryHandIn,
};

document.addEventListener('click', event => {
  const hit = form() && event.target.closest?.('.order, .slot, .entry .act .key');
  if (!hit) return;
  if (TOOLS[hit.id]) TOOLS[hit.id]();
  else if (hit.matches('.order')) enter(hit.dataset.letter);
  else {
    const place = slots().indexOf(hit);
    change(draft, place === chosen ? -1 : place);
  }
});

// Whoever types into a slot goes on to the next free one, then to the key that hands in.
function goOn(here) {
  const place = draft.indexOf(FREE, here + 1);
  (slots()[place >= 0 ? place : draft.indexOf(FREE)] ?? document.getElementById('hand-in')).focus();
}

function pressed(event, here) {
  const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (here >= 0 && way) {
    move(here, here + way, here === chosen);
    slots()[here + way]?.focus();
    return true;
  }
  const pad = ARROWS[event.key];
  const key = pad ? document.querySelector(`.order[data-pad="${pad}"]`) : typed(event.key.toUpperCase());
  if (key) {
    enter(key.dataset.letter, here >= 0 ? here : undefined);
    if (here >= 0) goOn(here);
  } else if (here >= 0 && ['Backspace', 'Delete'].includes(event.key)) clear(here);
  else if (event.key === 'Backspace') back();
  else if (event.key === 'Escape' && chosen >= 0) change(draft);
  else if (event.key === 'Enter' && !event.target.closest('button, a, summary')) tryHandIn();
  else return false;
  return true;
}

document.addEventListener('keydown', event => {
  if (!form() || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches?.('input, textarea') || document.querySelector('details[open]')) return;
  // A key that is kept down is one press, except for taking away.
  const isDoubled = event.repeat && !['Backspace', 'Delete'].includes(event.key);
  const isOurs = isDoubled
    ? ARROWS[event.key] || event.key === 'Enter'
    : pressed(event, slots().indexOf(event.target));
  if (isOurs) event.preventDefault();
});

// ---- drag ----

let drag = null;

document.addEventListener('pointerdown', event => {
  const slot = event.button === 0 && event.target.closest?.('.slot.full');
  if (slot) drag = { slot, from: slots().indexOf(slot), x: event.clientX, isMoved: false };
});

document.addEventListener('pointermove', event => {
  if (!drag) return;
  const across = event.clientX - drag.x;
  if (!drag.isMoved && Math.abs(across) < DRAG_PX) return;
  if (!drag.isMoved) drag.slot.setPointerCapture(event.pointerId);
  drag.isMoved = true;
  drag.slot.style.transform = `translateX(${across}px)`;
});

function drop(event) {
  const done = drag;
  drag = null;
  if (!done) return;
  done.slot.style.transform = '';
  if (!done.isMoved || event.type === 'pointercancel') return;
  const far = slot => { const box = slot.getBoundingClientRect(); return Math.abs((box.left + box.right) / 2 - event.clientX); };
  const to = slots().reduce((best, slot, place, all) => (far(slot) < far(all[best]) ? place : best), 0);
  move(done.from, to);
  // The click that ends a drag chooses nothing.
  addEventListener('click', click => click.stopPropagation(), { capture: true, once: true });
  setTimeout(() => dispatchEvent(new Event('click')), 0);
}
document.addEventListener('pointerup', drop);
document.addEventListener('pointercancel', drop);

document.addEventListener('shown', paint);
paint();
