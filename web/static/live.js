// Keeps a page in step with the service. A page opens one stream of server-sent events, and each event is the HTML of
// its changing parts (fragments). They are merged into the page, so that focus and typed text stay. After the device has slept,
// in another network, or when a newer service has started, the page connects again by itself.
//
// This file also has what all live pages need: touch, clocks, tones, the animation of a reveal, and screens that stay awake.
const { root } = document.documentElement.dataset; // prefix of every address, if a proxy serves the pages under a path
const lostNotice = document.getElementById('lost');
const connectionLost = { message: lostNotice.textContent };
const ATTRIBUTES_OF_READER = new Set(['open']); // a fold stays as the reader of the page has left it
// The service sends a sign of life every ten seconds. After three missed ones the page says that its connection is lost.
const CONNECTION_LOST_AFTER_MS = 30000;
const CHECK_INTERVAL_MS = 5000;
const RETRY_MS = 2000;
const streamListeners = [];
let stream;
let retryTimer = 0;
let lastEventMs = 0;
let latestHtml = '';

// Call a listener with the stream that is open now, if there is one, and with every later one.
export function onStream(listener) {
  streamListeners.push(listener);
  if (stream) listener(stream);
}

// ---- merging a fragment into the page ----

// Change a node as little as possible until it equals a new one.
function morph(node, newNode) {
  if (node.isEqualNode(newNode)) return;
  if (node.nodeType !== newNode.nodeType || node.nodeName !== newNode.nodeName || node.id !== newNode.id) {
    node.replaceWith(newNode);
    return;
  }
  if (node.nodeType !== Node.ELEMENT_NODE) {
    node.data = newNode.data;
    return;
  }
  // Some script draws the content of an element with data-own. This content stays until the server sends another value of
  // data-own. The attribute `hidden` of a second key (data-second) stays as well, because page.js shows and hides such keys.
  if (node.dataset.own !== undefined && node.dataset.own === newNode.dataset.own) return;
  const isPreserved = name => ATTRIBUTES_OF_READER.has(name) || (name === 'hidden' && 'second' in node.dataset && 'second' in newNode.dataset);
  for (const { name, value } of [...newNode.attributes]) {
    if (node.getAttribute(name) !== value && !isPreserved(name)) node.setAttribute(name, value);
  }
  for (const { name } of [...node.attributes]) {
    if (!newNode.hasAttribute(name) && !isPreserved(name)) node.removeAttribute(name);
  }
  // Children are matched by their ids if they have one, or else by their place.
  const children = [...newNode.childNodes];
  const ids = new Set(children.map(child => child.id).filter(Boolean));
  children.forEach((child, index) => {
    const childWithId = child.id && [...node.children].find(other => other.id === child.id);
    if (childWithId && childWithId !== node.childNodes[index]) node.insertBefore(childWithId, node.childNodes[index] ?? null);
    const current = node.childNodes[index];
    if (!current || (current.id !== child.id && ids.has(current.id))) node.insertBefore(child, current ?? null);
    else morph(current, child);
  });
  while (node.childNodes.length > children.length) node.lastChild.remove();
}

// While a finger is down the page does not change, so that the finger hits what it aimed at. A new fragment waits until
// the click is over, or for MAX_PRESS_MS.
const MAX_PRESS_MS = 1000;
const CLICK_DELAY_MS = 100; // browsers send the click sooner than this after the finger has left
let pressEnd; // a promise while a finger is down
let resolvePressEnd;
let pressTimer = 0;

// End the press after some milliseconds. This replaces an earlier call.
function endPressIn(ms) {
  clearTimeout(pressTimer);
  pressTimer = setTimeout(() => { pressEnd = null; resolvePressEnd?.(); }, ms);
}
addEventListener('pointerdown', ({ target }) => {
  if (target.closest?.('[data-edge], #look')) return; // these keys act at the touch, and their effect must show at once
  pressEnd ??= new Promise(resolve => { resolvePressEnd = resolve; });
  endPressIn(MAX_PRESS_MS);
}, true);
for (const [end, ms] of [['pointerup', CLICK_DELAY_MS], ['click', 0], ['pointercancel', 0]]) addEventListener(end, () => endPressIn(ms), true);

