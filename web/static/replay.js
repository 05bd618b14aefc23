// The replay: steps, scrubs and plays through the scenes of a game; its links do the same without a script.
import { root, say } from './page.js';

const page = document.querySelector('.replay');
const last = Number(page.dataset.places) - 1;
const scene = document.getElementById('scene');
const scrub = document.getElementById('scrub');
const told = document.getElementById('told');
const playing = document.getElementById('play-key');
const lines = [...document.querySelectorAll('#turns a')];
const marks = [...document.querySelectorAll('.mark')];
const share = document.getElementById('share');
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const STEP_MS = 1600;
const KEPT = 400;
const known = new Map();
let at = Number(scrub.value);
let timer = 0;

const placeOf = link => Number(link.getAttribute('href').slice(4));
const firstOf = link => Number(link.dataset.first ?? placeOf(link));

// A scene's fragment; the neighbours are asked for before anybody wants them.
function fetched(place) {
  if (place < 0 || place > last) return null;
  if (!known.has(place)) {
    if (known.size > KEPT) known.clear();
    const asked = fetch(`${root}/history/${page.dataset.game}/scene/${place}`).then(answer => (answer.ok ? answer.text() : Promise.reject()));
    known.set(place, asked);
    asked.catch(() => known.delete(place));
  }
  return known.get(place);
}

// Pieces slide to where they are, once, when the game is stepped forward.
function slide() {
  const board = scene.querySelector('.board');
  const moves = scene.querySelector('.view')?.dataset.moves;
  if (!board || !moves || calm.matches) return;
  const [files, , pitch] = board.dataset.grid.split(' ').map(Number);
  for (const [from, to] of moves.split(' ').map(way => way.split('-'))) {
    const piece = board.querySelector(`[data-at="${to}"]`);
    const x = (from.charCodeAt(0) - to.charCodeAt(0)) * pitch;
    const y = (Number(to.slice(1)) - Number(from.slice(1))) * pitch;
    if (piece && files) piece.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: 'none' }], { duration: 420, easing: 'cubic-bezier(.2,.7,.2,1)' });
  }
}

function mark() {
  scrub.value = at;
  const links = { first: 0, back: Math.max(at - 1, 0), next: Math.min(at + 1, last), last };
  for (const [id, place] of Object.entries(links)) document.getElementById(id).href = `?at=${place}`;
  for (const link of lines) {
    const isNow = firstOf(link) <= at && at <= placeOf(link);
    if (isNow === link.hasAttribute('aria-current')) continue;
    if (isNow) link.setAttribute('aria-current', 'step');
    else link.removeAttribute('aria-current');
  }
  for (const link of marks) {
    if (placeOf(link) === at) link.setAttribute('aria-current', 'step');
    else link.removeAttribute('aria-current');
  }
  const now = lines.find(link => link.hasAttribute('aria-current'));
  const list = now?.closest('ol');
  if (list) list.scrollTop = Math.max(0, now.offsetTop - list.clientHeight / 2);
  history.replaceState(null, '', `?at=${at}`);
}

async function show(place) {
  const wanted = Math.min(Math.max(place, 0), last);
  const isNext = wanted === at + 1;
  at = wanted;
  mark();
  try {
    const html = await fetched(wanted);
    if (at !== wanted) return;
    const isOpen = scene.querySelector('details')?.open;
    scene.innerHTML = html;
    if (isOpen && scene.querySelector('details')) scene.querySelector('details').open = true;
    if (isNext) slide();
    told.textContent = [...scene.querySelectorAll('.at, .tell b')].map(each => each.innerText.replace(/\.?$/, '.')).join(' ');
    fetched(at + 1);
    fetched(at - 1);
  } catch {
    stop();
    scene.querySelector('.at').textContent = say('No connection to the table: try again');
  }
}

function stop() {
  clearInterval(timer);
  timer = 0;
  playing.setAttribute('aria-pressed', 'false');
}

function play() {
  if (timer) {
    stop();
    return;
  }
  playing.setAttribute('aria-pressed', 'true');
  show(at < last ? at + 1 : 0);
  timer = setInterval(() => (at < last ? show(at + 1) : stop()), STEP_MS);
}

// The line of the notation next to the one that is shown.
function turn(by) {
  const now = lines.findIndex(link => link.hasAttribute('aria-current'));
  const link = lines[Math.min(Math.max(now + by, 0), lines.length - 1)];
  show(placeOf(link));
}

// The marked moment before or after what is shown.
function moment(by) {
  const places = marks.filter(link => link.getClientRects().length).map(placeOf);
  const next = by > 0 ? places.find(place => place > at) : places.findLast(place => place < at);
  if (next !== undefined) show(next);
}

const KEYS = {
  ArrowLeft: () => show(at - 1), ArrowRight: () => show(at + 1), ArrowUp: () => turn(-1), ArrowDown: () => turn(1),
  PageUp: () => moment(-1), PageDown: () => moment(1), Home: () => show(0), End: () => show(last), ' ': play,
};

document.addEventListener('keydown', event => {
  const act = KEYS[event.key];
  const isNear = !event.key.startsWith('Arrow') || /Left|Right/.test(event.key) || event.target.closest?.('.desk, .score');
  if (!act || !isNear || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.('input, textarea, summary')) return;
  if (event.key === ' ' && event.target.matches?.('a, button')) return;
  event.preventDefault();
  if (event.key !== ' ') stop();
  act();
});
// What the coach thinks of a turn: it takes a second or two, so that it is asked by a key.
async function review(key) {
  const place = key.nextElementSibling;
  key.disabled = true;
  place.textContent = key.dataset.wait;
  try {
    const answer = await fetch(root + key.dataset.better, { headers: { Accept: 'application/json' } });
    if (answer.ok) place.innerHTML = await answer.text();
    else place.textContent = (await answer.json()).error.message;
    key.hidden = answer.ok;
    place.scrollIntoView({ block: 'nearest' });
  } catch {
    place.textContent = say('No connection to the table: try again');
  }
  key.disabled = false;
}

page.addEventListener('click', event => {
  const better = event.target.closest?.('[data-better]');
  if (better) return void review(better);
  const link = event.target.closest?.('.ctl a, .mark, #turns a');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  stop();
  show(placeOf(link));
});
scrub.addEventListener('input', () => {
  stop();
  show(Number(scrub.value));
});
playing.addEventListener('click', play);
// A link to what is shown: by the phone's own way to share, else copied.
share?.addEventListener('click', async () => {
  const url = location.href;
  try {
    if (navigator.share) await navigator.share({ title: document.title, url });
    else if (navigator.clipboard) await navigator.clipboard.writeText(url);
    else copy(url); // without HTTPS browsers know no other way
    told.textContent = share.dataset.done;
    if (!navigator.share) share.textContent = share.dataset.done;
  } catch { /* whoever closes the phone's own window shares nothing */ }
});

function copy(text) {
  const box = Object.assign(document.createElement('textarea'), { value: text });
  document.body.append(box);
  box.select();
  document.execCommand('copy');
  box.remove();
}
document.addEventListener('visibilitychange', () => { if (document.hidden) stop(); });
mark();
fetched(at + 1);
fetched(at - 1);
