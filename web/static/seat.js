// A seat's own orders: they live in this browser until they are handed in.
import { post, say } from './post.js';
import { sha256 } from './sha256.js';

const page = () => document.getElementById('live');
const store = () => `draft:${page().dataset.seat}:${page().dataset.moment}`;
const icon = drawing => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${drawing}"/></svg>`;
const ARROWS = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
let draft = '';
let planned = '';
let asked = '';
let drawn = null;

function remember() {
  for (const name of Object.keys(sessionStorage)) {
    if (name.startsWith('draft:') && (name !== store() || !draft)) sessionStorage.removeItem(name);
  }
  if (draft) sessionStorage.setItem(store(), draft);
}

const keyOf = letter => [...document.querySelectorAll('.order')].find(key => key.dataset.letter === letter);

function paint() {
  const entry = document.querySelector('.entry[data-length]');
  if (!entry) {
    draft = '';
    remember();
  } else {
    if (drawn !== store()) draft = sessionStorage.getItem(store()) ?? '';
    drawn = store();
    const length = Number(entry.dataset.length);
    document.querySelectorAll('.slot').forEach((slot, place) => {
      const key = draft[place] && keyOf(draft[place]);
      slot.className = `slot${key ? ' full' : place === draft.length ? ' next' : ''}`;
      slot.innerHTML = `<span class="k">${place + 1}</span>${key ? `${icon(key.dataset.drawing)}<b>${key.dataset.letter}</b>` : ''}`;
    });
    const missing = length - draft.length;
    const main = document.getElementById('hand-in');
    main.className = missing ? 'key off' : 'key go';
    main.textContent = missing ? `Hand in: ${missing} missing` : 'Hand in';
    plan();
  }
  const now = page().dataset.asked !== undefined ? page().dataset.moment : '';
  if (now && now !== asked && asked !== '' && navigator.userActivation?.hasBeenActive) navigator.vibrate?.(120);
  asked = now || asked || '-';
}

async function plan() {
  const place = document.getElementById('plan');
  const wanted = `${store()} ${draft}`;
  if (!place) return;
  if (!draft) {
    place.innerHTML = '';
    planned = wanted;
  } else if (wanted !== planned || !place.innerHTML) {
    planned = wanted;
    const { seat, moment } = page().dataset;
    const answer = await post(`/api/seat/${seat}/plan`, { moment, entered: draft });
    const now = document.getElementById('plan');
    if (answer.ok && now && wanted === `${store()} ${draft}`) now.innerHTML = answer.svg;
  }
}

function change(longer) {
  draft = longer;
  say('');
  remember();
  paint();
}

function enter(letter) {
  const length = Number(document.querySelector('.entry').dataset.length);
  if (draft.length < length) change(draft + letter);
  else say('All slots are full: hand in, or go back');
}

export async function handIn(action) {
  const { seat, moment } = page().dataset;
  const salt = [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('');
  const answer = await post(`/api/seat/${seat}/hand-in`, { moment, action, salt });
  if (!answer.ok) return;
  draft = '';
  remember();
  if (answer.receipt !== sha256(`${moment} ${seat} ${action} ${salt}`)) say('The receipt does not fit your order: take it back');
}

function tryHandIn() {
  const missing = Number(document.querySelector('.entry').dataset.length) - draft.length;
  if (missing) say(`${missing} missing: press a key for each slot`);
  else handIn(draft);
}

document.addEventListener('click', event => {
  const key = event.target.closest?.('.order, #back, #hand-in');
  if (key?.id === 'back') change(draft.slice(0, -1));
  else if (key?.id === 'hand-in') tryHandIn();
  else if (key) enter(key.dataset.letter);
});

document.addEventListener('submit', event => {
  if (event.target.id !== 'written') return;
  event.preventDefault();
  handIn(event.target.elements.action.value.trim());
});

document.addEventListener('keydown', event => {
  if (!document.querySelector('.entry[data-length]') || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches?.('input, textarea') || document.querySelector('details[open]')) return;
  const pad = ARROWS[event.key];
  const key = pad ? document.querySelector(`.order[data-pad="${pad}"]`) : keyOf(event.key.toUpperCase());
  if (key) {
    event.preventDefault();
    enter(key.dataset.letter);
  } else if (event.key === 'Backspace') change(draft.slice(0, -1));
  else if (event.key === 'Enter' && !event.target.closest('button, a, summary')) tryHandIn();
});

// Look again: the order comes when the key is held, and goes with it.
let holds = false;

async function look() {
  holds = true;
  const answer = await post(`/api/seat/${page().dataset.seat}/mine`);
  const shutter = document.getElementById('shutter');
  if (!holds || !answer.ok || !shutter || !answer.action) return;
  const peek = document.createElement('div');
  peek.className = 'peek';
  peek.innerHTML = answer.orders.map(order => `<span>${icon(order.drawing)}</span>`).join('');
  if (answer.orders.length === 0) peek.textContent = answer.action;
  else peek.querySelectorAll('span').forEach((slot, place) => slot.append(answer.orders[place].letter));
  shutter.append(peek);
}

function hide() {
  holds = false;
  document.querySelectorAll('.peek').forEach(peek => peek.remove());
}

const isLook = event => event.target.closest?.('#look');
document.addEventListener('pointerdown', event => {
  if (!isLook(event)) return;
  event.target.setPointerCapture?.(event.pointerId);
  look();
});
document.addEventListener('keydown', event => {
  if (isLook(event) && !event.repeat && (event.key === ' ' || event.key === 'Enter')) look();
});
for (const end of ['pointerup', 'pointercancel', 'keyup', 'visibilitychange']) document.addEventListener(end, hide);
for (const end of ['blur', 'pagehide']) addEventListener(end, hide);
document.addEventListener('contextmenu', event => { if (isLook(event)) event.preventDefault(); });

document.addEventListener('shown', paint);
paint();
