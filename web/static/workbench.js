// The workbench of the simulation: pieces to drag in the camera's picture, and the panel with its keys, lamps and tones.
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

const RETRY_MS = 1000;
const MIN_DRAG = 6; // in pixels of the picture: a shorter movement is a click
let wantedFrame = null;
let isLoading = false;

// Show a frame of the camera. While one is loading, only the newest request is remembered.
function loadFrame(frame) {
  wantedFrame = frame;
  if (isLoading) return;
  isLoading = true;
  const next = new Image();
  const url = `${root}/workbench/frame.jpg?${frame}`;
  next.onload = () => { picture.setAttribute('href', url); finishLoading(frame); };
  next.onerror = () => setTimeout(() => finishLoading(frame), RETRY_MS);
  next.src = url;
}

function finishLoading(frame) {
  isLoading = false;
  if (wantedFrame !== frame) loadFrame(wantedFrame);
}

const formatPoints = outline => outline.map(point => point.join(',')).join(' ');
const centreOf = outline => [0, 1].map(axis => outline.reduce((sum, point) => sum + point[axis], 0) / outline.length);

// Return the outline of a piece, which people drag. It is made at the first call.
function shapeOf(piece) {
  const existing = shapes.querySelector(`[data-id="${piece.id}"]`);
  if (existing) return existing;
  const shape = document.createElementNS(SVG, 'polygon');
  shape.dataset.id = piece.id;
  shape.setAttribute('tabindex', '0');
  shape.setAttribute('role', 'button');
  shapes.append(shape);
  return shape;
}

// Show the positions of pieces and hand (`WorldJson` in web/rendering/answers.py).
function showWorld(newWorld) {
  if (newWorld.frame !== world.frame) loadFrame(newWorld.frame);
  world = newWorld;
  const ids = new Set(newWorld.pieces.map(piece => String(piece.id)));
  for (const shape of [...shapes.children]) if (!ids.has(shape.dataset.id)) shape.remove();
  const beside = say('beside the board');
  newWorld.pieces.forEach((piece, index) => {
    const shape = shapeOf(piece);
    if (drag?.shape !== shape) shape.setAttribute('points', formatPoints(piece.outline));
    shape.setAttribute('aria-label', `${piece.face}, ${piece.square ?? beside}`);
    if (shapes.children[index] !== shape && !drag && document.activeElement !== shape) shapes.insertBefore(shape, shapes.children[index]);
  });
  const handCentre = newWorld.squares[newWorld.hand];
  palm.innerHTML = handCentre ? `<circle cx="${handCentre[0]}" cy="${handCentre[1]}" r="34"/>` : '';
  palmKey.textContent = newWorld.hand ? say('Hand over {square}: take it away', { square: newWorld.hand }) : say('Hold a hand over a square');
  palmKey.setAttribute('aria-pressed', String(Boolean(newWorld.hand) || scene.classList.contains('palming')));
}

// Send a request of the hand, and show the positions that it returns.
async function requestHand(url, body) {
  const answer = await post(url, body);
  if (answer.ok && answer.pieces) showWorld(answer);
}

// Return the place of a pointer in pixels of the picture.
function pointOf(event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(scene.getScreenCTM().inverse());
  return [point.x, point.y];
}

function nearestSquare([x, y]) {
  const distance = ([, [squareX, squareY]]) => Math.hypot(squareX - x, squareY - y);
  const [nearest] = Object.entries(world.squares).sort((a, b) => distance(a) - distance(b));
  return nearest?.[0];
}

scene.addEventListener('pointerdown', event => {
  // the next tap chooses the square for the hand
  if (scene.classList.contains('palming')) {
    scene.classList.remove('palming');
    const square = nearestSquare(pointOf(event));
    if (square) requestHand('/workbench/hand', { square });
    return;
  }
  const shape = event.target.closest('polygon');
  if (!shape) return;
  event.preventDefault();
  shape.focus();
  shape.setPointerCapture(event.pointerId);
  const piece = world.pieces.find(({ id }) => String(id) === shape.dataset.id);
  drag = { shape, piece, start: pointOf(event), middle: centreOf(piece.outline), end: null };
});

scene.addEventListener('pointermove', event => {
  if (!drag) return;
  const [x, y] = pointOf(event);
  const [dx, dy] = [x - drag.start[0], y - drag.start[1]];
  if (!drag.end && Math.hypot(dx, dy) < MIN_DRAG) return;
  drag.end = [drag.middle[0] + dx, drag.middle[1] + dy];
  drag.shape.setAttribute('points', formatPoints(drag.piece.outline.map(([px, py]) => [px + dx, py + dy])));
});

scene.addEventListener('pointerup', () => {
  const dropped = drag;
  drag = null;
  if (dropped?.end) requestHand('/workbench/piece', { id: dropped.piece.id, x: dropped.end[0], y: dropped.end[1] });
});
scene.addEventListener('pointercancel', () => { drag = null; showWorld(world); });
scene.addEventListener('dblclick', event => {
  const shape = event.target.closest('polygon');
  if (shape) requestHand('/workbench/flip', { id: Number(shape.dataset.id) });
});

