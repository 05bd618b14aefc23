// The squares of a seat's board: where each is drawn, which one a tap means, marks over and under the pieces, and how the board
// is used by keyboard. Units of the drawing: a square is 100 wide, x points to the right and y down. Points are [x, y].
export const page = () => document.getElementById('live');
export const board = () => page()?.querySelector('.view .board');

const GOAL_RANK = -0.68; // centre of the goal behind the first rank, in ranks (board.py draws it 36 units deep)
const FINGER_REACH = 0.8; // how far a tap may be from the centre of the square that it means, in squares

// The board's shape, from `data-grid` (see `board_svg` in web/rendering/board.py). `pitch` is the distance between the centres
// of neighbours, and `turned` means that North sits at the bottom.
function grid() {
  const [files, ranks, pitch, turned] = board().dataset.grid.split(' ').map(Number);
  return { files, ranks, pitch, turned: Boolean(turned) };
}

const nameOf = (file, rank) => `${String.fromCharCode(97 + file)}${rank + 1}`;
// Return file and rank of a square, counted from 0: [2, 3] for c4.
export const indices = square => [square.charCodeAt(0) - 97, Number(square.slice(1)) - 1];
export const isTurned = () => grid().turned;

// Return the centre of a square. A rank before the first or behind the last one is the goal there.
export function centre(square) {
  const [file, rankOrGoal] = indices(square);
  const { files, ranks, pitch, turned } = grid();
  const rank = Math.min(Math.max(rankOrGoal, GOAL_RANK), ranks - 1 - GOAL_RANK);
  const [column, row] = turned ? [files - 1 - file, rank] : [file, ranks - 1 - rank];
  return [column * pitch + 50, row * pitch + 50];
}

// Return the square some files and ranks away, or null if that is not on the board.
export function shifted(square, [fileStep, rankStep]) {
  const [file, rank] = indices(square);
  const { files, ranks } = grid();
  const [newFile, newRank] = [file + fileStep, rank + rankStep];
  return newFile >= 0 && newFile < files && newRank >= 0 && newRank < ranks ? nameOf(newFile, newRank) : null;
}

// Return the square under a pointer, or one of `tappable` if the finger is just beside it.
function squareAt(event, tappable) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(board().getScreenCTM().inverse());
  const { files, ranks, pitch, turned } = grid();
  let column = Math.floor(point.x / pitch);
  let row = Math.floor(point.y / pitch);
  const isOnBoard = column >= 0 && column < files && row >= 0 && row < ranks;
  if (turned) column = files - 1 - column;
  else row = ranks - 1 - row;
  const hit = isOnBoard || tappable?.has(nameOf(column, row)) ? nameOf(column, row) : null;
  if (!tappable || !tappable.size || tappable.has(hit)) return hit;
  const distance = square => Math.hypot(centre(square)[0] - point.x, centre(square)[1] - point.y);
  const nearest = [...tappable].reduce((best, square) => (distance(square) < distance(best) ? square : best));
  return distance(nearest) < FINGER_REACH * pitch ? nearest : hit;
}

// ---- marks, as SVG ----

// Return a drawing of the page's sprite, centred on a point.
export function useSvg(drawing, [x, y], size, classes = '', degrees = 0) {
  const place = `x="${x - size / 2}" y="${y - size / 2}" width="${size}" height="${size}"`;
  const rotation = degrees ? ` transform="rotate(${degrees} ${x} ${y})"` : '';
  return `<use href="#${drawing}" ${place} class="${classes}"${rotation}/>`;
}

const outlinePath = ([x, y]) => `M${x - 50} ${y - 50}h100v100h-100z`;
export const framesSvg = squares => (squares.length ? `<path class="may" d="${squares.map(square => outlinePath(centre(square))).join('')}"/>` : '');
// A dot marks a free square where a piece may go. The style sheet makes it 12 px wide on every screen.
export const dotsSvg = squares => (squares.length ? `<path class="dots" d="${squares.map(square => `M${centre(square).join(' ')}h.01`).join('')}"/>` : '');

