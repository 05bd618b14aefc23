// Orders piece by piece, drawn over the own board; they stay in this browser until they are handed in.
import { refuse } from './post.js';
import { say } from './say.js';
import { handIn } from './seat.js';
import { centre, frames, isTurned, mark, onTap, page, shifted, target, tell, use } from './squares.js';

const AGAIN_MS = 4000;
const form = () => document.getElementById('sheet');
const store = () => `orders:${page().dataset.seat}:${page().dataset.moment}`;
let given = {}; // by the unit's name: { kind: its number, way: a letter or '' }
let unit = '';
let drawn = '';
let armed = 0; // the main key was tapped with robots without an order: once more hands in
let sheet = { units: [], kinds: [], directions: [] };

function remember() {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith('orders:') && name !== store()) sessionStorage.removeItem(name);
  sessionStorage.setItem(store(), JSON.stringify(given));
}

const unitOf = name => sheet.units.find(each => each.name === name);
const wayOf = letter => sheet.directions.find(each => each.letter === letter);
const kindOf = order => sheet.kinds[order?.kind];
const isDone = order => Boolean(order) && (!kindOf(order).has_direction || Boolean(order.way));
const written = (order, own) => (order ? `${kindOf(order).letter}${(own && wayOf(order.way)?.initial) || order.way}` : '');
const idle = () => sheet.units.filter(each => !isDone(given[each.name]));

function text() {
  const orders = sheet.units.filter(each => isDone(given[each.name])).map(each => `${each.name}:${written(given[each.name])}`);
  return orders.join(' ') || `${sheet.units[0].name}:${sheet.nothing}`;
}

function goOn() {
  const at = sheet.units.findIndex(each => each.name === unit);
  const row = [...sheet.units.slice(at + 1), ...sheet.units.slice(0, at)];
  unit = row.find(each => !given[each.name])?.name ?? unit;
}

function choose(name) {
  unit = name;
  refuse('');
  paint();
}

function order(kind, way) {
  const before = given[unit];
  const isSame = before && before.kind === kind && (before.way === way || !sheet.kinds[kind].has_direction);
  if (isSame && isDone(before)) delete given[unit];
  else given[unit] = { kind, way: sheet.kinds[kind].has_direction ? way : '' };
  if (isDone(given[unit])) goOn();
  arm(false);
  refuse('');
  remember();
  paint();
}

function clear() {
  given = {};
  unit = '';
  arm(false);
  refuse('');
  remember();
  paint();
}

const tapKind = kind => order(kind, sheet.kinds[kind].has_direction && kindOf(given[unit])?.has_direction && given[unit].kind !== kind ? given[unit].way : '');

function tapWay(letter) {
  const kind = kindOf(given[unit])?.has_direction ? given[unit].kind : sheet.kinds.findIndex(each => each.has_direction);
  order(kind, letter);
}

function tapSquare(square) {
  const own = sheet.units.find(each => each.square === square);
  const from = unitOf(unit)?.square;
  const way = from && sheet.directions.find(each => shifted(from, each.step) === square);
  const waits = given[unit] && !isDone(given[unit]);
  if (own && !waits) choose(own.name);
  else if (way) tapWay(way.letter);
  else if (own) choose(own.name);
}

// ---- what it looks like ----

function drawOrder(each) {
  const set = given[each.name];
  const kind = kindOf(set);
  if (!kind || !isDone(set)) return '';
  const [x, y] = centre(each.square);
  if (!kind.has_direction) return use(kind.drawing, [x, y - 4], 112, each.name === unit ? 'deed on' : 'deed');
  const { step } = wayOf(set.way);
  const [across, down] = isTurned() ? [-step[0], step[1]] : [step[0], -step[1]];
  const to = shifted(each.square, step);
  const degrees = Math.atan2(down, across) * 180 / Math.PI;
  // An arrow of the keys points up and leads wholly into the next square; what is drawn over the edge points right.
  if (!kind.drawing.startsWith('order-')) return `<g class="deed">${use(kind.drawing, [x + across * 50, y + down * 50], 46, 'blade', degrees)}</g>`;
  const arrow = use(kind.drawing, [x + across * 74, y + down * 74], 58, 'deed', degrees + 90);
  return (to ? target(to) : '') + arrow;
}

function ordered(name) {
  const set = given[name];
  return [kindOf(set)?.label, set?.way && wayOf(set.way).label].filter(Boolean).join(' ').toLowerCase();
}

