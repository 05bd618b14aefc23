// The workbench: pieces that one drags in the camera's picture, keys that one presses, lamps and tones.
import { onStream } from './live.js';
import { post, root, say } from './page.js';

const SVG = 'http://www.w3.org/2000/svg';
const scene = document.getElementById('scene');
const picture = document.getElementById('frame');
const shapes = document.getElementById('shapes');
const palm = document.getElementById('palm');
const palmKey = document.getElementById('palm-key');
let world = { pieces: [], squares: {}, hand: null };
let drag = null;

// ---- the table ----

let wanted = null;
let loading = false;

function load(frame) {
  wanted = frame;
  if (loading) return;
  loading = true;
  const next = new Image();
  const url = `${root}/workbench/frame.jpg?${frame}`;
  next.onload = () => { picture.setAttribute('href', url); settle(frame); };
  next.onerror = () => setTimeout(() => settle(frame), 1000);
  next.src = url;
}

function settle(frame) {
  loading = false;
  if (wanted !== frame) load(wanted);
}

const points = outline => outline.map(point => point.join(',')).join(' ');
const middle = outline => [0, 1].map(axis => outline.reduce((sum, point) => sum + point[axis], 0) / outline.length);

function shapeOf(piece) {
  const found = shapes.querySelector(`[data-id="${piece.id}"]`);
  if (found) return found;
  const shape = document.createElementNS(SVG, 'polygon');
  shape.dataset.id = piece.id;
  shape.setAttribute('tabindex', '0');
  shape.setAttribute('role', 'button');
  shapes.append(shape);
  return shape;
}

function show(now) {
  if (now.frame !== world.frame) load(now.frame);
  world = now;
  const ids = new Set(now.pieces.map(piece => String(piece.id)));
  for (const shape of [...shapes.children]) if (!ids.has(shape.dataset.id)) shape.remove();
  now.pieces.forEach((piece, place) => {
    const shape = shapeOf(piece);
    if (drag?.shape !== shape) shape.setAttribute('points', points(piece.outline));
    shape.setAttribute('aria-label', `${piece.face}, ${piece.square ?? say('beside the board')}`);
    if (shapes.children[place] !== shape && !drag && document.activeElement !== shape) shapes.insertBefore(shape, shapes.children[place]);
  });
  const over = now.squares[now.hand];
  palm.innerHTML = over ? `<circle cx="${over[0]}" cy="${over[1]}" r="34"/>` : '';
  palmKey.textContent = now.hand ? say('Hand over {square}: take it away', { square: now.hand }) : say('Hold a hand over a square');
  palmKey.setAttribute('aria-pressed', String(Boolean(now.hand) || scene.classList.contains('palming')));
}

async function ask(url, body) {
  const answer = await post(url, body);
  if (answer.ok && answer.pieces) show(answer);
}

function at(event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(scene.getScreenCTM().inverse());
  return [point.x, point.y];
}

function nearest([x, y]) {
  const away = ([, [sx, sy]]) => Math.hypot(sx - x, sy - y);
  return Object.entries(world.squares).sort((a, b) => away(a) - away(b))[0]?.[0];
}

scene.addEventListener('pointerdown', event => {
  if (scene.classList.contains('palming')) {
    scene.classList.remove('palming');
    const square = nearest(at(event));
    if (square) ask('/workbench/hand', { square });
    return;
  }
  const shape = event.target.closest('polygon');
  if (!shape) return;
  event.preventDefault();
  shape.focus();
  shape.setPointerCapture(event.pointerId);
  const piece = world.pieces.find(each => String(each.id) === shape.dataset.id);
  drag = { shape, piece, from: at(event), middle: middle(piece.outline), to: null };
});

scene.addEventListener('pointermove', event => {
  if (!drag) return;
  const [x, y] = at(event);
  const [dx, dy] = [x - drag.from[0], y - drag.from[1]];
  if (!drag.to && Math.hypot(dx, dy) < 6) return;
  drag.to = [drag.middle[0] + dx, drag.middle[1] + dy];
  drag.shape.setAttribute('points', points(drag.piece.outline.map(([px, py]) => [px + dx, py + dy])));
});

scene.addEventListener('pointerup', () => {
  const done = drag;
  drag = null;
  if (done?.to) ask('/workbench/piece', { id: done.piece.id, x: done.to[0], y: done.to[1] });
});
scene.addEventListener('pointercancel', () => { drag = null; show(world); });
scene.addEventListener('dblclick', event => {
  const shape = event.target.closest('polygon');
  if (shape) ask('/workbench/flip', { id: Number(shape.dataset.id) });
});

