// The page of a seat: handing in orders and keeping them secret, orders in slots, help, and the guide of a first game.
import { forget, post, readSetting, recall, remember, request, root, say, showRefusal, storeSetting } from './page.js';
import { sha256 } from './sha256.js';
import { board, centre, framesSvg, page } from './squares.js';

// A receipt is checked only after the page has shown the sealed order, because a slow phone needs some time for SHA-256.
const RECEIPT_DELAY_MS = 300;
// An order that was sent and has got no answer, with its salt: random text without which others could find the order by its
// receipt. If the order is sent again, it has the same salt. So the table knows that it is the same order.
let unanswered = {};

export const icon = drawing => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${drawing}"/></svg>`;

// ---- handing in ----

function checkReceipt(receipt, text) {
  if (receipt !== sha256(text)) showRefusal(say('The receipt does not match your order: take it back'));
}

const newSalt = () => [...crypto.getRandomValues(new Uint8Array(16))].map(n => n.toString(16).padStart(2, '0')).join('');

// Seal an action. Return whether the table has accepted it.
export async function handIn(action) {
  const { seat, moment } = page().dataset;
  const order = `${moment} ${seat} ${action}`;
  if (unanswered.order !== order) unanswered = { order, salt: newSalt() };
  const { salt } = unanswered;
  const key = document.getElementById('hand-in');
  key?.setAttribute('data-busy', '');
  const answer = await post(`/api/seat/${seat}/hand-in`, { moment, action, salt });
  key?.removeAttribute('data-busy');
  if (answer.status && answer.status < 500) unanswered = {};
  // An action that waits until the board is still has no receipt yet.
  if (answer.receipt) setTimeout(() => checkReceipt(answer.receipt, `${order} ${salt}`), RECEIPT_DELAY_MS);
  return answer.ok;
}

// An order that is taken back returns to the form for orders, once that is on the page. If it is handed in again, it gets a new
// salt. Otherwise its receipt would tell that it is the same order.
let returned = {};
document.addEventListener('answered', ({ detail: { url, action } }) => {
  if (!url.endsWith('/take-back')) return;
  unanswered = {};
  returned = { action, moment: page().dataset.moment };
  document.dispatchEvent(new Event('shown'));
});

// Return the order that was taken back. Only the first call does: afterwards, or if there is none, it is empty.
export function takeReturnedOrder() {
  const { action, moment } = returned;
  returned = {};
  return (moment === page().dataset.moment && action) || '';
}

document.addEventListener('submit', event => {
  if (event.target.id !== 'written') return;
  event.preventDefault();
  handIn(event.target.elements.action.value.trim());
});

// A phone needs long to draw the first text in the font of receipts. So the font is prepared while the browser is idle. Safari
// cannot tell when that is, and prepares it soon.
(globalThis.requestIdleCallback ?? setTimeout)(() => {
  const canvas = document.createElement('canvas').getContext('2d');
  if (!canvas) return;
  canvas.font = `18px ${getComputedStyle(document.body).getPropertyValue('--mono')}`;
  canvas.measureText('0123456789abcdef');
});

// A rematch may lead to the other seat's page. After a press by keyboard the focus goes to that page's sign.
addEventListener('pagehide', () => {
  remember('again', document.activeElement.matches('.rematch:focus-visible') ? 'yes' : '');
});
if (recall('again')) document.querySelector('.sign')?.focus();

// ---- switches ----

// A player's switches for this browser: `signal` when the seat is on turn, and `cover` over entered orders. Keys with
// data-switch show and change them.

const DEFAULTS = { signal: true, cover: false };

// Return whether a switch is on.
function isSwitchOn(name) {
  return (readSetting(name) ?? (DEFAULTS[name] ? 'on' : 'off')) === 'on';
}

function toggleSwitch(name) {
  storeSetting(name, isSwitchOn(name) ? 'off' : 'on');
  document.dispatchEvent(new Event('switched'));
}

function paintSwitches() {
  for (const key of document.querySelectorAll('[data-switch]')) {
    const on = isSwitchOn(key.dataset.switch);
    const small = key.querySelector('small');
    // A key with a small text shows the state of its switch there. The label of any other key says what a tap would do.
    const label = small ?? key;
    const state = on ? say('on') : say('off');
    const action = on ? key.dataset.on : key.dataset.off;
    const text = small ? state : action;
    if (small) key.setAttribute('aria-pressed', String(on));
    if (label.textContent !== text) label.textContent = text;
  }
}

