// The replay of a game: moves through its scenes by keys, by the slider, or by itself. Without this script the links of the page
// do the same.
import { root, say } from './page.js';

const page = document.querySelector('.replay');
const lastIndex = Number(page.dataset.places) - 1;
const scene = document.getElementById('scene');
const slider = document.getElementById('scrub');
const announcement = document.getElementById('told'); // read by screen readers
const playKey = document.getElementById('play-key');
const turnLinks = [...document.querySelectorAll('#turns a')];
const markedMoments = [...document.querySelectorAll('.mark')];
const share = document.getElementById('share');
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');
const SCENE_MS = 1600; // how long a scene is shown while the replay plays
const MAX_CACHED_SCENES = 400;
const sceneCache = new Map(); // promises of fragments, by the index of their scene
let currentIndex = Number(slider.value); // index of the shown scene
let playTimer = 0;

// Return the index of a link's scene, from its address `?at=12`. The link of a turn leads to its last scene.
const sceneIndexOf = link => Number(link.getAttribute('href').slice(4));
// Return the index of the first scene of a link's turn.
const firstSceneIndexOf = link => Number(link.dataset.first ?? sceneIndexOf(link));

// Return the promise of a scene's fragment, or null if there is no such scene. Scenes that were fetched before are cached.
function fetchScene(index) {
  if (index < 0 || index > lastIndex) return null;
  if (!sceneCache.has(index)) {
    if (sceneCache.size > MAX_CACHED_SCENES) sceneCache.clear();
    const fragment = fetch(`${root}/history/${page.dataset.game}/scene/${index}`).then(answer => (answer.ok ? answer.text() : Promise.reject()));
    sceneCache.set(index, fragment);
    fragment.catch(() => sceneCache.delete(index));
  }
  return sceneCache.get(index);
}

// Slide the pieces to their new squares, after a step forward.
function slidePieces() {
  const board = scene.querySelector('.board');
  const moves = scene.querySelector('.view')?.dataset.moves;
  if (!board || !moves || reducedMotion.matches) return;
  const [files, , pitch] = board.dataset.grid.split(' ').map(Number);
  for (const [from, to] of moves.split(' ').map(move => move.split('-'))) {
    const piece = board.querySelector(`[data-at="${to}"]`);
    const x = (from.charCodeAt(0) - to.charCodeAt(0)) * pitch;
    const y = (Number(to.slice(1)) - Number(from.slice(1))) * pitch;
    if (piece && files) piece.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: 'none' }], { duration: 420, easing: 'cubic-bezier(.2,.7,.2,1)' });
  }
}

// Update slider, links and address for the current scene.
function updateControls() {
  slider.value = currentIndex;
  const links = { first: 0, back: Math.max(currentIndex - 1, 0), next: Math.min(currentIndex + 1, lastIndex), last: lastIndex };
  for (const [id, index] of Object.entries(links)) document.getElementById(id).href = `?at=${index}`;
  for (const link of turnLinks) {
    const isCurrent = firstSceneIndexOf(link) <= currentIndex && currentIndex <= sceneIndexOf(link);
    if (isCurrent === link.hasAttribute('aria-current')) continue;
    if (isCurrent) link.setAttribute('aria-current', 'step');
    else link.removeAttribute('aria-current');
  }
  for (const link of markedMoments) {
    if (sceneIndexOf(link) === currentIndex) link.setAttribute('aria-current', 'step');
    else link.removeAttribute('aria-current');
  }
  const currentLink = turnLinks.find(link => link.hasAttribute('aria-current'));
  const list = currentLink?.closest('ol');
  if (list) list.scrollTop = Math.max(0, currentLink.offsetTop - list.clientHeight / 2);
  history.replaceState(null, '', `?at=${currentIndex}`);
}

// Show the scene with this index, or the nearest one that exists.
async function showScene(index) {
  const requested = Math.min(Math.max(index, 0), lastIndex);
  const isStepForward = requested === currentIndex + 1;
  currentIndex = requested;
  updateControls();
  try {
    const html = await fetchScene(requested);
    if (currentIndex !== requested) return; // another scene was requested meanwhile
    const isOpen = scene.querySelector('details')?.open;
    scene.innerHTML = html;
    if (isOpen && scene.querySelector('details')) scene.querySelector('details').open = true;
    if (isStepForward) slidePieces();
    announcement.textContent = [...scene.querySelectorAll('.at, .tell b')].map(element => element.innerText.replace(/\.?$/, '.')).join(' ');
    fetchScene(currentIndex + 1);
    fetchScene(currentIndex - 1);
  } catch {
    stopPlaying();
    scene.querySelector('.at').textContent = say('No connection to the table: try again');
  }
}

