// The squares of the page's board: which one a finger means, where each is drawn, and marks over and under the pieces.
// Units of the picture: a square is 100 wide, x to the right, y down.
export const page = () => document.getElementById('live');
export const board = () => page()?.querySelector('.view .board');

const GOAL = -0.68; // ranks from the first rank's middle to that of its goal
const THICK = 0.8; // a finger beside a square means it, by so much of a square

function grid() {
  const [files, ranks, pitch, turned] = board().dataset.grid.split(' ').map(Number);
  return { files, ranks, pitch, turned: Boolean(turned) };
}

const nameOf = (file, rank) => `${String.fromCharCode(97 + file)}${rank + 1}`;
export const place = square => [square.charCodeAt(0) - 97, Number(square.slice(1)) - 1];
export const isTurned = () => grid().turned;

// The middle of a square; of one beyond the first or the last rank that of the goal there.
export function centre(square) {
  const [file, at] = place(square);
  const { files, ranks, pitch, turned } = grid();
  const rank = Math.min(Math.max(at, GOAL), ranks - 1 - GOAL);
  const [column, row] = turned ? [files - 1 - file, rank] : [file, ranks - 1 - rank];
  return [column * pitch + 50, row * pitch + 50];
}

export function shifted(square, [filesOn, ranksOn]) {
  const [file, rank] = place(square);
  const { files, ranks } = grid();
  const [to, up] = [file + filesOn, rank + ranksOn];
  return to >= 0 && to < files && up >= 0 && up < ranks ? nameOf(to, up) : null;
}

// The square under a pointer; one of `wanted` when the finger is just beside it.
function squareAt(event, wanted) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(board().getScreenCTM().inverse());
  const { files, ranks, pitch, turned } = grid();
  let column = Math.floor(at.x / pitch);
  let row = Math.floor(at.y / pitch);
  const isOn = column >= 0 && column < files && row >= 0 && row < ranks;
  if (turned) column = files - 1 - column;
  else row = ranks - 1 - row;
  const hit = isOn || wanted?.has(nameOf(column, row)) ? nameOf(column, row) : null;
  if (!wanted || !wanted.size || wanted.has(hit)) return hit;
  const far = square => Math.hypot(centre(square)[0] - at.x, centre(square)[1] - at.y);
  const nearest = [...wanted].reduce((one, other) => (far(other) < far(one) ? other : one));
  return far(nearest) < THICK * pitch ? nearest : hit;
}

// ---- marks ----

export const use = (drawing, [x, y], size, classes = '', degrees = 0) => `<use href="#${drawing}" x="${x - size / 2}" y="${y - size / 2}" width="${size}" height="${size}" class="${classes}"${degrees ? ` transform="rotate(${degrees} ${x} ${y})"` : ''}/>`;

const box = ([x, y]) => `M${x - 50} ${y - 50}h100v100h-100z`;
export const frames = squares => (squares.length ? `<path class="may" d="${squares.map(square => box(centre(square))).join('')}"/>` : '');
// Where something may go: a dot in the middle, 12 px wide on every screen.
export const dots = squares => (squares.length ? `<path class="dots" d="${squares.map(square => `M${centre(square).join(' ')}h.01`).join('')}"/>` : '');

// A cased arrow along the middles of squares, from beside the first to the edge of the last.
export function arrow(squares) {
  const points = squares.map(centre);
  const short = (from, to, by) => {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    return [0, 1].map(axis => to[axis] - (to[axis] - from[axis]) * by / length);
  };
  const [before, last] = points.slice(-2);
  const tip = short(before, last, 36);
  const neck = short(before, last, 58);
  const [across, along] = [0, 1].map(axis => (tip[axis] - neck[axis]) * 0.64);
  const line = [short(points[1], points[0], 36), ...points.slice(1, -1), neck];
  const way = `M${line.map(point => point.map(Math.round).join(' ')).join('L')}`;
  const head = `M${tip.join(' ')}L${neck[0] - along} ${neck[1] + across}L${neck[0] + along} ${neck[1] - across}z`;
  return `<g class="way"><path class="case" d="${way}"/><path class="case head" d="${head}"/><path d="${way}"/><path class="head" d="${head}"/></g>`;
}

export const target = square => `<path class="target" d="${box(centre(square))}"/>`;
export const filled = squares => squares.map(square => `<path class="chosen" d="${box(centre(square))}"/>`).join('');

export const pieceOn = square => board().querySelector(`[data-at="${square}"]`)?.innerHTML ?? '';

let drawn = ['', ''];
let filledNow = []; // the squares that are chosen

export function mark(under, over, chosen = []) {
  if (!board()) return;
  filledNow = chosen;
  const both = [filled(chosen) + under, over + cursorMark()];
  ['under', 'plan'].forEach((id, layer) => {
    const group = document.getElementById(id);
    if (group && (drawn[layer] !== both[layer] || !group.innerHTML)) group.innerHTML = both[layer];
  });
  drawn = both;
  for (const piece of board().querySelectorAll('[data-at]')) piece.classList.toggle('on', chosen.includes(piece.dataset.at));
}

// ---- taps, and keys for who does not tap ----

const ARROWS = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
let cursor = null;
const isHere = () => Boolean(cursor) && document.activeElement === board();
const cursorMark = () => (isHere() ? `<path class="cursor" id="at-${cursor}" role="button" aria-pressed="${filledNow.includes(cursor)}" aria-label="${wordsAt(cursor)}" d="${box(centre(cursor))}"/>` : '');

// A square for who does not see the board: its name, and what the board's text twin says of it.
function wordsAt(square) {
  const here = board().getAttribute('aria-label').split(', ').filter(words => words.split(/[ .]/).includes(square));
  return [square, ...here.map(words => words.replace(square, '').trim())].join(', ').replaceAll('"', '');
}

// `way` is the page's way of acting while taps are its; `wanted` answers the squares that mean something.
export function onTap(way, { tap, wanted = () => new Set(), paint }) {
  const isMine = () => page()?.querySelector(`[data-mode="${way}"]`) && board();
  document.addEventListener('click', event => {
    if (!isMine() || !board().contains(event.target)) return;
    const square = squareAt(event, wanted());
    if (square) tap(square);
  });
  document.addEventListener('keydown', event => {
    if (!isMine() || event.target !== board()) return;
    if (ARROWS[event.key]) {
      event.preventDefault();
      const [across, along] = ARROWS[event.key];
      const step = isTurned() ? [-across, -along] : [across, along];
      cursor = (cursor && shifted(cursor, step)) ?? cursor ?? wanted().values().next().value ?? 'a1';
      board().setAttribute('aria-description', cursor);
      paint();
      board().setAttribute('aria-activedescendant', `at-${cursor}`); // a new name each time: it is spoken
    } else if ((event.key === 'Enter' || event.key === ' ') && cursor) {
      event.preventDefault();
      if (!event.repeat) tap(cursor);
    }
  });
  const open = () => {
    if (!isMine()) return;
    board().setAttribute('tabindex', '0');
    board().setAttribute('role', 'application'); // its label stays the board in words
    if (isHere()) board().setAttribute('aria-activedescendant', `at-${cursor}`);
  };
  document.addEventListener('shown', open);
  open();
}

export function tell(head, more = '') {
  const line = document.getElementById('told');
  if (!line) return;
  line.replaceChildren(...(head ? [Object.assign(document.createElement('b'), { textContent: head })] : []), head ? more : line.dataset.hint);
}