document.addEventListener('click', event => {
  const key = event.target.closest?.('[data-switch]');
  if (key) toggleSwitch(key.dataset.switch);
});
document.addEventListener('switched', paintSwitches);
document.addEventListener('shown', paintSwitches);
addEventListener('storage', () => document.dispatchEvent(new Event('switched'))); // changed in another tab
paintSwitches();

// ---- the shutter ----

// The switch `cover` puts a shutter over everything secret on the page (data-secret), so that nobody else sees it. A touch
// opens it for some seconds. What is under the shutter is neither drawn nor read by screen readers.
{
  const OPEN_MS = 8000; // how long the shutter stays open after the last touch
  const rootElement = document.documentElement;
  let closeTimer = 0;
  let isOpen = false;

  function paint() {
    const isCovered = isSwitchOn('cover') && !isOpen;
    const hasChanged = rootElement.classList.contains('covered') !== isCovered;
    rootElement.classList.toggle('covered', isCovered);
    const focused = document.activeElement;
    for (const secret of document.querySelectorAll('[data-secret]')) {
      const hidesFocus = isCovered && secret !== focused && secret.contains(focused);
      const opensAtFocus = !isCovered && secret === focused;
      const attributes = { tabindex: '0', role: 'button', 'aria-label': say('Covered: touch it to look') };
      for (const [name, value] of Object.entries(attributes)) {
        if (isCovered) secret.setAttribute(name, value);
        else secret.removeAttribute(name);
      }
      // The focus moves from a covered element to the shutter, and back from an opened shutter.
      if (hidesFocus) secret.focus({ preventScroll: true });
      if (opensAtFocus) secret.querySelector('button:not(:disabled, [hidden]), [tabindex="0"]')?.focus({ preventScroll: true });
    }
    if (hasChanged) document.dispatchEvent(new Event(isCovered ? 'covered' : 'uncovered'));
  }

  function open() {
    isOpen = true;
    clearTimeout(closeTimer);
    closeTimer = setTimeout(close, OPEN_MS);
    paint();
  }

  function close() {
    isOpen = false;
    clearTimeout(closeTimer);
    paint();
  }

  // Open the shutter, or keep it open. Return whether the touch has opened it.
  function touch(event) {
    if (!isSwitchOn('cover')) return false;
    const opensNow = !isOpen && event.target.closest?.('[data-secret], .veil');
    if (isOpen || opensNow) open();
    return Boolean(opensNow);
  }

  let hasTouchOpened = false;
  document.addEventListener('pointerdown', event => { hasTouchOpened = touch(event); }, true);
  document.addEventListener('click', event => {
    // The click after the touch that has opened the shutter does nothing else. Screen readers click without a touch.
    if (!hasTouchOpened && !touch(event)) return;
    hasTouchOpened = false;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  document.addEventListener('keydown', event => {
    if (isOpen) touch(event);
    else if (event.target.matches?.('[data-secret]') && ['Enter', ' '].includes(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      open();
    }
  }, true);
  document.addEventListener('visibilitychange', close);
  addEventListener('pagehide', close);
  document.addEventListener('switched', close);
  document.addEventListener('shown', paint);
  paint();
}

// ---- one phone for both seats ----

// Players hand one phone to each other, and a cover (`/pass`) comes between the pages of their seats. A seat's page that is left
// or hidden is emptied, and the browser's back key leads to the cover.
if (document.querySelector('.passed, .passing')) {
  const seat = document.getElementById('live')?.dataset.seat;

  const clearPage = () => document.getElementById('live')?.replaceChildren();
  const showCover = () => location.replace(`${root}/pass`);

  // While the page of this seat is open, the drafts of the other seat must not be readable.
  if (seat) {
    const other = seat === 'south' ? 'north' : 'south';
    forget(name => name.includes(`:${other}:`));
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) return;
      clearPage();
      showCover();
    });
    addEventListener('pagehide', clearPage);
    document.addEventListener('click', event => {
      if (!event.target.closest?.('#cover-now')) return;
      event.preventDefault();
      clearPage();
      showCover();
    });
  }
  addEventListener('pageshow', event => { if (event.persisted) showCover(); });
}

// ---- the signal of a turn ----