// Show the fragments of an event. A fragment with `data-go` leads to another page. A fragment whose `data-page` differs from
// that of the page does not fit any more, so the page is loaded again.
async function showFragments(html) {
  latestHtml = html;
  const container = document.createElement('div');
  container.innerHTML = html;
  const fragments = [...container.children];
  const redirection = fragments.find(fragment => fragment.dataset.go);
  if (redirection) {
    closeStream();
    location.replace(root + redirection.dataset.go);
    return;
  }
  if (fragments.some(fragment => fragment.dataset.page && fragment.dataset.page !== document.body.dataset.page)) {
    reloadPage();
    return;
  }
  while (pressEnd) await pressEnd;
  if (latestHtml !== html) return; // a newer one arrived meanwhile
  const focused = document.activeElement;
  const menu = focused?.closest('.menu');
  for (const fragment of fragments) {
    const old = document.getElementById(fragment.id);
    if (old) morph(old, fragment);
  }
  document.dispatchEvent(new Event('shown'));
  restoreFocus(focused, menu);
}

// Keep the focus where it was. If that element is gone or cannot have the focus, move the focus to the key of its menu, or
// else to the sign, which says what to do next.
function restoreFocus(focused, menu) {
  if (!focused || focused === document.body) return;
  const canKeepFocus = focused.isConnected && focused.getClientRects().length > 0 && !focused.matches(':disabled');
  const isFocusLost = () => [document.body, null].includes(document.activeElement);
  if (canKeepFocus && isFocusLost()) focused.focus({ preventScroll: true });
  if (!isFocusLost() && (canKeepFocus || document.activeElement !== focused)) return;
  const fallback = menu?.isConnected ? menu.querySelector('summary') : document.querySelector('.sign[tabindex]');
  fallback?.focus({ preventScroll: true });
}

// Load the page anew: the service is newer, the language has changed, or the page is no longer for this browser.
function reloadPage() {
  closeStream();
  location.reload();
}

// ---- the stream ----

// Open the stream anew, unless nobody sees the page.
function openStream() {
  closeStream();
  if (document.hidden) return;
  lastEventMs = performance.now();
  stream = new EventSource(root + document.body.dataset.live);
  stream.onopen = () => { lostNotice.hidden = true; };
  stream.onmessage = event => { lastEventMs = performance.now(); showFragments(event.data); };
  stream.addEventListener('here', () => { lastEventMs = performance.now(); }); // a sign of life without news
  stream.onerror = () => {
    showNotice(connectionLost);
    // Browsers reopen a broken stream themselves, but not a refused one.
    if (stream?.readyState === EventSource.CLOSED) retryTimer = setTimeout(findRefusalReason, RETRY_MS);
  };
  streamListeners.forEach(listener => listener(stream));
}

function showNotice({ message }) {
  lostNotice.textContent = message;
  lostNotice.hidden = false;
}

// Ask the service why it has refused the stream: too many people watch, or the page is no longer for this browser.
async function findRefusalReason() {
  const request = new AbortController();
  try {
    const answer = await fetch(root + document.body.dataset.live, { headers: { Accept: 'application/json' }, cache: 'no-store', signal: request.signal });
    if ([403, 404].includes(answer.status)) reloadPage();
    else if (answer.ok) openStream();
    else {
      showNotice((await answer.json()).error);
      retryTimer = setTimeout(findRefusalReason, CHECK_INTERVAL_MS);
    }
  } catch {
    retryTimer = setTimeout(findRefusalReason, RETRY_MS);
  }
  request.abort(); // only the status was wanted, while the content of a stream never ends
}

function closeStream() {
  clearTimeout(retryTimer);
  stream?.close();
  stream = null;
}

