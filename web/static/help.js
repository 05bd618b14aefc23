// “What can I do now?”: a sheet over the keys of a seat's page, asked for when it is opened; sign and board stay.
import { post } from './post.js';
import { say } from './say.js';

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

// The coach's answer, for as long as the sheet is open; the keys rest while it thinks.
async function advise(key) {
  const advice = sheet().querySelector('#advice');
  const { seat, moment } = page().dataset;
  const keys = sheet().querySelectorAll('[data-coach]');
  advice.textContent = key.dataset.coach === 'theirs' ? '' : advice.dataset.wait;
  for (const each of keys) each.disabled = true;
  const answer = await post(`/api/seat/${seat}/coach`, { moment, about: key.dataset.coach }, 60);
  for (const each of keys) each.disabled = false;
  if (answer.ok) advice.innerHTML = answer.html;
  else advice.textContent = answer.error?.message ?? say('No connection to the table: try again');
}

document.addEventListener('click', event => {
  const key = event.target.closest?.('[data-coach]');
  if (key) return void advise(key);
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
