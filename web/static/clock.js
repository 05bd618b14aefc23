// What is left of a turn, by the service's clock: the phone's own may be wrong by minutes and is never asked.
// A round trip says that the service's time lay between sending and hearing; several trips together narrow it down.
const TRIPS = 8;
const AGAIN_MS = 30000;
const LAST_S = 2;
const page = () => document.getElementById('live');
let offset = null; // service's seconds less this page's
let asking = false;
let told = ''; // the last second that was felt

async function compare() {
  if (asking || document.hidden) return;
  asking = true;
  let [low, high] = [-Infinity, Infinity];
  for (let trip = 0; trip < TRIPS; trip += 1) {
    try {
      const sent = performance.now() / 1000;
      const answer = await fetch('/clock', { cache: 'no-store' });
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

function left({ due, left: rest, limit }) {
  if (!due || offset === null) return Number(rest);
  return Math.max(0, Math.min(Number(limit), Number(due) - offset - performance.now() / 1000));
}

function figure(rest, isRunning) {
  const whole = isRunning || rest < 1 ? Math.ceil(rest) : Math.round(rest);
  return whole < 60 ? String(whole) : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
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

function frame() {
  paint();
  requestAnimationFrame(frame);
}

document.addEventListener('shown', paint);
document.addEventListener('visibilitychange', compare);
addEventListener('pageshow', compare);
addEventListener('online', compare);
setInterval(compare, AGAIN_MS);
compare();
frame();