// A connection can die without an error. So a stream that is silent for too long is opened again. Then the notice disappears.
setInterval(() => {
  if (!stream || performance.now() - lastEventMs <= CONNECTION_LOST_AFTER_MS) return;
  showNotice(connectionLost);
  openStream();
}, CHECK_INTERVAL_MS);
document.addEventListener('visibilitychange', () => (document.hidden ? closeStream() : openStream()));
addEventListener('pagehide', closeStream);
addEventListener('pageshow', event => { if (event.persisted) openStream(); });
addEventListener('online', openStream);
document.addEventListener('follow', openStream); // another script has changed the stream's address
addEventListener('offline', () => showNotice(connectionLost));
// Modules that are loaded after this one must be able to listen first.
if (document.readyState === 'complete') openStream();
else addEventListener('DOMContentLoaded', openStream);

// ---- touch ----

// A key acts as soon as the finger is lifted, because the browser's own click is late on a slow phone. Scrolling and
// zooming press nothing. Keys with data-edge have acted at the touch already (page.js).
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

// A clock is a ring (`data-limit` has its limit in seconds), the text of a chess clock (`data-time`), or the bar of a headline
// (`data-run`). `data-due` is the time at which a running clock ends, and `data-left` has the remaining seconds of a clock that
// stands. All clocks run by the service's time. The phone's time of day is never used, because it may be wrong by minutes.
//
// So this page has to know by how much the service's time differs from its own (the offset). It asks the service for its time.
// The service has answered between the sending of the request and the arrival of the answer, which gives a lower and an upper
// bound of the offset. Several such round trips narrow the bounds.
{
  const ROUND_TRIPS = 8;
  const COMPARE_INTERVAL_MS = 30000;
  const FINAL_S = 2; // in the last seconds the phone of the seat on turn vibrates
  const page = () => document.getElementById('live');
  let offsetS = null; // the service's time minus this page's
  let hasBegun = false; // nothing is compared or drawn until the page has a clock
  let isComparing = false;
  let lastVibration = ''; // the clock and the second of the last vibration

  // Measure the offset of the clocks anew by some round trips.
  async function compareClocks() {
    if (!hasBegun || isComparing || document.hidden) return;
    isComparing = true;
    let [low, high] = [-Infinity, Infinity];
    for (let trip = 0; trip < ROUND_TRIPS; trip += 1) {
      try {
        const sentS = performance.now() / 1000;
        const answer = await fetch(`${root}/clock`, { cache: 'no-store' });
        const { now_s: serviceS } = await answer.json();
        const receivedS = performance.now() / 1000;
        const [lowest, highest] = [Math.max(low, serviceS - receivedS), Math.min(high, serviceS - sentS)];
        // If round trips contradict each other, this machine has slept between them: begin again with the last one.
        [low, high] = lowest <= highest ? [lowest, highest] : [serviceS - receivedS, serviceS - sentS];
        if (offsetS === null) offsetS = (low + high) / 2;
      } catch {
        break;
      }
    }
    if (low > -Infinity) offsetS = (low + high) / 2;
    isComparing = false;
  }

  // Return this page's time in seconds. It stands still while the connection is lost, because the clocks may have been stopped.
  let lostSinceMs = 0;
  function pageTimeS() {
    lostSinceMs = document.querySelector('#lost:not([hidden])') ? lostSinceMs || performance.now() : 0;
    return (lostSinceMs || performance.now()) / 1000;
  }

  // Return the remaining seconds of a clock. All parameters are texts: `due` and `left` as above, `limit` the seconds of a whole run.
  function secondsLeft({ due, left, limit }) {
    if (!due || offsetS === null) return Number(left);
    return Math.max(0, Math.min(Number(limit), Number(due) - offsetS - pageTimeS()));
  }

  // Return the text of the time for a turn: whole seconds, or minutes and seconds.
  function turnTimeText(remainingS, isRunning) {
    const whole = isRunning || remainingS < 1 ? Math.ceil(remainingS) : Math.round(remainingS);
    return whole < 60 ? String(whole) : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
  }

  // Texts of the time for a whole game have minutes and seconds, and tenths when little is left.
  const TENTHS_BELOW_S = 30;
  const BLINKS_BELOW_S = 10;
  const tenths = new Intl.NumberFormat(document.documentElement.lang, { minimumFractionDigits: 1 });

  function gameTimeText(remainingS) {
    if (remainingS < TENTHS_BELOW_S) return tenths.format(Math.floor(remainingS * 10) / 10);
    return `${Math.floor(remainingS / 60)}:${String(Math.floor(remainingS % 60)).padStart(2, '0')}`;
  }

  function paintGameClock(clock) {
    const { due, left, time } = clock.dataset;
    const remainingS = secondsLeft({ due, left, limit: time });
    const text = gameTimeText(remainingS);
    if (clock.textContent !== text) clock.textContent = text;
    const box = clock.closest('.clk');
    // a clock blinks by losing its background every other second
    const isOver = Boolean(due) && remainingS < BLINKS_BELOW_S && Math.floor(remainingS) % 2 === 1;
    if (box.classList.contains('over') !== isOver) box.classList.toggle('over', isOver);
    if (due && remainingS <= FINAL_S) vibrateOnce(remainingS, due);
  }

  // Vibrate once in each of the last seconds, if this seat is on turn (data-asked).
  function vibrateOnce(remainingS, due) {
    const second = `${due} ${Math.ceil(remainingS)}`;
    if (second === lastVibration || remainingS > FINAL_S || remainingS <= 0) return;
    lastVibration = second;
    if (page()?.dataset.asked !== undefined && navigator.userActivation?.hasBeenActive) navigator.vibrate?.(60);
  }

  function paintRings() {
    for (const ring of document.querySelectorAll('[data-limit]')) {
      const remainingS = secondsLeft(ring.dataset);
      const limit = Number(ring.dataset.limit);
      const isLate = Boolean(ring.dataset.due) && remainingS <= FINAL_S && limit > FINAL_S;
      ring.querySelector('.sweep').setAttribute('stroke-dasharray', `${(1000 * remainingS / limit).toFixed(2)} 2000`);
      if (ring.classList.contains('late') !== isLate) ring.classList.toggle('late', isLate);
      const figures = ring.querySelector('[data-own="seconds"]');
      const text = figures && turnTimeText(remainingS, Boolean(ring.dataset.due));
      if (figures && figures.textContent !== text) figures.textContent = text;
      if (figures) ring.classList.toggle('minutes', text.includes(':'));
      if (isLate) vibrateOnce(remainingS, ring.dataset.due);
    }
  }

  // The bar at the end of a headline shrinks with the time that is left to read it.
  function paintReadingTimes() {
    for (const bar of document.querySelectorAll('[data-run]')) {
      const remainingS = secondsLeft({ due: bar.dataset.due, left: bar.dataset.run, limit: bar.dataset.run });
      bar.firstElementChild.style.transform = `scaleX(${(remainingS / Number(bar.dataset.run)).toFixed(3)})`;
    }
  }

  function paintGameClocks() {
    for (const clock of document.querySelectorAll('[data-time]')) paintGameClock(clock);
  }

  function paintFrame() {
    paintRings();
    paintGameClocks();
    paintReadingTimes();
    requestAnimationFrame(paintFrame);
  }

  document.addEventListener('shown', paintRings);
  document.addEventListener('visibilitychange', compareClocks);
  addEventListener('pageshow', compareClocks);
  addEventListener('online', compareClocks);

  function startClocks() {
    if (hasBegun || !document.querySelector('[data-limit], [data-time], [data-run]')) return;
    hasBegun = true;
    setInterval(compareClocks, COMPARE_INTERVAL_MS);
    compareClocks();
    paintFrame();
  }
  document.addEventListener('shown', startClocks);
  startClocks();
}

