// A seat's page: what is handed in and what keeps it secret, orders in slots, help, and the guide of a first game.
import { forget, keepSetting, post, recall, refuse, remember, root, say, setting } from './page.js';
import { sha256 } from './sha256.js';
import { board, centre, frames, page } from './squares.js';

const SHOWN_MS = 300; // what is sealed is shown first, then its receipt is checked
let unheard = {}; // an order of which the table has said nothing: the same once more is this one, with its salt

export const icon = drawing => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${drawing}"/></svg>`;

function check(receipt, text) {
  if (receipt !== sha256(text)) refuse(say('The receipt does not match your order: take it back'));
}

const drawn = () => [...crypto.getRandomValues(new Uint8Array(16))].map(n => n.toString(16).padStart(2, '0')).join('');

// Seal an action; answers whether it is in.
export async function handIn(action) {
  const { seat, moment } = page().dataset;
  const order = `${moment} ${seat} ${action}`;
  if (unheard.order !== order) unheard = { order, salt: drawn() };
  const { salt } = unheard;
  const key = document.getElementById('hand-in');
  key?.setAttribute('data-busy', '');
  const answer = await post(`/api/seat/${seat}/hand-in`, { moment, action, salt });
  key?.removeAttribute('data-busy');
  if (answer.status && answer.status < 500) unheard = {};
  // A press that waits until the board lies still has none yet.
  if (answer.receipt) setTimeout(() => check(answer.receipt, `${order} ${salt}`), SHOWN_MS);
  return answer.ok;
}

// What was taken back is another order when it is handed in again: its receipt must not say that it is the same.
// It comes back as it was, and waits until its form is there.
let returned = {};
document.addEventListener('answered', ({ detail: { url, action } }) => {
  if (!url.endsWith('/take-back')) return;
  unheard = {};
  returned = { action, moment: page().dataset.moment };
  document.dispatchEvent(new Event('shown'));
});

// The order that was taken back, once; empty if there is none.
export function takeReturned() {
  const { action, moment } = returned;
  returned = {};
  return (moment === page().dataset.moment && action) || '';
}

document.addEventListener('submit', event => {
  if (event.target.id !== 'written') return;
  event.preventDefault();
  handIn(event.target.elements.action.value.trim());
});

// The receipt's type comes while nothing else is to do: its first letters take a phone long to find. Safari has no idle
// callback.
(globalThis.requestIdleCallback ?? setTimeout)(() => {
  const pen = document.createElement('canvas').getContext('2d');
  if (!pen) return;
  pen.font = `18px ${getComputedStyle(document.body).getPropertyValue('--mono')}`;
  pen.measureText('0123456789abcdef');
});

// A rematch leads to the other seat's page: whoever pressed it by keyboard goes on at its sign.
addEventListener('pagehide', () => {
  remember('again', document.activeElement.matches('.rematch:focus-visible') ? 'yes' : '');
});
if (recall('again')) document.querySelector('.sign')?.focus();

// ---- what a player sets for this browser ----

// What a player sets for this browser: it stays in its storage, and keys with data-switch show and change it.

const DELIVERED = { signal: true, cover: false };

function isOn(name) {
  return (setting(name) ?? (DELIVERED[name] ? 'on' : 'off')) === 'on';
}

function toggle(name) {
  keepSetting(name, isOn(name) ? 'off' : 'on');
  document.dispatchEvent(new Event('switched'));
}

function paintSwitches() {
  for (const key of document.querySelectorAll('[data-switch]')) {
    const on = isOn(key.dataset.switch);
    const small = key.querySelector('small');
    // Either the key says what it would do, or it stays down while it is on.
    const place = small ?? key;
    const text = small ? (on ? say('on') : say('off')) : on ? key.dataset.on : key.dataset.off;
    if (small) key.setAttribute('aria-pressed', String(on));
    if (place.textContent !== text) place.textContent = text;
  }
}

document.addEventListener('click', event => {
  const key = event.target.closest?.('[data-switch]');
  if (key) toggle(key.dataset.switch);
});
document.addEventListener('switched', paintSwitches);
document.addEventListener('shown', paintSwitches);
addEventListener('storage', () => document.dispatchEvent(new Event('switched'))); // another tab turned it
paintSwitches();

// ---- the shutter ----