// When this seat comes on turn, the phone vibrates and plays a short tone. Browsers permit tones only on a page that somebody
// has touched.
{
  const VIBRATION_MS = 120;
  const MAX_DELAY_MS = 100;
  const whenIdle = globalThis.requestIdleCallback ?? (callback => setTimeout(callback, MAX_DELAY_MS)); // Safari has none
  const TONE = { hz: 1046.5, durationS: 0.08, gain: 0.12 }; // C6 for 80 ms, as on the buzzer
  let audio = null;
  let wasOnTurn = null; // null until the page has been read once

  function prepareAudio() {
    if (!isSwitchOn('signal')) return;
    audio ??= new AudioContext();
    if (audio.state === 'suspended') audio.resume();
  }

  function playTone() {
    if (audio?.state !== 'running') return;
    const nowS = audio.currentTime;
    const envelope = new GainNode(audio, { gain: 0 });
    envelope.gain.linearRampToValueAtTime(TONE.gain, nowS + 0.005);
    envelope.gain.setValueAtTime(TONE.gain, nowS + TONE.durationS);
    envelope.gain.linearRampToValueAtTime(0, nowS + TONE.durationS + 0.02);
    const oscillator = new OscillatorNode(audio, { type: 'triangle', frequency: TONE.hz });
    oscillator.connect(envelope).connect(audio.destination);
    oscillator.start(nowS);
    oscillator.stop(nowS + TONE.durationS + 0.02);
  }

  function signalTurn() {
    const isOnTurn = document.getElementById('live')?.dataset.asked !== undefined;
    if (isOnTurn && wasOnTurn === false && isSwitchOn('signal')) {
      if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(VIBRATION_MS);
      whenIdle(playTone, { timeout: MAX_DELAY_MS }); // after the page has been drawn
    }
    wasOnTurn = isOnTurn;
  }

  // Making an audio context takes long. So it waits until the effect of the touch has been drawn.
  for (const touch of ['pointerdown', 'keydown']) document.addEventListener(touch, () => whenIdle(prepareAudio), { passive: true });
  document.addEventListener('shown', signalTurn);
  signalTurn();
  if (navigator.userActivation?.hasBeenActive) prepareAudio();
}

// ---- the player's sealed order ----

// While its key (#look) is held down, a seat sees its own sealed order.
{
  let isHeld = false;

  async function showSealedOrder() {
    isHeld = true;
    const answer = await post(`/api/seat/${page().dataset.seat}/mine`);
    const shutter = document.getElementById('shutter');
    if (!isHeld || !answer.ok || !shutter || !answer.action) return;
    const peek = document.createElement('div');
    peek.className = 'peek';
    peek.innerHTML = answer.orders.map(order => `<span>${icon(order.drawing)}</span>`).join('');
    if (answer.orders.length === 0) peek.textContent = answer.action;
    else peek.querySelectorAll('span').forEach((slot, index) => slot.append(answer.orders[index].initial));
    shutter.append(peek);
  }

  function hideSealedOrder() {
    isHeld = false;
    document.querySelectorAll('.peek').forEach(peek => peek.remove());
  }

  const isOnKey = event => event.target.closest?.('#look');
  document.addEventListener('pointerdown', event => {
    if (!isOnKey(event)) return;
    event.target.setPointerCapture?.(event.pointerId);
    showSealedOrder();
  });
  document.addEventListener('keydown', event => {
    if (isOnKey(event) && !event.repeat && (event.key === ' ' || event.key === 'Enter')) showSealedOrder();
  });
  for (const end of ['pointerup', 'pointercancel', 'keyup', 'visibilitychange']) document.addEventListener(end, hideSealedOrder);
  for (const end of ['blur', 'pagehide']) addEventListener(end, hideSealedOrder);
  document.addEventListener('contextmenu', event => { if (isOnKey(event)) event.preventDefault(); });
}

// ---- the last turn in a loop ----

// While a seat waits, the pictures of the last turn are shown one after the other. With reduced motion they stand still.
{
  const PICTURE_MS = 1000;
  const EXTRA_LAST = 2; // the last picture stays for two more intervals
  const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');
  let position = 0;

  function showNextPicture() {
    const pictures = [...(document.getElementById('loop')?.children ?? [])];
    if (!pictures.length || reducedMotion.matches) return;
    position = (position + 1) % (pictures.length + EXTRA_LAST);
    const shownIndex = Math.min(position, pictures.length - 1);
    pictures.forEach((picture, index) => { picture.hidden = index !== shownIndex; });
    document.getElementById('loop-at').textContent = `${shownIndex + 1} / ${pictures.length}`;
    document.getElementById('loop-bar').firstElementChild.style.transform = `scaleX(${(shownIndex + 1) / pictures.length})`;
  }

  setInterval(showNextPicture, PICTURE_MS);
}