// ---- tones ----

// The table screen plays the tones of a reveal if its voice is switched on, or if it is the machine's own screen (kiosk). It
// never does in quiet hours. Tones are written as in the service: `A5 120` is a note with its milliseconds, `·40` a pause.
const NOTES_HZ = { A4: 440, E5: 659.26, A5: 880, C6: 1046.5, E6: 1318.51, A6: 1760 };
const RISE_S = 0.005; // time constant in which a tone rises and falls: without it, a tone would click
const MAX_GAIN = 0.15; // gain at full volume
let context = null;
let masterGain = null;

const volume = () => Number(document.getElementById('voice')?.dataset.volume ?? 0);
const mayPlay = () => document.documentElement.classList.contains('kiosk') || isVoiceOn();

function isVoiceOn() {
  try {
    return localStorage.getItem('voice') === 'on';
  } catch {
    return false;
  }
}

// Play notes and pauses, written as above, after a delay in ms.
function playTones(text, delayMs) {
  if (!volume() || !mayPlay()) return;
  context ??= new AudioContext();
  if (context.state === 'suspended') context.resume().catch(() => {});
  if (!masterGain) {
    masterGain = context.createGain();
    masterGain.connect(context.destination);
  }
  masterGain.gain.value = volume() * MAX_GAIN;
  let startS = context.currentTime + delayMs / 1000;
  const words = text.split(' ');
  while (words.length) {
    const word = words.shift();
    if (word.startsWith('·')) startS += Number(word.slice(1)) / 1000;
    else {
      const endS = startS + Number(words.shift()) / 1000;
      playNote(NOTES_HZ[word], startS, endS);
      startS = endS;
    }
  }
}