// Eyes that should not see: what a seat has entered lies under the shutter until it is touched, and again some seconds
// after the last touch. The same shutter for all that a seat may hold: what is under it is neither drawn nor spoken.
{
  const LOOK_MS = 8000;
  const page = document.documentElement;
  let end = 0;
  let isLooking = false;

  function paint() {
    const isCovered = isOn('cover') && !isLooking;
    const changes = page.classList.contains('covered') !== isCovered;
    page.classList.toggle('covered', isCovered);
    const focused = document.activeElement;
    for (const place of document.querySelectorAll('[data-secret]')) {
      const hides = isCovered && place !== focused && place.contains(focused);
      const opens = !isCovered && place === focused;
      const marks = { tabindex: '0', role: 'button', 'aria-label': say('Covered: touch it to look') };
      for (const [name, value] of Object.entries(marks)) {
        if (isCovered) place.setAttribute(name, value);
        else place.removeAttribute(name);
      }
      // The focus follows: onto the shutter, or to what lay under it.
      if (hides) place.focus({ preventScroll: true });
      if (opens) place.querySelector('button:not(:disabled, [hidden]), [tabindex="0"]')?.focus({ preventScroll: true });
    }
    if (changes) document.dispatchEvent(new Event(isCovered ? 'covered' : 'uncovered'));
  }

  function look() {
    isLooking = true;
    clearTimeout(end);
    end = setTimeout(hide, LOOK_MS);
    paint();
  }

  function hide() {
    isLooking = false;
    clearTimeout(end);
    paint();
  }

  // Answers whether the touch only opened the shutter.
  function touch(event) {
    if (!isOn('cover')) return false;
    const opens = !isLooking && event.target.closest?.('[data-secret], .veil');
    if (isLooking || opens) look();
    return Boolean(opens);
  }

  let opened = false;
  document.addEventListener('pointerdown', event => { opened = touch(event); }, true);
  document.addEventListener('click', event => {
    // A screen reader clicks without touching; the click after the touch that opened the shutter does nothing else.
    if (!opened && !touch(event)) return;
    opened = false;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  document.addEventListener('keydown', event => {
    if (isLooking) touch(event);
    else if (event.target.matches?.('[data-secret]') && ['Enter', ' '].includes(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      look();
    }
  }, true);
  document.addEventListener('visibilitychange', hide);
  addEventListener('pagehide', hide);
  document.addEventListener('switched', hide);
  document.addEventListener('shown', paint);
  paint();
}

// ---- one phone for both ----

// One phone for both seats: whatever is on the page goes when the page goes, and the way back leads to the cover.
if (document.querySelector('.passed, .passing')) {
  const seat = document.getElementById('live')?.dataset.seat;

  const clear = () => document.getElementById('live')?.replaceChildren();
  const cover = () => location.replace(`${root}/pass`);

  // What the other side has entered and not handed in is in this browser under the other side's cover only.
  if (seat) {
    const other = seat === 'south' ? 'north' : 'south';
    forget(name => name.includes(`:${other}:`));
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
}

// ---- the turn comes to this seat ----

// The turn comes to this seat: the phone shakes and says it by a short tone, whatever the orders will be. Nothing is
// heard before the page was touched: browsers forbid it.
{
  const SHAKE_MS = 120;
  const LATE_MS = 100;
  const idle = globalThis.requestIdleCallback ?? (later => setTimeout(later, LATE_MS)); // Safari has none
  const TONE = { hz: 1046.5, s: 0.08, loud: 0.12 }; // C6 80, as on the buzzer
  let audio = null;
  let asked = null;

  function wake() {
    if (!isOn('signal')) return;
    audio ??= new AudioContext();
    if (audio.state === 'suspended') audio.resume();
  }

  function sound() {
    if (audio?.state !== 'running') return;
    const now = audio.currentTime;
    const loud = new GainNode(audio, { gain: 0 });
    loud.gain.linearRampToValueAtTime(TONE.loud, now + 0.005);
    loud.gain.setValueAtTime(TONE.loud, now + TONE.s);
    loud.gain.linearRampToValueAtTime(0, now + TONE.s + 0.02);
    const voice = new OscillatorNode(audio, { type: 'triangle', frequency: TONE.hz });
    voice.connect(loud).connect(audio.destination);
    voice.start(now);
    voice.stop(now + TONE.s + 0.02);
  }

  function look() {
    const now = document.getElementById('live')?.dataset.asked !== undefined;
    if (now && asked === false && isOn('signal')) {
      if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(SHAKE_MS);
      idle(sound, { timeout: LATE_MS }); // what is new is drawn first
    }
    asked = now;
  }

  // The answer to a touch is drawn first: an audio context takes its time.
  for (const touch of ['pointerdown', 'keydown']) document.addEventListener(touch, () => idle(wake), { passive: true });
  document.addEventListener('shown', look);
  look();
  if (navigator.userActivation?.hasBeenActive) wake();
}

// ---- a look at what is sealed ----

// Look again: the order comes when the key is held, and goes with it.
{
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
    else peek.querySelectorAll('span').forEach((slot, place) => slot.append(answer.orders[place].initial));
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
}

// ---- the last turn once more ----

// While one waits: its pictures one after the other, a second each, then the last one for two more. It stands still for
// who asked for stillness.
{
  const REST = 2;
  const STEP_MS = 1000;
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  let beat = 0;

  function step() {
    const pictures = [...(document.getElementById('loop')?.children ?? [])];
    if (!pictures.length || calm.matches) return;
    beat = (beat + 1) % (pictures.length + REST);
    const shown = Math.min(beat, pictures.length - 1);
    pictures.forEach((picture, place) => { picture.hidden = place !== shown; });
    document.getElementById('loop-at').textContent = `${shown + 1} / ${pictures.length}`;
    document.getElementById('loop-bar').firstElementChild.style.transform = `scaleX(${(shown + 1) / pictures.length})`;
  }

  setInterval(step, STEP_MS);
}

// ---- orders in slots ----

// The buffer of a seat's orders, slot by slot: it lives in this browser until it is handed in. A key fills the chosen
// slot, else the first free one; slots change places by drag, by the keys below, or by the arrows on the keyboard.
{
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

  function keep() {
    const text = draft.join('');
    forget(name => name.startsWith('draft:') && (name !== store() || !text.trim()));
    if (text.trim()) remember(store(), text);
    if (form()) tabs?.postMessage({ name: store(), text });
  }

  // Every tab of this seat has the same slots; a new one asks the others.
  const tabs = globalThis.BroadcastChannel ? new BroadcastChannel('draft') : null;
  tabs?.addEventListener('message', ({ data: { name, text } }) => {
    if (!form() || name !== store() || text === draft.join('')) return;
    if (text !== undefined) {
      draft = [...text];
      remember(name, text);
      paint();
    } else if (missing() < draft.length) tabs.postMessage({ name, text: draft.join('') });
  });

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
      if (!drawn || page().dataset.question !== undefined) return; // the orders wait until it is answered
      draft = [];
      drawn = '';
      keep();
      return;
    }
    if (drawn !== store()) {
      const length = Number(form().dataset.length);
      draft = [...(recall(store()) ?? '').padEnd(length, FREE)].slice(0, length);
      chosen = -1;
      if (missing() === length) tabs?.postMessage({ name: store() });
    }
    drawn = store();
    const before = takeReturned();
    if (before) {
      draft = [...before.padEnd(draft.length, FREE)].slice(0, draft.length);
      keep();
    }
    slots().forEach(paintSlot);
    const focused = document.activeElement;
    const number = missing();
    const tools = chosen >= 0 ? 'one' : 'all';
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
    keep();
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
      keep();
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
}

// ---- the taps of an action ----

// How an action that is told in notation is entered, tap by tap up to the one that hands it in: what is tapped, a selector or a square as
// @c4; how one sees that it is done, selectors and perhaps the texts of their elements; and a selector with what is tapped first while it matches.
const press = key => [key, [[`${key}[aria-pressed=true]`]]];

function slotTaps(text) {
  const taps = [...text].map((letter, place) => {
    const slot = `#slots li:nth-child(${place + 1}) .slot`;
    return [`.order[data-letter="${letter}"]`, [[`${slot}[data-letter="${letter}"]`]], [`${slot}.full`, '#back']];
  });
  return [...taps, ['#hand-in']];
}

// The first key of a card needs no tap.
function cardTaps(text) {
  const picks = document.getElementById('picks');
  const choices = JSON.parse(picks?.dataset.choices ?? '[]');
  const choice = choices.find(([notation]) => notation === text);
  if (!choice) return [];
  const [, key, card, lane] = choice;
  const keys = choices.filter(each => each[2] === card).map(each => each[1]);
  const first = [...picks.querySelectorAll('.pick')].find(each => keys.includes(each.dataset.key))?.dataset.key;
  return [
    ...(card ? [press(`.card[data-card="${card}"]`)] : []),
    ...(!card || first !== key ? [press(`.pick[data-key="${key}"]`)] : []),
    ...(lane === null ? [] : [[`.ln[data-lane="${lane}"]`]]),
  ];
}

// Each piece, its kind of order and its direction. Whole codes are compared, as a kind may have no letter.
function unitTaps(text) {
  const { kinds, directions } = JSON.parse(document.getElementById('sheet').dataset.sheet);
  return text.split(' ').flatMap(part => {
    const [unit, code] = part.split(':');
    const number = kinds.findIndex(({ letter, has_direction }) => (has_direction ? directions.some(way => letter + way.letter === code) : letter === code));
    const { letter, has_direction } = kinds[number];
    const way = directions.find(each => letter + each.letter === code);
    const own = `[data-unit="${unit}"]`;
    // what the piece shows once its order is complete
    const whole = [`${own} b`, `${unit}:${letter}${has_direction ? way.initial || way.letter : ''}`];
    return [
      [own, [whole, [`${own}[aria-pressed=true]`]]],
      ...(letter ? [[`[data-kind="${number}"]`, [whole, [`[data-kind="${number}"][aria-pressed=true]`]]]] : []),
      ...(has_direction ? [[`[data-way=${way.letter}]`, [whole]]] : []),
    ];
  });
}

// A key that begins the play, then its squares: the page lists the taps so far, with a blank after each.
function playTaps([key, squares]) {
  const taps = key ? [press(`[data-begin="${key}"]`)] : [];
  let tapped = `${key} `;
  for (const square of squares) {
    tapped += `${square} `;
    taps.push([`@${square}`, [[`#plays[data-taps^="${tapped}"]`]]]);
  }
  return taps;
}

function tapsFor(text, play) {
  if (page().classList.contains('cards')) return cardTaps(text);
  if (document.getElementById('slots')) return slotTaps(text);
  const mode = page().querySelector('[data-mode]')?.dataset.mode;
  const taps = mode === 'sheet' ? unitTaps(text) : mode === 'duel' ? [press(`[data-card="${text}"]`)] : playTaps(play);
  return [...taps, ['#commit']];
}

// ---- help ----

// “What can I do now?”: a sheet over the keys of a seat's page, asked for when it is opened; sign and board stay.
{
  const SVG = 'http://www.w3.org/2000/svg';
  const sheet = () => document.getElementById('help');

  // The squares it speaks of, in frames of their own: whoever draws on the board goes on meanwhile.
  function mark(squares) {
    document.getElementById('can')?.remove();
    if (!board() || !squares.length) return;
    const group = Object.assign(document.createElementNS(SVG, 'g'), { id: 'can' });
    group.innerHTML = frames(squares);
    if (!sheet().hidden) board().append(group);
  }

  function close() {
    sheet().hidden = true;
    mark([]);
    document.querySelector('.ask')?.focus({ preventScroll: true });
  }

  async function open() {
    const { seat, moment } = page().dataset;
    const entered = [...document.querySelectorAll('#slots .slot')].map(each => each.dataset.letter ?? '').join('');
    const answer = await post(`/api/seat/${seat}/help`, { moment, entered });
    if (!answer.ok || !sheet()) return;
    sheet().innerHTML = answer.html;
    sheet().hidden = false;
    sheet().querySelector('h2').tabIndex = -1;
    sheet().querySelector('h2').focus({ preventScroll: true });
    mark(answer.squares);
  }

  // The coach's answer, for as long as the sheet is open; the keys rest while it thinks.
  async function advise(key) {
    const advice = sheet().querySelector('#advice');
    const { seat, moment } = page().dataset;
    const keys = sheet().querySelectorAll('[data-coach]');
    advice.textContent = key.dataset.coach === 'theirs' ? '' : advice.dataset.wait;
    for (const each of keys) each.disabled = true;
    const answer = await post(`/api/seat/${seat}/coach`, { moment, about: key.dataset.coach });
    for (const each of keys) each.disabled = false;
    if (answer.ok) advice.innerHTML = answer.html;
    else advice.textContent = answer.error?.message ?? say('No connection to the table: try again');
  }

  document.addEventListener('click', event => {
    const key = event.target.closest?.('[data-coach]');
    if (key) return void advise(key);
    if (!event.target.closest?.('[data-help]') || !sheet()) return;
    if (sheet().hidden) open();
    else close();
  });
  document.addEventListener('keydown', event => {
    if (!sheet() || event.target.matches?.('input, textarea')) return;
    if (event.key === '?') open();
    else if (event.key === 'Escape' && !sheet().hidden) close();
  });
  document.addEventListener('shown', () => { if (sheet()?.hidden ?? true) mark([]); });
}

// ---- the guide ----

// The guide of a first game: hangs “Press this” over what is to be touched next, worked out of what the page shows.
{
  const tag = () => document.getElementById('press');
  const find = selector => (selector ? page().querySelector(selector) : null);
  const isSeen = key => Boolean(key?.getClientRects().length) && !key.matches(':disabled');

  const isDone = done => done.some(([selector, text]) => [...page().querySelectorAll(selector)].some(each => !text || each.textContent === text));

  // What is next: a selector, or a square as @c4; null: nothing is asked of this seat.
  function next() {
    const { order, play } = JSON.parse(document.getElementById('guide').dataset.guide);
    for (const [target, done = [], [wrong, instead] = []] of order === null ? [] : tapsFor(order, play)) {
      if (done.length && isDone(done)) continue;
      return find(wrong) ? instead : target;
    }
    return ['[data-post="/workbench/tidy"]', '.act.hands .go', '[data-post$="/resume"]'].find(each => isSeen(find(each))) ?? null;
  }

  // Where the tag’s tip may point, in the page’s own measure, and whether the tag hangs below: at a key or a square from
  // above, or from below.
  function tips(target) {
    const here = page().getBoundingClientRect();
    if (!target.startsWith('@')) {
      const box = find(target)?.getBoundingClientRect();
      return box ? [[box.top + 10, false], [box.bottom - 10, true]].map(([y, isUnder]) => [box.left + box.width / 2 - here.left, y - here.top, isUnder]) : [];
    }
    if (!board()) return [];
    const [x, y] = centre(target.slice(1));
    return [[-20, false], [40, true]].map(([down, isUnder]) => {
      const at = new DOMPoint(x, y + down).matrixTransform(board().getScreenCTM());
      return [at.x - here.left, at.y - here.top, isUnder];
    });
  }

  const TIP = 8; // so much of the tag is only its tip

  // How much of a piece or a word lies under the tag, in square pixels.
  const hidden = (box, left, top, width, height) => Math.max(0, Math.min(box.right, left + width) - Math.max(box.left, left))
    * Math.max(0, Math.min(box.bottom, top + height) - Math.max(box.top, top));

  // The tag’s place there, as far to the left or right as hides least: of other pieces, or at a key of the words of keys and orders.
  function place(target, width, height) {
    const here = page().getBoundingClientRect();
    const isKey = !target.startsWith('@');
    const others = [...page().querySelectorAll(isKey ? '.key :is(b, .leg), .slot b' : '.view [data-at]')].filter(each => `@${each.dataset.at}` !== target)
      .map(each => each.getBoundingClientRect());
    const most = page().clientWidth - width - 4;
    const places = tips(target).flatMap(([x, y, isUnder]) => (isKey ? [.5, .3, .7] : [.5, .35, .65, .2, .8, .13, .87]).map(share => {
      const left = Math.max(4, Math.min(most, x - share * width));
      const top = isUnder ? y : y - height;
      const body = isKey ? [top + here.top + (isUnder ? TIP : 0), width, height - TIP] : [top + here.top, width, height];
      const hides = others.reduce((sum, box) => sum + hidden(box, left + here.left, ...body), 0);
      return { left, top, isUnder, at: x - left, hides };
    }));
    return places.reduce((best, each) => (each.hides < best.hides ? each : best), places[0]);
  }

  let waits = 0;
  function paint() {
    waits = 0;
    const tip = tag();
    if (!tip) return;
    const target = next();
    for (const each of page().querySelectorAll('[data-press]')) if (each !== find(target?.startsWith('@') ? '' : target)) each.removeAttribute('data-press');
    if (target && !target.startsWith('@')) find(target)?.setAttribute('data-press', '');
    tip.dataset.at = target ?? '';
    tip.hidden = !target;
    const best = target && place(target, tip.offsetWidth, tip.offsetHeight);
    tip.hidden = !best;
    if (!best) return;
    tip.classList.toggle('under', best.isUnder);
    tip.style.transform = `translate(${best.left}px, ${best.top}px)`;
    tip.style.setProperty('--at', `${best.at}px`);
  }

  const later = () => { waits ||= requestAnimationFrame(paint); };
  new MutationObserver(later).observe(document.body, { subtree: true, childList: true, attributeFilter: ['class', 'aria-pressed', 'data-taps', 'hidden'] });
  addEventListener('resize', later);
  document.addEventListener('shown', later);
  paint();
}