// ---- orders in slots ----

// The draft of a seat's orders has one letter in each slot. It stays in this browser until it is handed in. The key of an order
// fills the chosen slot, or else the first free one. Orders are moved to other slots by dragging, by keys of the page, or by
// the arrows of a keyboard.
{
  const FREE = ' ';
  const MIN_DRAG_PX = 8; // a shorter movement is a tap
  const ARROWS = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
  const form = () => document.querySelector('.entry[data-length]');
  const storageKey = () => `draft:${page().dataset.seat}:${page().dataset.moment}`;
  const slots = () => [...document.querySelectorAll('.slot')];
  const orderKeys = () => [...document.querySelectorAll('.order')];
  const keyOf = letter => orderKeys().find(key => key.dataset.letter === letter);
  // The key for a typed letter: the initial in the player's language, or else the letter of the notation.
  const keyOfTyped = letter => orderKeys().find(key => key.dataset.initial === letter) ?? keyOf(letter);
  let draft = []; // a letter for each slot, or FREE
  let chosen = -1; // the chosen slot, or -1
  let lastChosen = 0; // the slot that was chosen before, which gets the focus if its keys disappear
  let plannedDraft = ''; // the draft whose plan is drawn on the board
  let drawnKey = ''; // key under which the draft on the page is stored

  function storeDraft() {
    const text = draft.join('');
    forget(name => name.startsWith('draft:') && (name !== storageKey() || !text.trim()));
    if (text.trim()) remember(storageKey(), text);
    if (form()) tabs?.postMessage({ name: storageKey(), text });
  }

  // All tabs of a seat have the same draft. A new tab asks the others for it by a message without text.
  const tabs = globalThis.BroadcastChannel ? new BroadcastChannel('draft') : null;
  tabs?.addEventListener('message', ({ data: { name, text } }) => {
    if (!form() || name !== storageKey() || text === draft.join('')) return;
    if (text !== undefined) {
      draft = [...text];
      remember(name, text);
      paint();
    } else if (freeSlotCount() < draft.length) tabs.postMessage({ name, text: draft.join('') });
  });

  const freeSlotCount = () => draft.filter(letter => letter === FREE).length;
  const nextSlot = () => (chosen >= 0 ? chosen : draft.indexOf(FREE));

  // ---- what it looks like ----

  function paintSlot(slot, index) {
    const key = keyOf(draft[index]);
    slot.className = `slot${key ? ' full' : index === nextSlot() ? ' next' : ''}${index === chosen ? ' chosen' : ''}`;
    slot.setAttribute('aria-pressed', String(index === chosen));
    const number = index + 1;
    const order = key?.dataset.word ?? key?.getAttribute('aria-label');
    slot.setAttribute('aria-label', key ? say('Slot {number}: {order}', { number, order }) : say('Slot {number}: free', { number }));
    const content = `<span class="k">${number}</span>${key ? `${icon(key.dataset.drawing)}<b>${key.dataset.initial}</b>` : ''}`;
    if (slot.innerHTML !== content) slot.innerHTML = content;
    slot.dataset.letter = draft[index].trim();
  }

  function paint() {
    if (!form()) {
      if (!drawnKey || page().dataset.question !== undefined) return; // behind a question the form is only hidden for a while
      draft = [];
      drawnKey = '';
      storeDraft();
      return;
    }
    if (drawnKey !== storageKey()) {
      const length = Number(form().dataset.length);
      draft = [...(recall(storageKey()) ?? '').padEnd(length, FREE)].slice(0, length);
      chosen = -1;
      if (freeSlotCount() === length) tabs?.postMessage({ name: storageKey() });
    }
    drawnKey = storageKey();
    const returnedOrder = takeReturnedOrder();
    if (returnedOrder) {
      draft = [...returnedOrder.padEnd(draft.length, FREE)].slice(0, draft.length);
      storeDraft();
    }
    slots().forEach(paintSlot);
    const focused = document.activeElement;
    const freeCount = freeSlotCount();
    const tools = chosen >= 0 ? 'one' : 'all';
    for (const key of document.querySelectorAll('[data-slots]')) key.hidden = key.dataset.slots !== tools;
    if (focused?.matches('[data-slots][hidden]')) slots()[lastChosen]?.focus({ preventScroll: true });
    const main = document.getElementById('hand-in');
    main.className = freeCount ? 'key off' : 'key go';
    main.textContent = freeCount ? say('Hand in: {number} missing', { number: freeCount }) : say('Hand in');
    const sign = document.getElementById('to-go');
    const words = sign?.dataset.words.split('|')[freeCount];
    if (words && sign.textContent !== words) sign.textContent = words;
    drawPlan();
  }

  // Draw where the orders before the first free slot would lead.
  async function drawPlan() {
    const layer = document.getElementById('plan');
    const entered = draft.join('').split(FREE)[0];
    const currentDraft = `${storageKey()} ${entered}`;
    if (!layer) return;
    if (!entered) {
      layer.innerHTML = '';
      plannedDraft = currentDraft;
    } else if (currentDraft !== plannedDraft || !layer.innerHTML) {
      plannedDraft = currentDraft;
      const { seat, moment } = page().dataset;
      const answer = await request(`/api/seat/${seat}/plan`, { moment, entered });
      const currentLayer = document.getElementById('plan');
      if (answer.ok && currentLayer && currentDraft === plannedDraft) currentLayer.innerHTML = answer.svg;
    }
  }

  // ---- changes ----

  // Replace the draft, and choose a slot or none (-1).
  function changeDraft(letters, slot = -1) {
    draft = letters;
    if (chosen >= 0) lastChosen = chosen;
    chosen = slot;
    showRefusal('');
    storeDraft();
    paint();
  }

  // Put an order into a slot, by default the chosen one, or else the first free one.
  function enterOrder(letter, index = nextSlot()) {
    if (index < 0) showRefusal(say('All slots are full: hand in, or go back'));
    else changeDraft(withLetter(index, letter));
  }

  const withLetter = (index, letter) => draft.map((old, slot) => (slot === index ? letter : old));
  const clearSlot = index => changeDraft(withLetter(index, FREE));

  // Clear the chosen slot, or else the last one that is full.
  function removeOrder() {
    const length = draft.join('').trimEnd().length;
    if (chosen >= 0) clearSlot(chosen);
    else if (length) clearSlot(length - 1);
  }

  // Move an order to another slot. The orders in between shift by one slot.
  function moveOrder(from, to, staysChosen) {
    if (to < 0 || to >= draft.length || from === to) return;
    const letters = draft.filter((_, index) => index !== from);
    letters.splice(to, 0, draft[from]);
    changeDraft(letters, staysChosen ? to : -1);
  }

  async function tryHandIn() {
    const freeCount = freeSlotCount();
    if (freeCount) showRefusal(say('{number} missing: press a key for each slot', { number: freeCount }));
    else if (await handIn(draft.join(''))) {
      draft = draft.map(() => FREE); // the next fragment shows the sealed order
      storeDraft();
    }
  }

  const TOOLS = {
    back: removeOrder,
    clear: () => changeDraft(draft.map(() => FREE)),
    'slot-left': () => moveOrder(chosen, chosen - 1, true),
    'slot-right': () => moveOrder(chosen, chosen + 1, true),
    'slot-away': () => clearSlot(chosen),
    'hand-in': tryHandIn,
  };

  document.addEventListener('click', event => {
    const key = form() && event.target.closest?.('.order, .slot, .entry .act .key');
    if (!key) return;
    if (TOOLS[key.id]) TOOLS[key.id]();
    else if (key.matches('.order')) enterOrder(key.dataset.letter);
    else {
      const index = slots().indexOf(key);
      changeDraft(draft, index === chosen ? -1 : index);
    }
  });

  // After a letter is typed into a slot, focus the next free slot, or else the key that hands in.
  function focusNextSlot(here) {
    const index = draft.indexOf(FREE, here + 1);
    (slots()[index >= 0 ? index : draft.indexOf(FREE)] ?? document.getElementById('hand-in')).focus();
  }

  // Act on a key of the keyboard. `here` is the slot that has the focus, or -1. Return whether the key has an effect.
  function pressKey(event, here) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (here >= 0 && step) {
      moveOrder(here, here + step, here === chosen);
      slots()[here + step]?.focus();
      return true;
    }
    const direction = ARROWS[event.key];
    const key = direction ? document.querySelector(`.order[data-pad="${direction}"]`) : keyOfTyped(event.key.toUpperCase());
    if (key) {
      enterOrder(key.dataset.letter, here >= 0 ? here : undefined);
      if (here >= 0) focusNextSlot(here);
    } else if (here >= 0 && ['Backspace', 'Delete'].includes(event.key)) clearSlot(here);
    else if (event.key === 'Backspace') removeOrder();
    else if (event.key === 'Escape' && chosen >= 0) changeDraft(draft);
    else if (event.key === 'Enter' && !event.target.closest('button, a, summary')) tryHandIn();
    else return false;
    return true;
  }

  document.addEventListener('keydown', event => {
    if (!form() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches?.('input, textarea') || document.querySelector('details[open]')) return;
    // A key that is held down counts as one press, unless it removes orders.
    const isRepetition = event.repeat && !['Backspace', 'Delete'].includes(event.key);
    const isHandled = isRepetition
      ? ARROWS[event.key] || event.key === 'Enter'
      : pressKey(event, slots().indexOf(event.target));
    if (isHandled) event.preventDefault();
  });

  // ---- drag ----

  let drag = null;

  document.addEventListener('pointerdown', event => {
    const slot = event.button === 0 && event.target.closest?.('.slot.full');
    if (slot) drag = { slot, from: slots().indexOf(slot), x: event.clientX, isMoved: false };
  });

  document.addEventListener('pointermove', event => {
    if (!drag) return;
    const distancePx = event.clientX - drag.x;
    if (!drag.isMoved && Math.abs(distancePx) < MIN_DRAG_PX) return;
    if (!drag.isMoved) drag.slot.setPointerCapture(event.pointerId);
    drag.isMoved = true;
    drag.slot.style.transform = `translateX(${distancePx}px)`;
  });

  // End a drag: move the order to the slot that is nearest to the finger.
  function drop(event) {
    const dropped = drag;
    drag = null;
    if (!dropped) return;
    dropped.slot.style.transform = '';
    if (!dropped.isMoved || event.type === 'pointercancel') return;
    const distance = slot => { const box = slot.getBoundingClientRect(); return Math.abs((box.left + box.right) / 2 - event.clientX); };
    const nearest = slots().reduce((best, slot, index, allSlots) => (distance(slot) < distance(allSlots[best]) ? index : best), 0);
    moveOrder(dropped.from, nearest);
    // Swallow the click that ends the drag. If the browser sends none, an artificial one removes this listener.
    addEventListener('click', click => click.stopPropagation(), { capture: true, once: true });
    setTimeout(() => dispatchEvent(new Event('click')), 0);
  }
  document.addEventListener('pointerup', drop);
  document.addEventListener('pointercancel', drop);

  document.addEventListener('shown', paint);
  paint();
}

