// Follows the table: one stream a page; fragments are morphed into place, so that focus and typed text stay.
// After sleep, in another network, with a newer service the page finds back.
const lost = document.getElementById('lost');
const offline = { message: lost.textContent };
const KEPT = new Set(['open']);
const SILENCE_MS = 30000; // the service says something every ten seconds
const LOOK_MS = 5000;
const AGAIN_MS = 2000;
const listeners = [];
let stream;
let again = 0;
let heard = 0;
let newest = '';

// Tells of every stream that is opened, the one that is open now too.
export function onStream(listener) {
  listeners.push(listener);
  if (stream) listener(stream);
}

function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = fresh.data;
    return;
  }
  // What a script owns stays as it is until the server means another one.
  if (old.dataset.own !== undefined && old.dataset.own === fresh.dataset.own) return;
  const keeps = name => KEPT.has(name) || (name === 'hidden' && 'second' in old.dataset && 'second' in fresh.dataset);
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !keeps(name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !keeps(name)) old.removeAttribute(name);
  }
  // What has a name keeps its place.
  const children = [...fresh.childNodes];
  const names = new Set(children.map(child => child.id).filter(Boolean));
  children.forEach((child, place) => {
    const named = child.id && [...old.children].find(other => other.id === child.id);
    if (named && named !== old.childNodes[place]) old.insertBefore(named, old.childNodes[place] ?? null);
    const here = old.childNodes[place];
    if (!here || (here.id !== child.id && names.has(here.id))) old.insertBefore(child, here ?? null);
    else morph(here, child);
  });
  while (old.childNodes.length > children.length) old.lastChild.remove();
}

// A stylesheet that was not needed before is waited for, so that nothing is shown bare.
const coming = new Map();
function styles(fresh) {
  const wanted = [...fresh, ...fresh.flatMap(each => [...each.querySelectorAll('[data-sheet]')])].map(each => each.dataset.sheet);
  // An order sheet keeps its pieces in an attribute of that name.
  return [...new Set(wanted.filter(sheet => /^[\w-]+$/.test(sheet ?? '')))].map(sheet => {
    const href = document.body.dataset.page.replace(/[^/]*$/, `${sheet}.css`);
    if (document.querySelector(`link[href="${href}"]`)) return coming.get(href);
    const link = document.createElement('link');
    coming.set(href, new Promise(done => {
      Object.assign(link, { rel: 'stylesheet', href, onload: done, onerror: done });
    }).then(() => { coming.delete(href); }));
    document.head.append(link);
    return coming.get(href);
  }).filter(Boolean);
}

// While a finger is down nothing moves: what comes is shown once its click is through, or after a while.
const PRESS_MS = 1000;
const CLICK_MS = 100; // the browser's own click follows the finger by less
let press; // a promise while a finger is down
let lift;
let lifting = 0;

function liftIn(ms) {
  clearTimeout(lifting);
  lifting = setTimeout(() => { press = null; lift?.(); }, ms);
}
addEventListener('pointerdown', ({ target }) => {
  if (target.closest?.('[data-edge], #look')) return;
  press ??= new Promise(done => { lift = done; });
  liftIn(PRESS_MS);
}, true);
for (const [end, ms] of [['pointerup', CLICK_MS], ['click', 0], ['pointercancel', 0]]) addEventListener(end, () => liftIn(ms), true);

async function show(html) {
  newest = html;
  const box = document.createElement('div');
  box.innerHTML = html;
  const fresh = [...box.children];
  const away = fresh.find(each => each.dataset.go);
  if (away) {
    close();
    location.replace(away.dataset.go);
    return;
  }
  if (fresh.some(each => each.dataset.page && each.dataset.page !== document.body.dataset.page)) {
    renew();
    return;
  }
  const missing = styles(fresh);
  // The play is there before the step is that it plays.
  if (fresh.some(each => each.dataset.scene)) missing.push(import('./motion.js').catch(() => {}));
  if (missing.length) await Promise.all(missing);
  while (press) await press;
  if (newest !== html) return;
  const focused = document.activeElement;
  const menu = focused?.closest('.menu');
  for (const each of fresh) {
    const old = document.getElementById(each.id);
    if (old) morph(old, each);
  }
  document.dispatchEvent(new Event('shown'));
  refocus(focused, menu);
}

// The focus stays; if its place is gone, it goes to the key of the menu it was in, else to the sign, which says what is next.
function refocus(focused, menu) {
  if (!focused || focused === document.body) return;
  const stays = focused.isConnected && focused.getClientRects().length > 0 && !focused.matches(':disabled');
  const isLost = () => [document.body, null].includes(document.activeElement);
  if (stays && isLost()) focused.focus({ preventScroll: true });
  if (!isLost() && (stays || document.activeElement !== focused)) return;
  const place = menu?.isConnected ? menu.querySelector('summary') : document.querySelector('.sign[tabindex]');
  place?.focus({ preventScroll: true });
}

// The page as the service has it now: newer, in another language, or no longer this browser's.
function renew() {
  close();
  location.reload();
}

function open() {
  close();
  if (document.hidden) return;
  heard = performance.now();
  stream = new EventSource(document.body.dataset.live);
  stream.onopen = () => { lost.hidden = true; };
  stream.onmessage = event => { heard = performance.now(); show(event.data); };
  stream.addEventListener('here', () => { heard = performance.now(); });
  stream.onerror = () => {
    tell(offline);
    // A refused stream is not tried again by the browser.
    if (stream?.readyState === EventSource.CLOSED) again = setTimeout(ask, AGAIN_MS);
  };
  listeners.forEach(listener => listener(stream));
}

function tell({ message }) {
  lost.textContent = message;
  lost.hidden = false;
}

// Why was the stream refused? Too many watch, or this page is no longer for this browser.
async function ask() {
  const stop = new AbortController();
  try {
    const answer = await fetch(document.body.dataset.live, { headers: { Accept: 'application/json' }, cache: 'no-store', signal: stop.signal });
    if ([403, 404].includes(answer.status)) renew();
    else if (answer.ok) open();
    else {
      tell((await answer.json()).error);
      again = setTimeout(ask, LOOK_MS);
    }
  } catch {
    again = setTimeout(ask, AGAIN_MS);
  }
  stop.abort();
}

function close() {
  clearTimeout(again);
  stream?.close();
  stream = null;
}

// A connection can die without a word.
setInterval(() => { if (stream && performance.now() - heard > SILENCE_MS) open(); }, LOOK_MS);
document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
addEventListener('pagehide', close);
addEventListener('pageshow', event => { if (event.persisted) open(); });
addEventListener('online', open);
document.addEventListener('follow', open); // another stream is to be followed
addEventListener('offline', () => tell(offline));
// Other modules listen first: they are loaded after this one.
if (document.readyState === 'complete') open();
else addEventListener('DOMContentLoaded', open);
