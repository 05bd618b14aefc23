// Follows the table: one stream a page; fragments are morphed into place, so that focus and typed text stay.
// After sleep, in another network, with a newer service the page finds back.
const { root } = document.documentElement.dataset; // what every address begins with under a proxy's path
const lost = document.getElementById('lost');
const offline = { message: lost.textContent };
const KEPT = new Set(['open']);
const SILENCE_MS = 30000; // then the connection counts as lost: the service says something every ten seconds
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
    location.replace(root + away.dataset.go);
    return;
  }
  if (fresh.some(each => each.dataset.page && each.dataset.page !== document.body.dataset.page)) {
    renew();
    return;
  }
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
  stream = new EventSource(root + document.body.dataset.live);
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
    const answer = await fetch(root + document.body.dataset.live, { headers: { Accept: 'application/json' }, cache: 'no-store', signal: stop.signal });
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

// A connection can die without a word. A new one takes the notice away.
setInterval(() => {
  if (!stream || performance.now() - heard <= SILENCE_MS) return;
  tell(offline);
  open();
}, LOOK_MS);
document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
addEventListener('pagehide', close);
addEventListener('pageshow', event => { if (event.persisted) open(); });
addEventListener('online', open);
document.addEventListener('follow', open); // another stream is to be followed
addEventListener('offline', () => tell(offline));
// Other modules listen first: they are loaded after this one.
if (document.readyState === 'complete') open();
else addEventListener('DOMContentLoaded', open);

// ---- fingers ----

// A key is pressed where the finger is lifted: the browser's own click comes late on a slow phone. What scrolls or
// zooms is no press, and keys that count from the touch (data-edge) have counted.
{
  document.addEventListener('touchend', event => {
    const { target, clientX, clientY } = event.changedTouches[0];
    const key = event.cancelable ? target.closest?.('button.key:not([data-edge])') : null;
    if (!key?.contains(document.elementFromPoint(clientX, clientY))) return;
    event.preventDefault();
    key.click();
  }, { passive: false });
}

// ---- clocks ----