// File and rank of a step by an arrow key.
const STEPS = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
let lastStep = Promise.resolve(); // each step begins where the one before has ended

async function movePiece(id, [fileStep, rankStep]) {
  const piece = world.pieces.find(other => other.id === id);
  const origin = piece?.square ?? (piece && nearestSquare(centreOf(piece.outline)));
  if (!origin) return;
  const next = String.fromCharCode(origin.charCodeAt(0) + fileStep) + (Number(origin.slice(1)) + rankStep);
  // a piece beside the squares first moves into the nearest one
  const square = piece.square ? next : origin;
  if (square in world.squares) await requestHand('/workbench/piece', { id, square });
}

scene.addEventListener('keydown', event => {
  const id = Number(event.target.dataset?.id ?? -1);
  if (id < 0) return;
  if (event.key === 'Enter') requestHand('/workbench/flip', { id });
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  lastStep = lastStep.then(() => movePiece(id, step));
});

document.getElementById('tidy-key').addEventListener('click', () => requestHand('/workbench/tidy', {}));
palmKey.addEventListener('click', () => {
  if (world.hand) requestHand('/workbench/hand', { square: null });
  else palmKey.setAttribute('aria-pressed', String(scene.classList.toggle('palming')));
});

// ---- the panel ----

const pressedButtons = new Set();
let lastRequest = Promise.resolve(); // each request waits for the one before, so that no release overtakes its press

// Mark a button as pressed or released. Return the function that sends it.
function noteButton(button, isDown) {
  if (isDown) pressedButtons.add(button); else pressedButtons.delete(button);
  document.querySelector(`[data-button="${button}"]`).classList.toggle('on', isDown);
  return () => post(`/workbench/${isDown ? 'press' : 'release'}`, { button });
}
function setButton(button, isDown) {
  if (pressedButtons.has(button) !== isDown) lastRequest = lastRequest.then(noteButton(button, isDown));
}
const releaseAll = () => [...pressedButtons].forEach(button => setButton(button, false));
// A page that closes cannot wait for earlier requests.
const releaseAllAtOnce = () => [...pressedButtons].forEach(button => noteButton(button, false)());

for (const key of document.querySelectorAll('[data-button]')) {
  const { button } = key.dataset;
  key.addEventListener('pointerdown', event => { key.setPointerCapture(event.pointerId); setButton(button, true); });
  for (const end of ['pointerup', 'pointercancel']) key.addEventListener(end, () => setButton(button, false));
  key.addEventListener('keydown', event => { if ([' ', 'Enter'].includes(event.key) && !event.repeat) setButton(button, true); });
  for (const end of ['keyup', 'blur']) key.addEventListener(end, () => setButton(button, false));
  key.addEventListener('contextmenu', event => event.preventDefault());
}
addEventListener('pagehide', releaseAllAtOnce);
addEventListener('blur', releaseAll);

for (const form of document.querySelectorAll('[data-lay]')) {
  form.addEventListener('submit', event => {
    event.preventDefault();
    post('/workbench/tiles', { seat: form.dataset.lay, letters: form.letters.value });
    form.reset();
  });
}

const NOTES = ['A', 'A♯', 'B', 'C', 'C♯', 'D', 'D♯', 'E', 'F', 'F♯', 'G', 'G♯'];
// Return the name of the nearest note, such as A4 for 440 Hz.
function noteOf(hz) {
  const semitones = Math.round(12 * Math.log2(hz / 440)) + 48; // above A0
  return `${NOTES[semitones % 12]}${Math.floor((semitones + 9) / 12)}`;
}

let audio = null;
let oscillator = null;
function playTone(hz) {
  oscillator?.stop();
  oscillator = null;
  if (hz) document.getElementById('tone').textContent = `${noteOf(hz)}, ${Math.round(hz)} Hz`;
  if (!hz || !audio) return;
  oscillator = new OscillatorNode(audio, { type: 'square', frequency: hz });
  oscillator.connect(new GainNode(audio, { gain: 0.06 })).connect(audio.destination);
  oscillator.start();
}

const soundKey = document.getElementById('sound');
soundKey.addEventListener('click', () => {
  audio?.close();
  audio = audio ? null : new AudioContext();
  soundKey.textContent = audio ? say('Sound off') : say('Sound on');
  soundKey.setAttribute('aria-pressed', String(Boolean(audio)));
});

// Show the panel: lit lamps, lamps without a pin, and the tone in Hz.
function showPanel({ lamps, tone }) {
  for (const lamp of document.querySelectorAll('[data-lamp]')) {
    lamp.classList.toggle('lit', lamps[lamp.dataset.lamp] === true);
    lamp.classList.toggle('missing', !(lamp.dataset.lamp in lamps));
  }
  playTone(tone);
}

onStream(stream => {
  stream.addEventListener('world', event => showWorld(JSON.parse(event.data)));
  stream.addEventListener('panel', event => showPanel(JSON.parse(event.data)));
});