// ---- the taps of an action ----

// The guide of a first game knows the next action in notation, and shows how to enter it. The functions here return the taps
// that enter an action, up to the tap that hands it in. A tap is a list of
//   - its target: the selector of a key, or a square such as @c4,
//   - the signs that the tap is done, any of which is enough: selectors, each perhaps with the text that its element must have,
//   - a mistake that has to be corrected first: the selector that shows it, and the target that corrects it.
const tapOn = key => [key, [[`${key}[aria-pressed=true]`]]];

function slotTaps(text) {
  const taps = [...text].map((letter, index) => {
    const slot = `#slots li:nth-child(${index + 1}) .slot`;
    return [`.order[data-letter="${letter}"]`, [[`${slot}[data-letter="${letter}"]`]], [`${slot}.full`, '#back']];
  });
  return [...taps, ['#hand-in']];
}

// Return the taps for a choice: a card, one of its keys and a lane. A tap on the card already chooses its first key.
function cardTaps(text) {
  const picks = document.getElementById('picks');
  const choices = JSON.parse(picks?.dataset.choices ?? '[]');
  const choice = choices.find(([notation]) => notation === text);
  if (!choice) return [];
  const [, key, card, lane] = choice;
  const keys = choices.filter(other => other[2] === card).map(other => other[1]);
  const firstKey = [...picks.querySelectorAll('.pick')].find(pick => keys.includes(pick.dataset.key))?.dataset.key;
  return [
    ...(card ? [tapOn(`.card[data-card="${card}"]`)] : []),
    ...(!card || firstKey !== key ? [tapOn(`.pick[data-key="${key}"]`)] : []),
    ...(lane === null ? [] : [[`.ln[data-lane="${lane}"]`]]),
  ];
}