// What is left of a turn, by the service's clock: the phone's own may be wrong by minutes and is never asked.
// A round trip says that the service's time lay between sending and hearing; several trips together narrow it down.
{
  const TRIPS = 8;
  const AGAIN_MS = 30000;
  const LAST_S = 2;
  const page = () => document.getElementById('live');
  let offset = null; // service's seconds less this page's
  let asking = false;
  let told = ''; // the last second that was felt

  async function compare() {
    if (!isRunning || asking || document.hidden) return;
    asking = true;
    let [low, high] = [-Infinity, Infinity];
    for (let trip = 0; trip < TRIPS; trip += 1) {
      try {
        const sent = performance.now() / 1000;
        const answer = await fetch(`${root}/clock`, { cache: 'no-store' });
        const { now_s: there } = await answer.json();
        const heard = performance.now() / 1000;
        const [from, to] = [Math.max(low, there - heard), Math.min(high, there - sent)];
        // Trips that contradict each other: this machine slept between them.
        [low, high] = from <= to ? [from, to] : [there - heard, there - sent];
        if (offset === null) offset = (low + high) / 2;
      } catch {
        break;
      }
    }
    if (low > -Infinity) offset = (low + high) / 2;
    asking = false;
  }

  // A page that does not reach the table knows nothing of its clocks: they stand still until it does again.
  let stopped = 0;
  function seconds() {
    stopped = document.querySelector('#lost:not([hidden])') ? stopped || performance.now() : 0;
    return (stopped || performance.now()) / 1000;
  }

  function left({ due, left: rest, limit }) {
    if (!due || offset === null) return Number(rest);
    return Math.max(0, Math.min(Number(limit), Number(due) - offset - seconds()));
  }

  function figure(rest, isRunning) {
    const whole = isRunning || rest < 1 ? Math.ceil(rest) : Math.round(rest);
    return whole < 60 ? String(whole) : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
  }

  // The time for a whole game: tenths when little is left, and a plate that turns over once a second at the very end.
  const TENTHS_S = 30;
  const HURRY_S = 10;
  const tenths = new Intl.NumberFormat(document.documentElement.lang, { minimumFractionDigits: 1 });

  function whole(rest) {
    if (rest < TENTHS_S) return tenths.format(Math.floor(rest * 10) / 10);
    return `${Math.floor(rest / 60)}:${String(Math.floor(rest % 60)).padStart(2, '0')}`;
  }

  function paintPlate(plate) {
    const { due, left: rest, time } = plate.dataset;
    const now = left({ due, left: rest, limit: time });
    const text = whole(now);
    if (plate.textContent !== text) plate.textContent = text;
    const box = plate.closest('.clk');
    const isOver = Boolean(due) && now < HURRY_S && Math.floor(now) % 2 === 1;
    if (box.classList.contains('over') !== isOver) box.classList.toggle('over', isOver);
    if (due && now <= LAST_S) feel(now, due);
  }

  function feel(rest, due) {
    const second = `${due} ${Math.ceil(rest)}`;
    if (second === told || rest > LAST_S || rest <= 0) return;
    told = second;
    if (page()?.dataset.asked !== undefined && navigator.userActivation?.hasBeenActive) navigator.vibrate?.(60);
  }

  function paint() {
    for (const ring of document.querySelectorAll('[data-limit]')) {
      const rest = left(ring.dataset);
      const limit = Number(ring.dataset.limit);
      const isLate = Boolean(ring.dataset.due) && rest <= LAST_S && limit > LAST_S;
      ring.querySelector('.sweep').setAttribute('stroke-dasharray', `${(1000 * rest / limit).toFixed(2)} 2000`);
      if (ring.classList.contains('late') !== isLate) ring.classList.toggle('late', isLate);
      const figures = ring.querySelector('[data-own="seconds"]');
      const text = figures && figure(rest, Boolean(ring.dataset.due));
      if (figures && figures.textContent !== text) figures.textContent = text;
      if (figures) ring.classList.toggle('minutes', text.includes(':'));
      if (isLate) feel(rest, ring.dataset.due);
    }
  }

  // The reading time that is left at the end of a sign that tells.
  function paintRuns() {
    for (const each of document.querySelectorAll('[data-run]')) {
      const rest = left({ due: each.dataset.due, left: each.dataset.run, limit: each.dataset.run });
      each.firstElementChild.style.transform = `scaleX(${(rest / Number(each.dataset.run)).toFixed(3)})`;
    }
  }

  function paintPlates() {
    for (const each of document.querySelectorAll('[data-time]')) paintPlate(each);
  }

  function frame() {
    paint();
    paintPlates();
    paintRuns();
    requestAnimationFrame(frame);
  }

  document.addEventListener('shown', paint);
  document.addEventListener('visibilitychange', compare);
  addEventListener('pageshow', compare);
  addEventListener('online', compare);

  // Nothing is compared or drawn before there is a clock to be seen.
  let isRunning = false;
  function begin() {
    if (isRunning || !document.querySelector('[data-limit], [data-time], [data-run]')) return;
    isRunning = true;
    setInterval(compare, AGAIN_MS);
    compare();
    frame();
  }
  document.addEventListener('shown', begin);
  begin();
}

// ---- tones ----

// Tones of the table screen, in the table's own spelling: a note and its ms, `·n` for a pause. They sound where the voice
// was switched on, or in the kiosk, and never in quiet hours.
const HZ = { A4: 440, E5: 659.26, A5: 880, C6: 1046.5, E6: 1318.51, A6: 1760 };
const RISE_S = 0.005;
let context = null;
let loudness = null;

const loud = () => Number(document.getElementById('voice')?.dataset.volume ?? 0);
const isAudible = () => document.documentElement.classList.contains('kiosk') || isVoiceOn();

function isVoiceOn() {
  try {
    return localStorage.getItem('voice') === 'on';
  } catch {
    return false;
  }
}

export function sound(text, delayMs) {
  if (!loud() || !isAudible()) return;
  context ??= new AudioContext();
  if (context.state === 'suspended') context.resume().catch(() => {});
  if (!loudness) {
    loudness = context.createGain();
    loudness.connect(context.destination);
  }
  loudness.gain.value = loud() * 0.15;
  let at = context.currentTime + delayMs / 1000;
  const words = text.split(' ');
  while (words.length) {
    const word = words.shift();
    if (word.startsWith('·')) at += Number(word.slice(1)) / 1000;
    else {
      const end = at + Number(words.shift()) / 1000;
      note(HZ[word], at, end);
      at = end;
    }
  }
}

