// This script runs before all other scripts of a page. It is not a module, because modules run late.

// ---- keys that rest ----

// A finger must not hit a key that has just changed. So some keys rest for a moment: a tap on them does nothing, although they
// look as always. A key rests if it is new or has another meaning, and lies where another key was or where the last tap was.
// The keys of a new dialog rest, too. A new key under the finger rests longer, because a double tap takes up to a second.
(() => {
  const REST_MS = 700;
  const REST_UNDER_FINGER_MS = 1100;
  const TAP_MEMORY_MS = 2000; // how long the finger counts as being where it has tapped
  const MIN_OVERLAP_PX = 8;
  const KEYS = ':is(.key, .whole, button.wkey, .is-key, .as-key, a.code):not(.off, :disabled, span)';
  const CLOCKS = '[data-time], [data-limit], [data-run]';
  let knownKeys = [];
  let tap = { timeMs: -Infinity, x: 0, y: 0 };

  // Return what a key does, as text that can be compared. A key without an address is handled by some script, so its id or label
  // stands for what it does.
  const meaningOf = ({ id, name, value, tagName, dataset, href, textContent }) => [
    tagName, id, name, value, dataset.post, dataset.body, dataset.own, dataset.arm, dataset.key, id ? '' : href,
    id || dataset.post || href ? '' : textContent.trim(),
  ].join('|');
  const isInside = ({ x, y }, { left, right, top, bottom }) => x >= left && x <= right && y >= top && y <= bottom;
  const overlaps = (rectA, rectB) => Math.min(rectA.right, rectB.right) - Math.max(rectA.left, rectB.left) > MIN_OVERLAP_PX
    && Math.min(rectA.bottom, rectB.bottom) - Math.max(rectA.top, rectB.top) > MIN_OVERLAP_PX;

  // Return the keys that can be pressed now. While a dialog is open, only its own keys can.
  function pressableKeys() {
    const dialog = document.querySelector('dialog[open]');
    return [...(dialog ?? document).querySelectorAll(KEYS)].map(key => ({
      key, rect: key.getBoundingClientRect(), meaning: meaningOf(key), text: key.id && !key.dataset.post ? key.textContent : '', isInDialog: Boolean(dialog),
    })).filter(({ rect }) => rect.width > 0);
  }

  // Return the time in ms at which the rest of a key begins, -Infinity if it need not rest. The rest lasts for REST_MS. A key
  // that has not changed keeps the time that it had.
  function restStartMs(current, nowMs) {
    const isUnderFinger = nowMs - tap.timeMs < TAP_MEMORY_MS && isInside(tap, current.rect);
    const knownKey = knownKeys.find(known => known.meaning === current.meaning && overlaps(known.rect, current.rect));
    if (knownKey && (knownKey.text === current.text || !isUnderFinger)) return knownKey.restStartMs;
    const isNew = !knownKeys.some(({ key }) => key === current.key);
    if (isUnderFinger && isNew) return nowMs + REST_UNDER_FINGER_MS - REST_MS;
    if (knownKey || isUnderFinger || current.isInDialog) return nowMs;
    return knownKeys.some(known => overlaps(known.rect, current.rect)) ? nowMs : -Infinity;
  }

  function noteKeys() {
    const nowMs = performance.now();
    const current = pressableKeys();
    for (const key of current) key.restStartMs = restStartMs(key, nowMs);
    // the place of a key that has gone still counts for a moment
    const gone = knownKeys.filter(known => !current.some(({ meaning }) => meaning === known.meaning));
    for (const known of gone) known.goneMs ??= nowMs;
    knownKeys = [...current, ...gone.filter(known => nowMs - known.goneMs < REST_MS)];
  }

  // Note the new places of keys after scrolling. People expect keys to move then, so none has to rest.
  function notePlaces() {
    for (const known of knownKeys) if (known.key.isConnected) known.rect = known.key.getBoundingClientRect();
  }

  // Return the time in ms for which a key still rests, 0 if it does not.
  function remainingRestMs(key) {
    const startMs = knownKeys.find(known => known.key === key)?.restStartMs ?? -Infinity;
    return Math.max(0, startMs + REST_MS - performance.now());
  }
  globalThis.remainingRestMs = remainingRestMs;

  const keyOf = ({ target }) => target.closest?.(KEYS);
  function stopIfResting(event) {
    const key = keyOf(event);
    if (!key || remainingRestMs(key) === 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }
  addEventListener('pointerdown', event => {
    if (keyOf(event)?.dataset.edge !== undefined) stopIfResting(event);
    tap = { timeMs: performance.now(), x: event.clientX, y: event.clientY };
  }, true);
  addEventListener('click', event => {
    stopIfResting(event);
    const key = keyOf(event);
    if (event.detail || !event.isTrusted || !key) return;
    // a press by keyboard counts as a tap in the middle of its key
    const { left, right, top, bottom } = key.getBoundingClientRect();
    tap = { timeMs: performance.now(), x: (left + right) / 2, y: (top + bottom) / 2 };
  }, true);

  // A tap that leads to another page counts there, too. So its place and time are stored for that page.
  const STORE = 'tap';
  addEventListener('pagehide', () => {
    try {
      sessionStorage.setItem(STORE, JSON.stringify({ ...tap, timeMs: performance.timeOrigin + tap.timeMs }));
    } catch { /* a browser that stores nothing */ }
  });
  try {
    const before = JSON.parse(sessionStorage.getItem(STORE));
    if (before) tap = { ...before, timeMs: before.timeMs - performance.timeOrigin };
  } catch { /* a browser that stores nothing */ }

  const isClockChange = ({ target }) => (target.nodeType === Node.TEXT_NODE ? target.parentElement : target)?.closest(CLOCKS);
  let isFrameRequested = false;
  function begin() {
    noteKeys();
    new MutationObserver(changes => { if (!changes.every(isClockChange)) noteKeys(); }).observe(document.body, {
      subtree: true, childList: true, characterData: true,
      attributeFilter: ['hidden', 'disabled', 'class', 'open', 'href', 'data-post', 'data-body', 'data-own'],
    });
  }
  addEventListener('DOMContentLoaded', begin, { once: true });
  for (const cause of ['scroll', 'resize']) {
    addEventListener(cause, () => {
      if (isFrameRequested) return;
      isFrameRequested = true;
      requestAnimationFrame(() => { isFrameRequested = false; notePlaces(); });
    }, { capture: true, passive: true });
  }
})();

// ---- phones at the table screen ----

// Somebody who opens the table screen on a phone wants to sit down, and is redirected to the page for joining. A phone is a
// small touch screen without a mouse. With `?screen` (the class `asked`) the table screen is shown all the same.
{
  const MAX_PHONE_PX = 450; // shorter side: the smallest displays for tables have 800 x 480
  const { classList } = document.documentElement;
  const mayRedirect = classList.contains('to-join') && !classList.contains('asked') && !classList.contains('kiosk');
  const isTouchOnly = matchMedia('(hover: none) and (pointer: coarse)').matches;
  if (mayRedirect && isTouchOnly && Math.min(screen.width, screen.height) < MAX_PHONE_PX) location.replace(`${document.documentElement.dataset.root}/join`);
}

// A name that this browser has used before is filled in. It is selected, so that typing another name replaces it.
addEventListener('focusin', ({ target }) => { if (target.id === 'name') target.select(); });

(() => {
  const root = document.documentElement;

  // If the player has switched the shutter on, entries must not flash up before the script of the shutter runs (seat.js).
  try {
    if (root.classList.contains('may-cover') && localStorage.getItem('cover') === 'on') root.classList.add('covered');
  } catch { /* a browser that stores nothing covers nothing */ }

  // If a script or style sheet does not load, the page says so and reloads itself once. `again` in the history marks that.
  const RELOAD_DELAY_MS = 1500;
  let isComplete = true;
  const reportMissing = () => {
    isComplete = false;
    const show = () => {
      const line = document.getElementById('unloaded');
      if (line) line.hidden = false;
    };
    if (document.readyState === 'loading') addEventListener('DOMContentLoaded', show);
    else show();
    if (history.state?.again) return;
    history.replaceState({ again: true }, '');
    setTimeout(() => location.reload(), RELOAD_DELAY_MS);
  };
  addEventListener('error', ({ target }) => {
    if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) reportMissing();
  }, true);
  addEventListener('unloaded', reportMissing);
  addEventListener('load', () => {
    if (isComplete && history.state?.again) history.replaceState(null, '');
  });

  // A tap on a key whose script has not run yet is repeated once all scripts have run.
  let earlyTaps = []; // null once the scripts have run
  addEventListener('click', event => {
    if (!earlyTaps || !event.target.closest?.('#live :is([type=button], .board)')) return;
    event.stopImmediatePropagation();
    earlyTaps.push(event);
  }, true);
  // Two events have to come: the document with its scripts is loaded, and page.js, which waits for translations, has run.
  let awaitedEvents = 2;
  const repeatTaps = () => {
    awaitedEvents -= 1;
    if (awaitedEvents) return;
    const taps = earlyTaps;
    earlyTaps = null;
    for (const { target, clientX, clientY } of taps) {
      target.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX, clientY }));
    }
  };
  addEventListener('DOMContentLoaded', repeatTaps, { once: true });
  addEventListener('scripts', repeatTaps, { once: true });
})();