// Return the taps for orders: for each piece the piece, its kind of order and its direction. The whole code of an order, such as
// `aE`, is compared, because a kind may have no letter of its own.
function unitTaps(text) {
  const { kinds, directions } = JSON.parse(document.getElementById('sheet').dataset.sheet);
  return text.split(' ').flatMap(part => {
    const [unit, code] = part.split(':');
    const directionIn = kind => (kind.has_direction ? directions.find(other => kind.letter + other.letter === code) : undefined);
    const number = kinds.findIndex(kind => (kind.has_direction ? directionIn(kind) : kind.letter === code));
    const { letter, has_direction } = kinds[number];
    const direction = directionIn(kinds[number]);
    const key = `[data-unit="${unit}"]`;
    // the text on the piece's key once its order is complete
    const complete = [`${key} b`, `${unit}:${letter}${has_direction ? direction.initial || direction.letter : ''}`];
    return [
      [key, [complete, [`${key}[aria-pressed=true]`]]],
      ...(letter ? [[`[data-kind="${number}"]`, [complete, [`[data-kind="${number}"][aria-pressed=true]`]]]] : []),
      ...(has_direction ? [[`[data-way=${direction.letter}]`, [complete]]] : []),
    ];
  });
}

// Return the taps for a play: the key that begins it, and its squares. `data-taps` of the page lists the taps so far, with a
// space after each.
function playTaps([key, squares]) {
  const taps = key ? [tapOn(`[data-begin="${key}"]`)] : [];
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
  const taps = mode === 'sheet' ? unitTaps(text) : mode === 'duel' ? [tapOn(`[data-card="${text}"]`)] : playTaps(play);
  return [...taps, ['#commit']];
}