function note(hz, from, to) {
  const oscillator = new OscillatorNode(context, { type: 'square', frequency: hz });
  const swell = new GainNode(context, { gain: 0 });
  swell.gain.setTargetAtTime(1, from, RISE_S);
  swell.gain.setTargetAtTime(0, to - RISE_S, RISE_S);
  oscillator.connect(swell).connect(loudness);
  oscillator.start(from);
  oscillator.stop(to + 5 * RISE_S);
}

// What has not sounded yet never does.
export function silence() {
  loudness?.disconnect();
  loudness = null;
}

// ---- the reveal ----

// The reveal as a small play, once for each step, beat by beat as the table has worked them out: hands' moves slide, then
// what happened in its order, each with its sound, then the way home of who was hit; sums land part by part, both sides in
// step. Nothing waits for it: any key or touch shows the end at once, and nothing moves for who asked for stillness.
{
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  const GO = 'cubic-bezier(.2,.7,.2,1)';
  const LIFT_MS = 240; // the shutters, as in the style sheet
  const SUM_MS = 240;
  const PAUSE_MS = 60;
  const MOST_MS = 3200;
  const STILL_MS = 500;
  const BACK = 'repeating-linear-gradient(135deg,var(--hatch-a) 0 9px,var(--hatch-b) 9px 18px)';
  const way = text => `translate(${text.split(' ').map(length => `${length}px`).join(', ')})`;
  // What a mark of the board does in its beat, and for how long.
  const ACTS = {
    slide: [420, GO, of => [{ transform: way(of) }, { transform: 'none' }]],
    bump: [520, 'cubic-bezier(.3,1.3,.5,1)', of => [{ transform: 'none' }, { transform: way(of), offset: 0.4 }, { transform: 'none' }]],
    flip: [360, GO, () => [{}, { transform: 'scaleX(0)', offset: 0.5 }, {}]],
    grow: [260, GO, () => [{ strokeDasharray: '0 1' }, { strokeDasharray: '1 0' }]],
    pop: [240, GO, () => [{ opacity: 0, transform: 'scale(.4)' }, { opacity: 1, transform: 'none' }]],
    swell: [360, GO, () => [{ transform: 'none' }, { transform: 'scale(1.25)', offset: 0.4 }, { transform: 'none' }]],
  };
  let played = null;
  let summed = '';
  let running = [];

  // The marks of the board with their beats; a piece that turns over is named by its frame.
  function cast() {
    return [...document.querySelectorAll('#live [data-beat]')].flatMap(mark => Object.keys(ACTS)
      .filter(act => mark.dataset[act] !== undefined)
      .map(act => ({
        act, beat: Number(mark.dataset.beat), of: mark.dataset[act],
        target: act === 'flip' ? document.querySelector(`.board [data-at="${mark.dataset.flip}"]`) : mark,
      }))).filter(({ target }) => target);
  }

  const scored = () => (document.getElementById('live').dataset.tones ?? '').split('|').filter(Boolean)
    .map(text => ({ beat: parseInt(text, 10), tone: text.slice(text.indexOf(' ') + 1) }));

  function act({ target, act: name, of }, delay, speed) {
    const [duration, easing, frames] = ACTS[name];
    running.push(target.animate(frames(of), { duration: duration * speed, delay, easing, fill: 'backwards' }));
  }

  // One beat after the other; answers when the last one is over.
  function board() {
    const players = cast();
    const tones = scored();
    const beats = [...new Set([...players, ...tones].map(({ beat }) => beat))].sort((a, b) => a - b);
    const length = beat => Math.max(200, ...players.filter(each => each.beat === beat).map(each => ACTS[each.act][0])) + PAUSE_MS;
    const start = document.querySelector('#live .cell.now') ? LIFT_MS : 0;
    const speed = Math.min(1, MOST_MS / beats.reduce((sum, beat) => sum + length(beat), 1));
    let at = start;
    for (const beat of beats) {
      for (const each of players.filter(player => player.beat === beat)) act(each, at, speed);
      for (const { tone } of tones.filter(each => each.beat === beat)) sound(tone, at);
      at += length(beat) * speed;
    }
    return at;
  }

  // What the sums are made of, then what they come to; answers how long that takes.
  function sums(start) {
    const landing = place => ({ duration: SUM_MS, delay: start + SUM_MS * place, fill: 'backwards', easing: GO });
    for (const part of document.querySelectorAll('[data-land]')) {
      running.push(part.animate([{ opacity: 0, transform: 'translateY(.3em)' }, { opacity: 1, transform: 'none' }], landing(part.dataset.land)));
    }
    // A card lies face down until its turn has come, and shows its face once it stands on edge.
    for (const card of document.querySelectorAll('[data-up]')) {
      const [duration, , frames] = ACTS.flip;
      const delay = start + SUM_MS * card.dataset.up;
      running.push(card.animate(frames(), { duration, delay, easing: 'ease-in-out' }));
      running.push(card.animate({ background: [BACK, BACK], color: ['transparent', 'transparent'] }, delay + duration / 2));
    }
    const plain = (each, timing) => {
      const { color } = getComputedStyle(each.closest('.comes-to') ?? each.parentElement);
      running.push(each.animate([{ background: 'transparent', color }, { background: 'transparent', color }], timing));
    };
    for (const total of document.querySelectorAll('.greater [data-turn]')) plain(total, landing(Number(total.dataset.turn) + 1));
    for (const step of document.querySelectorAll('[data-fill]')) plain(step, { ...landing(0), duration: start + SUM_MS * step.dataset.fill });
    return SUM_MS * (1 + Math.max(-1, ...[...document.querySelectorAll('[data-land]')].map(part => Number(part.dataset.land))));
  }

  // The end of the play, at once.
  function skip() {
    running.forEach(each => each.finish());
    running = [];
    for (const each of document.getAnimations()) if (each.effect.getTiming().iterations !== Infinity) each.finish();
    silence();
  }

  function play() {
    const scene = document.getElementById('live')?.dataset.scene ?? '';
    const isNew = played !== null && scene !== played;
    played = scene;
    const told = [...document.querySelectorAll('.tally')].map(tally => tally.textContent).join();
    const isSummed = told === summed; // a later step shows the same sums: they lie there already
    summed = told;
    if (!isNew || !scene) return;
    running = [];
    if (calm.matches) {
      scored().forEach(({ tone }, place) => { if (!place) sound(tone, 0); });
      return;
    }
    let end = board();
    if (!isSummed) end += sums(end);
    // What came of it is told by a cut, once all has lain still for a moment. The sign says until then what is on.
    for (const told of document.querySelectorAll('[data-drama]')) {
      const isSign = told.dataset.meanwhile !== undefined;
      const hidden = isSign ? { color: 'transparent' } : { opacity: 0 };
      const rest = told.animate([hidden, hidden], end + STILL_MS);
      told.classList.toggle('meanwhile', isSign);
      rest.onfinish = () => told.classList.remove('meanwhile');
      running.push(rest);
    }
  }

  addEventListener('keydown', skip, { capture: true, passive: true });
  addEventListener('pointerdown', skip, { capture: true, passive: true });
  document.addEventListener('shown', play);
  play();
}