function stopPlaying() {
  clearInterval(playTimer);
  playTimer = 0;
  playKey.setAttribute('aria-pressed', 'false');
}

// Begin to play at the current scene, or stop.
function togglePlay() {
  if (playTimer) {
    stopPlaying();
    return;
  }
  playKey.setAttribute('aria-pressed', 'true');
  showScene(currentIndex < lastIndex ? currentIndex + 1 : 0);
  playTimer = setInterval(() => (currentIndex < lastIndex ? showScene(currentIndex + 1) : stopPlaying()), SCENE_MS);
}

// Show the turn that is some lines below the current one in the notation. A negative number goes up.
function moveByTurns(lines) {
  const number = turnLinks.findIndex(link => link.hasAttribute('aria-current'));
  const link = turnLinks[Math.min(Math.max(number + lines, 0), turnLinks.length - 1)];
  showScene(sceneIndexOf(link));
}

// Show the next marked moment, or the one before.
function moveToMoment(isForward) {
  const indices = markedMoments.filter(link => link.getClientRects().length).map(sceneIndexOf);
  const index = isForward ? indices.find(other => other > currentIndex) : indices.findLast(other => other < currentIndex);
  if (index !== undefined) showScene(index);
}

const KEYS = {
  ArrowLeft: () => showScene(currentIndex - 1),
  ArrowRight: () => showScene(currentIndex + 1),
  ArrowUp: () => moveByTurns(-1),
  ArrowDown: () => moveByTurns(1),
  PageUp: () => moveToMoment(false),
  PageDown: () => moveToMoment(true),
  Home: () => showScene(0),
  End: () => showScene(lastIndex),
  ' ': togglePlay,
};

document.addEventListener('keydown', event => {
  const act = KEYS[event.key];
  // elsewhere on the page the arrows up and down scroll
  const scrolls = /Up|Down/.test(event.key) && event.key.startsWith('Arrow') && !event.target.closest?.('.desk, .score');
  if (!act || scrolls || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.('input, textarea, summary')) return;
  if (event.key === ' ' && event.target.matches?.('a, button')) return;
  event.preventDefault();
  if (event.key !== ' ') stopPlaying();
  act();
});

// Show the coach's judgement of a turn. It takes a second or two, so it is made only on request.
async function showReview(key) {
  const line = key.nextElementSibling;
  key.disabled = true;
  line.textContent = key.dataset.wait;
  try {
    const answer = await fetch(root + key.dataset.better, { headers: { Accept: 'application/json' } });
    if (answer.ok) line.innerHTML = await answer.text();
    else line.textContent = (await answer.json()).error.message;
    key.hidden = answer.ok;
    line.scrollIntoView({ block: 'nearest' });
  } catch {
    line.textContent = say('No connection to the table: try again');
  }
  key.disabled = false;
}

page.addEventListener('click', event => {
  const better = event.target.closest?.('[data-better]');
  if (better) return void showReview(better);
  const link = event.target.closest?.('.ctl a, .mark, #turns a');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  stopPlaying();
  showScene(sceneIndexOf(link));
});
slider.addEventListener('input', () => {
  stopPlaying();
  showScene(Number(slider.value));
});
playKey.addEventListener('click', togglePlay);

// Share a link to the current scene by the phone's own dialog, or else copy it.
share?.addEventListener('click', async () => {
  const url = location.href;
  try {
    if (navigator.share) await navigator.share({ title: document.title, url });
    else if (navigator.clipboard) await navigator.clipboard.writeText(url);
    else copyText(url); // without HTTPS browsers have no clipboard for scripts
    announcement.textContent = share.dataset.done;
    if (!navigator.share) share.textContent = share.dataset.done;
  } catch { /* the dialog was closed without sharing */ }
});

function copyText(text) {
  const textArea = Object.assign(document.createElement('textarea'), { value: text });
  document.body.append(textArea);
  textArea.select();
  document.execCommand('copy');
  textArea.remove();
}

document.addEventListener('visibilitychange', () => { if (document.hidden) stopPlaying(); });
updateControls();
fetchScene(currentIndex + 1);
fetchScene(currentIndex - 1);