// ---- help ----

// “What can I do now?” opens a sheet that covers the keys of the page, but not the sign and the board. Its content is requested
// whenever it opens.
{
  const SVG = 'http://www.w3.org/2000/svg';
  const sheet = () => document.getElementById('help');

  // Frame the squares that the help mentions, in a group of their own, so that other marks on the board stay.
  function frameSquares(squares) {
    document.getElementById('can')?.remove();
    if (!board() || !squares.length) return;
    const group = Object.assign(document.createElementNS(SVG, 'g'), { id: 'can' });
    group.innerHTML = framesSvg(squares);
    if (!sheet().hidden) board().append(group);
  }

  function close() {
    sheet().hidden = true;
    frameSquares([]);
    document.querySelector('.ask')?.focus({ preventScroll: true });
  }

  async function open() {
    const { seat, moment } = page().dataset;
    const entered = [...document.querySelectorAll('#slots .slot')].map(slot => slot.dataset.letter ?? '').join('');
    const answer = await post(`/api/seat/${seat}/help`, { moment, entered });
    if (!answer.ok || !sheet()) return;
    sheet().innerHTML = answer.html;
    sheet().hidden = false;
    sheet().querySelector('h2').tabIndex = -1;
    sheet().querySelector('h2').focus({ preventScroll: true });
    frameSquares(answer.squares);
  }

  // Show the coach's answer in the sheet. While the coach thinks, the keys that ask it are disabled.
  async function advise(key) {
    const advice = sheet().querySelector('#advice');
    const { seat, moment } = page().dataset;
    const keys = sheet().querySelectorAll('[data-coach]');
    advice.textContent = key.dataset.coach === 'theirs' ? '' : advice.dataset.wait;
    for (const coachKey of keys) coachKey.disabled = true;
    const answer = await post(`/api/seat/${seat}/coach`, { moment, about: key.dataset.coach });
    for (const coachKey of keys) coachKey.disabled = false;
    if (answer.ok) advice.innerHTML = answer.html;
    else advice.textContent = answer.error.message;
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
  document.addEventListener('shown', () => { if (sheet()?.hidden ?? true) frameSquares([]); });
}

// ---- the guide ----

// In a first game a tag “Press this” points at the key or square that has to be tapped next. Which one that is follows from what
// the page shows: it is the first tap of the proposed action that is not done.
{
  const findTag = () => document.getElementById('press');
  const find = selector => (selector ? page().querySelector(selector) : null);
  const isSeen = key => Boolean(key?.getClientRects().length) && !key.matches(':disabled');

  const isDone = signs => signs.some(([selector, text]) => [...page().querySelectorAll(selector)].some(element => !text || element.textContent === text));

  // Return the target of the next tap: a selector, or a square such as @c4. Null if this seat has nothing to do.
  function nextTarget() {
    const { order, play } = JSON.parse(document.getElementById('guide').dataset.guide);
    for (const [target, signs = [], [mistake, correction] = []] of order === null ? [] : tapsFor(order, play)) {
      if (signs.length && isDone(signs)) continue;
      return find(mistake) ? correction : target;
    }
    return ['[data-post="/workbench/tidy"]', '.act.hands .go', '[data-post$="/resume"]'].find(selector => isSeen(find(selector))) ?? null;
  }

  // Return the points at which the tag may point: x and y in px from the page's corner, and whether the tag is below the point.
  function tagPoints(target) {
    const pageRect = page().getBoundingClientRect();
    if (!target.startsWith('@')) {
      const box = find(target)?.getBoundingClientRect();
      if (!box) return [];
      const middle = box.left + box.width / 2 - pageRect.left;
      return [[middle, box.top + 10 - pageRect.top, false], [middle, box.bottom - 10 - pageRect.top, true]];
    }
    if (!board()) return [];
    const [x, y] = centre(target.slice(1));
    return [[-20, false], [40, true]].map(([offset, isUnder]) => {
      const point = new DOMPoint(x, y + offset).matrixTransform(board().getScreenCTM());
      return [point.x - pageRect.left, point.y - pageRect.top, isUnder];
    });
  }

  const TIP_PX = 8; // height of the tag's tip, which hides nothing
  const MARGIN_PX = 4;

  // Return the area in square pixels that a box and the tag have in common.
  const overlapArea = (box, left, top, width, height) => Math.max(0, Math.min(box.right, left + width) - Math.max(box.left, left))
    * Math.max(0, Math.min(box.bottom, top + height) - Math.max(box.top, top));

  // Return the place of the tag that hides least. For a square it must not hide other pieces, and for a key not the texts of keys
  // and slots.
  function bestPlace(target, width, height) {
    const pageRect = page().getBoundingClientRect();
    const isKey = !target.startsWith('@');
    const others = [...page().querySelectorAll(isKey ? '.key :is(b, .leg), .slot b' : '.view [data-at]')]
      .filter(element => `@${element.dataset.at}` !== target)
      .map(element => element.getBoundingClientRect());
    const maxLeft = page().clientWidth - width - MARGIN_PX;
    // which share of the tag's width is left of its tip: the middle is tried first
    const shares = isKey ? [.5, .3, .7] : [.5, .35, .65, .2, .8, .13, .87];
    const placeAt = ([x, y, isUnder], share) => {
      const left = Math.max(MARGIN_PX, Math.min(maxLeft, x - share * width));
      const top = isUnder ? y : y - height;
      // on a key the tip hides nothing, so only the rest of the tag counts
      const body = isKey ? [top + pageRect.top + (isUnder ? TIP_PX : 0), width, height - TIP_PX] : [top + pageRect.top, width, height];
      const hidden = others.reduce((sum, box) => sum + overlapArea(box, left + pageRect.left, ...body), 0);
      return { left, top, isUnder, tip: x - left, hidden };
    };
    const places = tagPoints(target).flatMap(point => shares.map(share => placeAt(point, share)));
    return places.reduce((best, candidate) => (candidate.hidden < best.hidden ? candidate : best), places[0]);
  }

  let requestedFrame = 0;
  function paint() {
    requestedFrame = 0;
    const tag = findTag();
    if (!tag) return;
    const target = nextTarget();
    for (const key of page().querySelectorAll('[data-press]')) if (key !== find(target?.startsWith('@') ? '' : target)) key.removeAttribute('data-press');
    if (target && !target.startsWith('@')) find(target)?.setAttribute('data-press', '');
    tag.dataset.at = target ?? '';
    tag.hidden = !target;
    const best = target && bestPlace(target, tag.offsetWidth, tag.offsetHeight);
    tag.hidden = !best;
    if (!best) return;
    tag.classList.toggle('under', best.isUnder);
    tag.style.transform = `translate(${best.left}px, ${best.top}px)`;
    tag.style.setProperty('--at', `${best.tip}px`);
  }

  const paintSoon = () => { requestedFrame ||= requestAnimationFrame(paint); };
  new MutationObserver(paintSoon).observe(document.body, { subtree: true, childList: true, attributeFilter: ['class', 'aria-pressed', 'data-taps', 'hidden'] });
  addEventListener('resize', paintSoon);
  document.addEventListener('shown', paintSoon);
  paint();
}
