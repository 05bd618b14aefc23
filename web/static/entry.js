// Open cards tapped in, where the camera does not read them all: a value, then a suit, for each zone. What is tapped
// stays as it is whatever the camera reads meanwhile.
import { post, refuse } from './post.js';
import { say, sayN } from './say.js';

const UNKNOWN = 'X';
const page = () => document.getElementById('live');
const form = () => document.getElementById('enter');
const zones = () => [...document.querySelectorAll('[data-zone]')];
const store = () => `cards:${page().dataset.seat}:${page().dataset.moment}`;
const fresh = () => ({ zones: {}, at: null, value: '', layOpen: false, up: [] });
let state = fresh();
let drawn = '';

function remember() {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith('cards:') && name !== store()) sessionStorage.removeItem(name);
  sessionStorage.setItem(store(), JSON.stringify(state));
}

// A zone shows what the camera reads until it is touched.
const cardsOf = zone => state.zones[zone] ?? JSON.parse(form().dataset.read)[zone] ?? [];
const used = () => zones().flatMap(row => cardsOf(row.dataset.zone));
const shown = card => [['value', card.slice(0, -1)], ['suit', card.slice(-1)]]
  .map(([kind, part]) => document.querySelector(`[data-${kind}="${CSS.escape(part)}"]`)?.dataset.shown ?? part).join('');

function place() {
  if (state.at) return state.at;
  for (const row of zones()) {
    const gap = cardsOf(row.dataset.zone).indexOf(UNKNOWN);
    if (gap >= 0) return { zone: row.dataset.zone, number: gap };
  }
  const { zone } = zones()[0].dataset;
  return { zone, number: cardsOf(zone).length };
}

function change(zone, cards, number) {
  state.zones[zone] = cards;
  state.at = number === undefined ? null : { zone, number };
  refuse('');
  remember();
  paint();
}

function add(suit) {
  if (!state.value) {
    refuse(say('First the value, then the suit'));
    return;
  }
  const { zone, number } = place();
  const cards = [...cardsOf(zone)];
  cards[number] = state.value + suit;
  state.value = '';
  const gap = cards.indexOf(UNKNOWN);
  change(zone, cards, gap >= 0 ? gap : cards.length);
}

function move(tool) {
  const { zone, number } = place();
  const cards = [...cardsOf(zone)];
  if (number >= cards.length) return;
  if (tool === 'up') {
    const card = cards[number];
    state.up = state.up.includes(card) ? state.up.filter(other => other !== card) : [...state.up, card];
    change(zone, cards, number);
    return;
  }
  const [card] = cards.splice(number, 1);
  if (tool === 'away') {
    change(zone, cards);
    return;
  }
  const to = Math.max(0, Math.min(cards.length, number + (tool === 'left' ? -1 : 1)));
  cards.splice(to, 0, card);
  change(zone, cards, to);
}

function text() {
  const { mark, open, lane } = form().dataset;
  const wasUp = (zone, card) => (zone === open ? state.layOpen : state.up.includes(card));
  const written = zone => cardsOf(zone).map(card => card + (wasUp(zone, card) ? mark : '')).join(' ');
  return `${lane && `${lane}: `}${zones().map(row => written(row.dataset.zone)).join(' / ')}`.replace('  ', ' ').trim();
}

function lacks() {
  const unknown = used().filter(card => card === UNKNOWN).length;
  if (unknown) return sayN('{n} card missing', '{n} cards missing', unknown);
  if (!used().length) return say('tap the cards');
  const [first] = zones();
  if ('empty' in form().dataset) return '';
  return cardsOf(first.dataset.zone).length ? '' : say('a card of {side} missing', { side: first.dataset.name });
}

const isRead = () => form().dataset.laid && !Object.keys(state.zones).length && !state.layOpen && !state.up.length;

async function handIn() {
  const why = lacks();
  if (why && !isRead()) {
    refuse(say('Not yet: {why}', { why }));
    return;
  }
  const { seat, moment } = page().dataset;
  await post(`/api/seat/${seat}/hand-in`, { moment, action: isRead() ? form().dataset.laid : text() });
}

// ---- what it looks like ----

function slot(zone, number, card) {
  const key = document.createElement('button');
  key.type = 'button';
  key.dataset.slot = number;
  const isHere = place().zone === zone && place().number === number;
  const wasUp = zone !== form().dataset.open && state.up.includes(card);
  key.className = `cd big ${card === undefined ? 'add' : card === UNKNOWN ? 'shut' : 'up'}${isHere ? ' here' : ''}${wasUp ? ' was-up' : ''}`;
  key.textContent = card === undefined ? '+' : card === UNKNOWN ? '' : shown(card);
  const name = card === undefined ? say('Add a card') : card === UNKNOWN ? say('A card not read: tap it in') : shown(card);
  key.setAttribute('aria-label', wasUp ? `${name}, ${document.querySelector('[data-tool="up"]').textContent}` : name);
  key.setAttribute('aria-pressed', String(isHere));
  return key;
}

function paint() {
  if (!form()) return;
  if (drawn !== store()) {
    drawn = store();
    state = { ...fresh(), ...JSON.parse(sessionStorage.getItem(drawn) ?? '{}') };
  }
  for (const row of zones()) {
    const { zone } = row.dataset;
    const slots = [...cardsOf(zone), undefined].map((card, number) => slot(zone, number, card));
    // What is the same stays, so that a finger on it is not lost.
    if (slots.length === row.children.length && slots.every((each, number) => each.isEqualNode(row.children[number]))) continue;
    const focused = row.contains(document.activeElement) && Number(document.activeElement.dataset.slot);
    row.replaceChildren(...slots);
    if (focused !== false) (slots[focused] ?? slots.at(-1)).focus({ preventScroll: true });
  }
  for (const key of document.querySelectorAll('[data-value]')) key.setAttribute('aria-pressed', String(key.dataset.value === state.value));
  for (const key of document.querySelectorAll('[data-suit]')) key.disabled = used().includes(state.value + key.dataset.suit);
  const { zone, number } = place();
  for (const key of document.querySelectorAll('[data-tool]')) key.disabled = number >= cardsOf(zone).length;
  const up = document.querySelector('[data-tool="up"]');
  if (up) {
    up.disabled ||= zone === form().dataset.open;
    up.setAttribute('aria-pressed', String(!up.disabled && state.up.includes(cardsOf(zone)[number])));
  }
  document.getElementById('lay-open')?.setAttribute('aria-pressed', String(state.layOpen));
  const main = document.getElementById('work-out');
  const why = isRead() ? '' : lacks();
  main.className = why ? 'key off' : 'key go';
  main.textContent = isRead() ? say('That is right') : why ? say('Work it out: {why}', { why }) : say('Work it out');
}

document.addEventListener('click', event => {
  const hit = form() && event.target.closest?.('[data-slot], [data-value], [data-suit], [data-tool], #lay-open, #work-out');
  if (!hit) return;
  const { slot: number, value, suit, tool } = hit.dataset;
  if (number) state.at = { zone: hit.closest('[data-zone]').dataset.zone, number: Number(number) };
  else if (value) state.value = value;
  else if (suit) return add(suit);
  else if (tool) return move(tool);
  else if (hit.id === 'work-out') return handIn();
  else state.layOpen = !state.layOpen;
  remember();
  paint();
});

document.addEventListener('shown', paint);
paint();