const WAYS = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
let steps = Promise.resolve(); // one after the other: each begins where the last one ended

async function step(id, way) {
  const piece = world.pieces.find(each => each.id === id);
  const from = piece?.square ?? (piece && nearest(middle(piece.outline)));
  if (!from) return;
  const next = String.fromCharCode(from.charCodeAt(0) + way[0]) + (Number(from.slice(1)) + way[1]);
  const square = piece.square ? next : from;
  if (square in world.squares) await ask('/workbench/piece', { id, square });
}

scene.addEventListener('keydown', event => {
  const id = Number(event.target.dataset?.id ?? -1);
  if (id < 0) return;
  if (event.key === 'Enter') ask('/workbench/flip', { id });
  const way = WAYS[event.key];
  if (!way) return;
  event.preventDefault();
  steps = steps.then(() => step(id, way));
});

document.getElementById('tidy-key').addEventListener('click', () => ask('/workbench/tidy', {}));
palmKey.addEventListener('click', () => {
  if (world.hand) ask('/workbench/hand', { square: null });
  else palmKey.setAttribute('aria-pressed', String(scene.classList.toggle('palming')));
});

// ---- the panel ----

const down = new Set();
let sent = Promise.resolve(); // each waits for the one before, or a release could overtake its press
function turn(button, isDown) {
  if (isDown) down.add(button); else down.delete(button);
  document.querySelector(`[data-button="${button}"]`).classList.toggle('on', isDown);
  return () => post(`/workbench/${isDown ? 'press' : 'release'}`, { button });
}
function press(button, isDown) {
  if (down.has(button) !== isDown) sent = sent.then(turn(button, isDown));
}
const releaseAll = () => [...down].forEach(button => press(button, false));
const leave = () => [...down].forEach(button => turn(button, false)()); // nobody is there to wait

for (const key of document.querySelectorAll('[data-button]')) {
  const { button } = key.dataset;
  key.addEventListener('pointerdown', event => { key.setPointerCapture(event.pointerId); press(button, true); });
  for (const end of ['pointerup', 'pointercancel']) key.addEventListener(end, () => press(button, false));
  key.addEventListener('keydown', event => { if ([' ', 'Enter'].includes(event.key) && !event.repeat) press(button, true); });
  for (const end of ['keyup', 'blur']) key.addEventListener(end, () => press(button, false));
  key.addEventListener('contextmenu', event => event.preventDefault());
}
addEventListener('pagehide', leave);
addEventListener('blur', releaseAll);

for (const form of document.querySelectorAll('[data-lay]')) {
  form.addEventListener('submit', event => {
    event.preventDefault();
    post('/workbench/tiles', { seat: form.dataset.lay, letters: form.letters.value });
    form.reset();
  });
}

const NOTES = ['A', 'A♯', 'B', 'C', 'C♯', 'D', 'D♯', 'E', 'F', 'F♯', 'G', 'G♯'];
function noteOf(hz) {
  const steps = Math.round(12 * Math.log2(hz / 440)) + 48;
  return `${NOTES[steps % 12]}${Math.floor((steps + 9) / 12)}`;
}

let audio = null;
let voice = null;
function sound(hz) {
  voice?.stop();
  voice = null;
  if (hz) document.getElementById('tone').textContent = `${noteOf(hz)}, ${Math.round(hz)} Hz`;
  if (!hz || !audio) return;
  voice = new OscillatorNode(audio, { type: 'square', frequency: hz });
  voice.connect(new GainNode(audio, { gain: 0.06 })).connect(audio.destination);
  voice.start();
}

const soundKey = document.getElementById('sound');
soundKey.addEventListener('click', () => {
  audio?.close();
  audio = audio ? null : new AudioContext();
  soundKey.textContent = audio ? say('Sound off') : say('Sound on');
  soundKey.setAttribute('aria-pressed', String(Boolean(audio)));
});

function light({ lamps, tone }) {
  for (const lamp of document.querySelectorAll('[data-lamp]')) {
    lamp.classList.toggle('lit', lamps[lamp.dataset.lamp] === true);
    lamp.classList.toggle('missing', !(lamp.dataset.lamp in lamps));
  }
  sound(tone);
}

onStream(stream => {
  stream.addEventListener('world', event => show(JSON.parse(event.data)));
  stream.addEventListener('panel', event => light(JSON.parse(event.data)));
});