// Return a cased arrow along the centres of squares. It begins and ends a little outside the centres.
export function arrowSvg(squares) {
  const points = squares.map(centre);
  // return a point on the line between two points, some units before the second point
  const before = (from, to, units) => {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    return [0, 1].map(axis => to[axis] - (to[axis] - from[axis]) * units / length);
  };
  const [previous, last] = points.slice(-2);
  const tip = before(previous, last, 36);
  const neck = before(previous, last, 58);
  const [headX, headY] = [0, 1].map(axis => (tip[axis] - neck[axis]) * 0.64);
  const line = [before(points[1], points[0], 36), ...points.slice(1, -1), neck];
  const path = `M${line.map(point => point.map(Math.round).join(' ')).join('L')}`;
  const head = `M${tip.join(' ')}L${neck[0] - headY} ${neck[1] + headX}L${neck[0] + headY} ${neck[1] - headX}z`;
  return `<g class="way"><path class="case" d="${path}"/><path class="case head" d="${head}"/><path d="${path}"/><path class="head" d="${head}"/></g>`;
}

export const targetSvg = square => `<path class="target" d="${outlinePath(centre(square))}"/>`;
const filledSvg = squares => squares.map(square => `<path class="chosen" d="${outlinePath(centre(square))}"/>`).join('');

// Return the drawing of the piece on a square, empty for a free square.
export const pieceOn = square => board().querySelector(`[data-at="${square}"]`)?.innerHTML ?? '';

let drawnLayers = ['', ''];
let chosenSquares = [];

// Draw SVG under and over the pieces, and fill the chosen squares.
export function drawMarks(under, over, chosen = []) {
  if (!board()) return;
  chosenSquares = chosen;
  const layers = [filledSvg(chosen) + under, over + cursorSvg()];
  ['under', 'plan'].forEach((id, number) => {
    const group = document.getElementById(id);
    if (group && (drawnLayers[number] !== layers[number] || !group.innerHTML)) group.innerHTML = layers[number];
  });
  drawnLayers = layers;
  for (const piece of board().querySelectorAll('[data-at]')) piece.classList.toggle('on', chosen.includes(piece.dataset.at));
}

// ---- the board by touch and by keyboard ----

const ARROW_STEPS = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
let cursor = null; // the square that the arrow keys have reached, null before the first of them
const isCursorShown = () => Boolean(cursor) && document.activeElement === board();
function cursorSvg() {
  if (!isCursorShown()) return '';
  const words = `aria-pressed="${chosenSquares.includes(cursor)}" aria-label="${squareWords(cursor)}"`;
  return `<path class="cursor" id="at-${cursor}" role="button" ${words} d="${outlinePath(centre(cursor))}"/>`;
}

// Describe a square for a screen reader: its name, and what the board's description says about it.
function squareWords(square) {
  const parts = board().getAttribute('aria-label').split(', ').filter(words => words.split(/[ .]/).includes(square));
  return [square, ...parts.map(words => words.replace(square, '').trim())].join(', ').replaceAll('"', '');
}

// Handle taps on the board by finger and by keyboard, while the page has an element with this `data-mode`. `tap` gets the square,
// `tappable` returns the squares on which a tap has an effect, and `paint` draws the marks again.
export function onTap(mode, { tap, tappable = () => new Set(), paint }) {
  const isActive = () => page()?.querySelector(`[data-mode="${mode}"]`) && board();
  document.addEventListener('click', event => {
    if (!isActive() || !board().contains(event.target)) return;
    const square = squareAt(event, tappable());
    if (square) tap(square);
  });
  document.addEventListener('keydown', event => {
    if (!isActive() || event.target !== board()) return;
    if (ARROW_STEPS[event.key]) {
      event.preventDefault();
      const [right, up] = ARROW_STEPS[event.key];
      const step = isTurned() ? [-right, -up] : [right, up];
      cursor = (cursor && shifted(cursor, step)) ?? cursor ?? tappable().values().next().value ?? 'a1';
      board().setAttribute('aria-description', cursor);
      paint();
      board().setAttribute('aria-activedescendant', `at-${cursor}`); // a new id each time, so that screen readers speak it
    } else if ((event.key === 'Enter' || event.key === ' ') && cursor) {
      event.preventDefault();
      if (!event.repeat) tap(cursor);
    }
  });
  const makeFocusable = () => {
    if (!isActive()) return;
    board().setAttribute('tabindex', '0');
    board().setAttribute('role', 'application'); // arrow keys reach this script, and not the screen reader
    if (isCursorShown()) board().setAttribute('aria-activedescendant', `at-${cursor}`);
  };
  document.addEventListener('shown', makeFocusable);
  makeFocusable();
}

// Write the line beside the board: `head` in bold type, then the rest. Without a `head` the line shows its hint.
export function writeLine(head, rest = '') {
  const line = document.getElementById('told');
  if (!line) return;
  line.replaceChildren(...(head ? [Object.assign(document.createElement('b'), { textContent: head })] : []), head ? rest : line.dataset.hint);
}