// ---- a screen that sleeps ----

// A table screen, and the seat whose turn it is, stay awake where the browser lets a page ask for it (HTTPS, or this very
// machine). When nobody has played for long the table screen is black until a touch or the next event.
{
  const MINUTE_MS = 60000;
  const dark = Object.assign(document.createElement('div'), { id: 'dark' });
  let lock = null;
  let later = 0;

  async function stayAwake() {
    const { awake, asked } = document.getElementById('live')?.dataset ?? {};
    const isWanted = !document.hidden && !dark.isConnected && (awake !== undefined || asked !== undefined);
    if (isWanted === Boolean(lock && !lock.released)) return;
    if (!isWanted) {
      lock.release();
      return;
    }
    try {
      lock = await navigator.wakeLock?.request('screen');
    } catch { /* not now: the battery is low, or the page is hidden */ }
  }

  function wake() {
    dark.remove();
    clearTimeout(later);
    const minutes = Number(document.getElementById('live')?.dataset.dark ?? 0);
    if (minutes) later = setTimeout(sleep, minutes * MINUTE_MS);
    stayAwake();
  }

  function sleep() {
    document.body.append(dark);
    stayAwake();
  }

  // What wakes the screen does nothing else.
  dark.addEventListener('click', wake);
  addEventListener('keydown', event => {
    if (dark.isConnected) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
    wake();
  }, true);
  addEventListener('pointerdown', () => { if (!dark.isConnected) wake(); }, true);
  document.addEventListener('shown', wake);
  document.addEventListener('visibilitychange', stayAwake);
  wake();
}
