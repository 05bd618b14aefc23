// “What can I do now?”: a sheet over the keys of a seat's page, asked for when it is opened; sign and board stay.
import { post } from './post.js';

const SVG = 'http://www.w3.org/2000/svg';
const page = () => document.getElementById('live');
const sheet = () => document.getElementById('help');
const board = () => page().querySelector('.view .board');

// The squares it speaks of, in frames of their own: whoever draws on the board goes on meanwhile.
async function mark(squares) {
  document.getElementById('can')?.remove();
  if (!board() || !squares.length) return;
  const { frames } = await import('./squares.js');
  const group = Object.assign(document.createElementNS(SVG, 'g'), { id: 'can' });
  group.innerHTML = frames(squares);
  if (!sheet().hidden) board().append(group);
}

function close() {
  sheet().hidden = true;
  mark([]);
  document.querySelector('.ask')?.focus({ preventScroll: true });
}

async function open() {
  const { seat, moment } = page().dataset;
  const entered = [...document.querySelectorAll('#slots .slot')].map(each => each.dataset.letter ?? '').join('');
  const answer = await post(`/api/seat/${seat}/help`, { moment, entered });
  if (!answer.ok || !sheet()) return;
  sheet().innerHTML = answer.html;
  sheet().hidden = false;
  sheet().querySelector('h2').tabIndex = -1;
  sheet().querySelector('h2').focus({ preventScroll: true });
  mark(answer.squares);
}

document.addEventListener('click', event => {
  if (!event.target.closest?.('[data-help]') || !sheet()) return;
  if (sheet().hidden) open();
  else close();
});
document.addEventListener('keydown', event => {
  if (!sheet() || event.target.matches?.('input, textarea')) return;
  if (event.key === '?') open();
  else if (event.key === 'Escape' && !sheet().hidden) close();
});
document.addEventListener('shown', () => { if (sheet()?.hidden ?? true) mark([]); });
