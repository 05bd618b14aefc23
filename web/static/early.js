// Runs before anything else on a page; no module, so that it is there first.

// Nothing new under the finger: a key that comes, goes on to mean something else, or moves to where another key was or
// under the last tap, rests for a moment. It looks as always; a tap meanwhile does nothing. Another key under the finger
// rests longer: whoever taps twice does so within a second.
(() => {
  const REST_MS = 700;
  const UNDER_MS = 1100;
  const TAP_MS = 2000; // how long the place of a tap counts
  const MOVED_PX = 8;
  const KEYS = ':is(.key, .whole, button.wkey, .is-key, .as-key, a.code):not(.off, :disabled, span)';
  const CLOCKS = '[data-time], [data-limit], [data-run]';
  let seen = [];
  let tap = { at: -Infinity, x: 0, y: 0 };

  // What a key does. Where a script gives it its meaning, its name and its turn stand for it, and its words tell it more closely.
  const meaning = ({ id, name, value, tagName, dataset, href, textContent }) => [
    tagName, id, name, value, dataset.post, dataset.body, dataset.own, dataset.arm, dataset.key, id ? '' : href,
    id || dataset.post || href ? '' : textContent.trim(),
  ].join('|');
  const isInside = ({ x, y }, { left, right, top, bottom }) => x >= left && x <= right && y >= top && y <= bottom;
  const meets = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > MOVED_PX
    && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > MOVED_PX;

  // The keys that can be pressed now. Behind a dialog there are none.
  function keysOf() {
    const dialog = document.querySelector('dialog[open]');
    return [...(dialog ?? document).querySelectorAll(KEYS)].map(key => ({
      key, rect: key.getBoundingClientRect(), meaning: meaning(key), text: key.id && !key.dataset.post ? key.textContent : '', isAsked: Boolean(dialog),
    })).filter(({ rect }) => rect.width > 0);
  }

  function sinceOf(fresh, now) {
    const isUnder = now - tap.at < TAP_MS && isInside(tap, fresh.rect);
    const same = seen.find(each => each.meaning === fresh.meaning && meets(each.rect, fresh.rect));
    if (same && (same.text === fresh.text || !isUnder)) return same.since;
    const isOther = !seen.some(({ key }) => key === fresh.key);
    if (isUnder && isOther) return now + UNDER_MS - REST_MS;
    if (same || isUnder || fresh.isAsked) return now;
    return seen.some(each => meets(each.rect, fresh.rect)) ? now : -Infinity;
  }

  function look() {
    const now = performance.now();
    const fresh = keysOf();
    for (const each of fresh) each.since = sinceOf(each, now);
    const gone = seen.filter(each => !fresh.some(({ meaning: same }) => same === each.meaning));
    for (const each of gone) each.gone ??= now;
    seen = [...fresh, ...gone.filter(each => now - each.gone < REST_MS)];
  }

  // Whoever scrolls has moved the keys himself.
  function place() {
    for (const each of seen) if (each.key.isConnected) each.rect = each.key.getBoundingClientRect();
  }

  // How long a key still rests, in ms.
  function restOf(key) {
    const since = seen.find(each => each.key === key)?.since ?? -Infinity;
    return Math.max(0, since + REST_MS - performance.now());
  }
  globalThis.restOf = restOf;

  const keyOf = ({ target }) => target.closest?.(KEYS);
  function hold(event) {
    const key = keyOf(event);
    if (!key || restOf(key) === 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }
  addEventListener('pointerdown', event => {
    if (keyOf(event)?.dataset.edge !== undefined) hold(event);
    tap = { at: performance.now(), x: event.clientX, y: event.clientY };
  }, true);
  addEventListener('click', event => {
    hold(event);
    const key = keyOf(event);
    if (event.detail || !event.isTrusted || !key) return;
    const { left, right, top, bottom } = key.getBoundingClientRect(); // by keyboard
    tap = { at: performance.now(), x: (left + right) / 2, y: (top + bottom) / 2 };
  }, true);

  // A page that was reached by a tap has new keys under it, too.
  const STORE = 'tap';
  addEventListener('pagehide', () => {
    try {
      sessionStorage.setItem(STORE, JSON.stringify({ ...tap, at: performance.timeOrigin + tap.at }));
    } catch { /* a browser that keeps nothing */ }
  });
  try {
    const before = JSON.parse(sessionStorage.getItem(STORE));
    if (before) tap = { ...before, at: before.at - performance.timeOrigin };
  } catch { /* a browser that keeps nothing */ }

  const isOfClock = ({ target }) => (target.nodeType === Node.TEXT_NODE ? target.parentElement : target)?.closest(CLOCKS);
  let isWaiting = false;
  function begin() {
    look();
    new MutationObserver(changes => { if (!changes.every(isOfClock)) look(); }).observe(document.body, {
      subtree: true, childList: true, characterData: true,
      attributeFilter: ['hidden', 'disabled', 'class', 'open', 'href', 'data-post', 'data-body', 'data-own'],
    });
  }
  addEventListener('DOMContentLoaded', begin, { once: true });
  for (const cause of ['scroll', 'resize']) {
    addEventListener(cause, () => {
      if (isWaiting) return;
      isWaiting = true;
      requestAnimationFrame(() => { isWaiting = false; place(); });
    }, { capture: true, passive: true });
  }
})();

// Whoever opens the table screen on a phone wants to sit down: a small screen that fingers alone can touch. Who has asked
// for the table screen (?screen) gets it.
{
  const SMALL_PX = 450; // a small display for the table has 800 x 480
  const { classList } = document.documentElement;
  const isTable = classList.contains('to-join') && !classList.contains('asked') && !classList.contains('kiosk');
  const isTouched = matchMedia('(hover: none) and (pointer: coarse)').matches;
  if (isTable && isTouched && Math.min(screen.width, screen.height) < SMALL_PX) location.replace(`${document.documentElement.dataset.root}/join`);
}

// A name that this browser knows is filled in: who types another one need not delete it.
addEventListener('focusin', ({ target }) => { if (target.id === 'name') target.select(); });

(() => {
  const root = document.documentElement;

  // Who covers what he enters must not see it flash up.
  try {
    if (root.classList.contains('may-cover') && localStorage.getItem('cover') === 'on') root.classList.add('covered');
  } catch { /* a browser that keeps nothing covers nothing */ }

  // A script or a stylesheet that is lost on the way: the page says so, and loads again by itself, once.
  const AGAIN_MS = 1500;
  let isWhole = true;
  const unloaded = () => {
    isWhole = false;
    const show = () => {
      const line = document.getElementById('unloaded');
      if (line) line.hidden = false;
    };
    if (document.readyState === 'loading') addEventListener('DOMContentLoaded', show);
    else show();
    if (history.state?.again) return;
    history.replaceState({ again: true }, '');
    setTimeout(() => location.reload(), AGAIN_MS);
  };
  addEventListener('error', ({ target }) => {
    if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) unloaded();
  }, true);
  addEventListener('unloaded', unloaded);
  addEventListener('load', () => {
    if (isWhole && history.state?.again) history.replaceState(null, '');
  });

  // A tap on a key whose script is still on its way is kept, and done once all scripts have run.
  let kept = [];
  addEventListener('click', event => {
    if (!kept || !event.target.closest?.('#live :is([type=button], .board)')) return;
    event.stopImmediatePropagation();
    kept.push(event);
  }, true);
  let waits = 2; // for all files, and for the words of the page's language (page.js tells)
  const go = () => {
    waits -= 1;
    if (waits) return;
    const taps = kept;
    kept = null;
    for (const { target, clientX, clientY } of taps) {
      target.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX, clientY }));
    }
  };
  addEventListener('DOMContentLoaded', go, { once: true });
  addEventListener('scripts', go, { once: true });
})();
