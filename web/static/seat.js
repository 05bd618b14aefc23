// A seat's page: what is handed in, with its receipt.
import { post, refuse } from './post.js';
import { say } from './say.js';

const SHOWN_MS = 300; // what is sealed is shown first, then its receipt is checked
let unheard = {}; // an order of which the table has said nothing: the same once more is this one, with its salt

export const page = () => document.getElementById('live');
export const icon = drawing => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${drawing}"/></svg>`;

async function check(receipt, text) {
  const { sha256 } = await import('./sha256.js').catch(() => ({}));
  if (sha256 && receipt !== sha256(text)) refuse(say('The receipt does not match your order: take it back'));
}

const drawn = () => [...crypto.getRandomValues(new Uint8Array(16))].map(n => n.toString(16).padStart(2, '0')).join('');

// Seal an action; answers whether it is in.
export async function handIn(action) {
  const { seat, moment } = page().dataset;
  const order = `${moment} ${seat} ${action}`;
  if (unheard.order !== order) unheard = { order, salt: drawn() };
  const { salt } = unheard;
  const key = document.getElementById('hand-in');
  key?.setAttribute('data-busy', '');
  const answer = await post(`/api/seat/${seat}/hand-in`, { moment, action, salt });
  key?.removeAttribute('data-busy');
  if (answer.status && answer.status < 500) unheard = {};
  // A press that waits until the board lies still has none yet.
  if (answer.receipt) setTimeout(() => check(answer.receipt, `${order} ${salt}`), SHOWN_MS);
  return answer.ok;
}

// What was taken back is another order when it is handed in again: its receipt must not say that it is the same.
document.addEventListener('click', event => {
  if (event.target.closest?.('[data-post$="/take-back"]')) unheard = {};
});

document.addEventListener('submit', event => {
  if (event.target.id !== 'written') return;
  event.preventDefault();
  handIn(event.target.elements.action.value.trim());
});

// What tells of the own turn, and what a sealed order needs, comes while nothing else is to do, so that no touch waits
// for it: scripts, and the receipt's type, whose first letters take a phone long to find. Safari has no idle callback.
(globalThis.requestIdleCallback ?? setTimeout)(() => {
  for (const later of ['turn', 'look', 'sha256']) import(`./${later}.js`).catch(() => {});
  const pen = document.createElement('canvas').getContext('2d');
  if (!pen) return;
  pen.font = `18px ${getComputedStyle(document.body).getPropertyValue('--mono')}`;
  pen.measureText('0123456789abcdef');
});

// A rematch leads to the other seat's page: whoever pressed it by keyboard goes on at its sign.
addEventListener('pagehide', () => { sessionStorage.again = document.activeElement.matches('.rematch:focus-visible') || ''; });
if (sessionStorage.again) document.querySelector('.sign')?.focus();
