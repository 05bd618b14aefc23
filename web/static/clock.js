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
const POINT = document.documentElement.lang === 'en' ? '.' : ',';

function whole(rest) {
  if (rest < TENTHS_S) return (Math.floor(rest * 10) / 10).toFixed(1).replace('.', POINT);
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

function paintPlates() {
  for (const each of document.querySelectorAll('[data-time]')) paintPlate(each);
}

function frame() {
  paint();
  paintPlates();
  requestAnimationFrame(frame);
}

document.addEventListener('shown', paint);
document.addEventListener('visibilitychange', compare);
addEventListener('pageshow', compare);
addEventListener('online', compare);
setInterval(compare, AGAIN_MS);
compare();
frame();