function playNote(hz, startS, endS) {
  const oscillator = new OscillatorNode(context, { type: 'square', frequency: hz });
  const envelope = new GainNode(context, { gain: 0 });
  envelope.gain.setTargetAtTime(1, startS, RISE_S);
  envelope.gain.setTargetAtTime(0, endS - RISE_S, RISE_S);
  oscillator.connect(envelope).connect(masterGain);
  oscillator.start(startS);
  oscillator.stop(endS + 5 * RISE_S); // after five time constants nothing is heard any more
}

// Stop all tones, and drop those that have not begun yet.
function stopTones() {
  masterGain?.disconnect();
  masterGain = null;
}

// ---- the reveal ----

// Each step of a turn is revealed by an animation, which is shown once. It runs in beats, which the service has numbered
// (`assign_beats` in web/rendering/beats.py). First the pieces slide that hands will move. Then everything that happened is
// drawn with its tone. Then pieces that were hit slide to their new places. Sums appear part by part, on both sides at once.
//
// Nobody has to wait for the end: any key or touch shows it at once. If the browser is set to reduced motion, nothing moves, and
// only the first tone is played.
{
  const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');
  const EASING = 'cubic-bezier(.2,.7,.2,1)';
  const SHUTTER_MS = 240; // the shutters over sealed orders lift, as in the style sheet
  const SUM_STEP_MS = 240;
  const PAUSE_MS = 60;
  const MIN_BEAT_MS = 200;
  const MAX_BOARD_MS = 3200; // if the beats would take longer, all are played faster
  const RESULT_DELAY_MS = 500;
  const CARD_BACK = 'repeating-linear-gradient(135deg,var(--hatch-a) 0 9px,var(--hatch-b) 9px 18px)';
  const translation = text => `translate(${text.split(' ').map(length => `${length}px`).join(', ')})`;
  // How a mark moves, by the name of its data attribute: duration in ms, easing, and a function that returns the keyframes.
  const MOVEMENTS = {
    slide: [420, EASING, offset => [{ transform: translation(offset) }, { transform: 'none' }]],
    bump: [520, 'cubic-bezier(.3,1.3,.5,1)', offset => [{ transform: 'none' }, { transform: translation(offset), offset: 0.4 }, { transform: 'none' }]],
    flip: [360, EASING, () => [{}, { transform: 'scaleX(0)', offset: 0.5 }, {}]],
    grow: [260, EASING, () => [{ strokeDasharray: '0 1' }, { strokeDasharray: '1 0' }]],
    pop: [240, EASING, () => [{ opacity: 0, transform: 'scale(.4)' }, { opacity: 1, transform: 'none' }]],
    swell: [360, EASING, () => [{ transform: 'none' }, { transform: 'scale(1.25)', offset: 0.4 }, { transform: 'none' }]],
  };
  let shownScene = null;
  let shownSums = '';
  let animations = [];

  // Return the movements of the board's marks, each with its beat. A mark with `flip` is a frame, and the piece in it moves.
  function boardMovements() {
    return [...document.querySelectorAll('#live [data-beat]')].flatMap(mark => Object.keys(MOVEMENTS)
      .filter(name => mark.dataset[name] !== undefined)
      .map(name => ({
        name, beat: Number(mark.dataset.beat), offset: mark.dataset[name],
        target: name === 'flip' ? document.querySelector(`.board [data-at="${mark.dataset.flip}"]`) : mark,
      }))).filter(({ target }) => target);
  }

  const tonesOfBeats = () => (document.getElementById('live').dataset.tones ?? '').split('|').filter(Boolean)
    .map(text => ({ beat: parseInt(text, 10), tone: text.slice(text.indexOf(' ') + 1) }));

  // Begin a movement after a delay in ms. `timeScale` multiplies its duration: less than 1 is faster.
  function animate({ target, name, offset }, delay, timeScale) {
    const [duration, easing, keyframes] = MOVEMENTS[name];
    animations.push(target.animate(keyframes(offset), { duration: duration * timeScale, delay, easing, fill: 'backwards' }));
  }

  // Animate the board, one beat after the other. Return the time in ms at which the last one ends.
  function animateBoard() {
    const movements = boardMovements();
    const tones = tonesOfBeats();
    const beats = [...new Set([...movements, ...tones].map(({ beat }) => beat))].sort((a, b) => a - b);
    const durationMs = beat => Math.max(MIN_BEAT_MS, ...movements.filter(movement => movement.beat === beat).map(movement => MOVEMENTS[movement.name][0])) + PAUSE_MS;
    const delayMs = document.querySelector('#live .cell.now') ? SHUTTER_MS : 0;
    const timeScale = Math.min(1, MAX_BOARD_MS / beats.reduce((sum, beat) => sum + durationMs(beat), 1));
    let startMs = delayMs;
    for (const beat of beats) {
      for (const movement of movements.filter(candidate => candidate.beat === beat)) animate(movement, startMs, timeScale);
      for (const { tone } of tones.filter(candidate => candidate.beat === beat)) playTones(tone, startMs);
      startMs += durationMs(beat) * timeScale;
    }
    return startMs;
  }

  // Animate the parts of sums, and then their totals. Return how long the parts take, in ms.
  function animateSums(startMs) {
    const landing = index => ({ duration: SUM_STEP_MS, delay: startMs + SUM_STEP_MS * index, fill: 'backwards', easing: EASING });
    for (const part of document.querySelectorAll('[data-land]')) {
      animations.push(part.animate([{ opacity: 0, transform: 'translateY(.3em)' }, { opacity: 1, transform: 'none' }], landing(part.dataset.land)));
    }
    // A card is face down until its turn comes. Halfway through its flip it shows its face.
    for (const card of document.querySelectorAll('[data-up]')) {
      const [duration, , keyframes] = MOVEMENTS.flip;
      const delay = startMs + SUM_STEP_MS * card.dataset.up;
      animations.push(card.animate(keyframes(), { duration, delay, easing: 'ease-in-out' }));
      animations.push(card.animate({ background: [CARD_BACK, CARD_BACK], color: ['transparent', 'transparent'] }, delay + duration / 2));
    }
    // The greater total, and the steps that it reaches, are filled only once it has appeared.
    const hideFill = (element, timing) => {
      const { color } = getComputedStyle(element.closest('.comes-to') ?? element.parentElement);
      animations.push(element.animate([{ background: 'transparent', color }, { background: 'transparent', color }], timing));
    };
    for (const total of document.querySelectorAll('.greater [data-turn]')) hideFill(total, landing(Number(total.dataset.turn) + 1));
    for (const step of document.querySelectorAll('[data-fill]')) hideFill(step, { ...landing(0), duration: startMs + SUM_STEP_MS * step.dataset.fill });
    return SUM_STEP_MS * (1 + Math.max(-1, ...[...document.querySelectorAll('[data-land]')].map(part => Number(part.dataset.land))));
  }

  // Show the end of the reveal's animation at once, and of every other animation that would end by itself.
  function skipReveal() {
    animations.forEach(animation => animation.finish());
    animations = [];
    for (const animation of document.getAnimations()) if (animation.effect.getTiming().iterations !== Infinity) animation.finish();
    stopTones();
  }

  // Play the reveal of a scene that the page did not show before.
  function playReveal() {
    const scene = document.getElementById('live')?.dataset.scene ?? '';
    const isNew = shownScene !== null && scene !== shownScene;
    shownScene = scene;
    const sums = [...document.querySelectorAll('.tally')].map(tally => tally.textContent).join();
    const wereSumsShown = sums === shownSums; // later steps of the turn show the same sums, which need not appear again
    shownSums = sums;
    if (!isNew || !scene) return;
    animations = [];
    if (reducedMotion.matches) {
      tonesOfBeats().forEach(({ tone }, index) => { if (!index) playTones(tone, 0); });
      return;
    }
    let endMs = animateBoard();
    if (!wereSumsShown) endMs += animateSums(endMs);
    // The result appears once everything has been still for a moment. Until then the sign shows the turn's title.
    for (const result of document.querySelectorAll('[data-drama]')) {
      const isSign = result.dataset.meanwhile !== undefined;
      const hidden = isSign ? { color: 'transparent' } : { opacity: 0 };
      const hiding = result.animate([hidden, hidden], endMs + RESULT_DELAY_MS);
      result.classList.toggle('meanwhile', isSign);
      hiding.onfinish = () => result.classList.remove('meanwhile');
      animations.push(hiding);
    }
  }

  addEventListener('keydown', skipReveal, { capture: true, passive: true });
  addEventListener('pointerdown', skipReveal, { capture: true, passive: true });
  document.addEventListener('shown', playReveal);
  playReveal();
}