function deed(name) {
  return given[name] ? say('{option}: {choice}', { option: name, choice: ordered(name) }) : say('{unit}: no order yet', { unit: name });
}

function words() {
  const set = given[unit];
  if (kindOf(set)?.has_direction && !set.way) return [deed(unit), say('In which direction?')];
  return [deed(unit), set ? say('Tap it again to remove it.') : say('Tap what it does.')];
}

function paintUnits() {
  const row = form().querySelector('.units');
  const keys = sheet.units.map(each => {
    const key = Object.assign(document.createElement('button'), { type: 'button', className: 'key unit' });
    key.dataset.unit = each.name;
    key.setAttribute('aria-pressed', String(each.name === unit));
    key.setAttribute('aria-label', say('{unit}: {note}, {order}', { unit: each.name, note: each.note, order: ordered(each.name) || say('no order yet') }));
    key.append(Object.assign(document.createElement('b'), { className: 'mono', textContent: `${each.name}:${written(given[each.name], true)}` }));
    key.append(Object.assign(document.createElement('small'), { textContent: each.note }));
    return key;
  });
  if (keys.length === row.children.length && keys.every((key, number) => key.isEqualNode(row.children[number]))) return;
  const focused = row.contains(document.activeElement) && document.activeElement.dataset.unit;
  row.replaceChildren(...keys);
  if (focused) keys.find(key => key.dataset.unit === focused)?.focus({ preventScroll: true });
}

function arm(rest) {
  clearTimeout(armed);
  armed = rest ? setTimeout(() => { armed = 0; paint(); }, AGAIN_MS) : 0;
}

function paint() {
  if (!form()) return;
  sheet = JSON.parse(form().dataset.sheet);
  if (drawn !== store()) {
    drawn = store();
    given = JSON.parse(sessionStorage.getItem(drawn) ?? '{}');
    unit = '';
  }
  if (!unitOf(unit)) unit = (idle()[0] ?? sheet.units[0]).name;
  paintUnits();
  const set = given[unit];
  document.querySelectorAll('[data-kind]').forEach((key, number) => key.setAttribute('aria-pressed', String(set?.kind === number)));
  for (const key of document.querySelectorAll('[data-way]')) key.setAttribute('aria-pressed', String(Boolean(set) && set.way === key.dataset.way));
  const rest = idle().map(each => each.name).join(', ');
  const commit = document.getElementById('commit');
  commit.className = rest && !armed ? 'key off' : 'key go';
  commit.textContent = !rest ? say('Hand in') : armed ? say('{units} do nothing: hand in', { units: rest }) : say('Without an order: {units}', { units: rest });
  const example = document.getElementById('example');
  if (example) {
    example.hidden = Object.keys(given).length > 0;
    document.getElementById('clear').hidden = !example.hidden;
  }
  tell(...words());
  const { square } = unitOf(unit);
  const waits = set && !isDone(set);
  const around = waits ? sheet.directions.map(each => shifted(square, each.step)).filter(Boolean) : [];
  const [still, going] = [false, true].map(isGoing => sheet.units.filter(each => Boolean(kindOf(given[each.name])?.has_direction) === isGoing));
  mark(still.map(drawOrder).join('') + frames(around), going.map(drawOrder).join(''), [square]);
}

document.addEventListener('click', event => {
  const hit = form() && event.target.closest?.('[data-unit], [data-kind], [data-way], #clear, #commit');
  if (!hit) return;
  if (hit.dataset.unit) choose(hit.dataset.unit);
  else if (hit.dataset.kind) tapKind(Number(hit.dataset.kind));
  else if (hit.dataset.way) tapWay(hit.dataset.way);
  else if (hit.id === 'clear') clear();
  else if (armed || !idle().length) handIn(text());
  else {
    arm(true);
    paint();
  }
});

document.addEventListener('keydown', event => {
  if (!form() || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.('input, textarea')) return;
  const letter = event.key.length === 1 ? event.key : '';
  const kind = sheet.kinds.findIndex(each => each.letter && each.letter.toLowerCase() === letter.toLowerCase());
  const way = sheet.directions.find(each => (each.initial || each.letter) === letter.toUpperCase());
  if (unitOf(letter)) choose(letter);
  else if (letter && way) tapWay(way.letter);
  else if (letter && kind >= 0) tapKind(kind);
});

onTap('sheet', { tap: tapSquare, paint, wanted: () => new Set(sheet.units.map(each => each.square)) });
document.addEventListener('shown', paint);
paint();