// ---- a screen that stays awake ----

// The table screen and the phone of a seat on turn stay awake, where the browser permits it (HTTPS, or the machine itself).
// If nothing happens for long, the table screen turns black until a touch, a key or the next event.
{
  const MINUTE_MS = 60000;
  const blackout = Object.assign(document.createElement('div'), { id: 'dark' });
  let wakeLock = null;
  let blackoutTimer = 0;

  // Request or release the browser's lock that keeps the screen on.
  async function updateWakeLock() {
    const { awake, asked } = document.getElementById('live')?.dataset ?? {};
    const isWanted = !document.hidden && !blackout.isConnected && (awake !== undefined || asked !== undefined);
    if (isWanted === Boolean(wakeLock && !wakeLock.released)) return;
    if (!isWanted) {
      wakeLock.release();
      return;
    }
    try {
      wakeLock = await navigator.wakeLock?.request('screen');
    } catch { /* refused: the battery is low, or the page is hidden */ }
  }

  // End the blackout, and begin to wait for the next one.
  function endBlackout() {
    blackout.remove();
    clearTimeout(blackoutTimer);
    const minutes = Number(document.getElementById('live')?.dataset.dark ?? 0);
    if (minutes) blackoutTimer = setTimeout(turnBlack, minutes * MINUTE_MS);
    updateWakeLock();
  }

  function turnBlack() {
    document.body.append(blackout);
    updateWakeLock();
  }

  // The touch or key that lights up the screen does nothing else.
  blackout.addEventListener('click', endBlackout);
  addEventListener('keydown', event => {
    if (blackout.isConnected) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
    endBlackout();
  }, true);
  addEventListener('pointerdown', () => { if (!blackout.isConnected) endBlackout(); }, true);
  document.addEventListener('shown', endBlackout);
  document.addEventListener('visibilitychange', updateWakeLock);
  endBlackout();
}
