// A seat's page: what is handed in, with its receipt, and the look at what was sealed.
import { post, refuse } from './post.js';
import { say } from './say.js';
import { sha256 } from './sha256.js';

export const page = () => document.getElementById('live');
export const icon = drawing => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${drawing}"/></svg>`;

// Seal an action; answers whether it is in.
export async function handIn(action) {
  const { seat, moment } = page().dataset;
  const salt = [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('');
  const answer = await post(`/api/seat/${seat}/hand-in`, { moment, action, salt });
  if (answer.ok && answer.receipt !== sha256(`${moment} ${seat} ${action} ${salt}`)) refuse(say('The receipt does not fit your order: take it back'));
  return answer.ok;
}

document.addEventListener('submit', event => {
  if (event.target.id !== 'written') return;
  event.preventDefault();
  handIn(event.target.elements.action.value.trim());
});

// Look again: the order comes when the key is held, and goes with it.
let holds = false;

async function look() {
  holds = true;
  const answer = await post(`/api/seat/${page().dataset.seat}/mine`);
  const shutter = document.getElementById('shutter');
  if (!holds || !answer.ok || !shutter || !answer.action) return;
  const peek = document.createElement('div');
  peek.className = 'peek';
  peek.innerHTML = answer.orders.map(order => `<span>${icon(order.drawing)}</span>`).join('');
  if (answer.orders.length === 0) peek.textContent = answer.action;
  else peek.querySelectorAll('span').forEach((slot, place) => slot.append(answer.orders[place].letter));
  shutter.append(peek);
}

function hide() {
  holds = false;
  document.querySelectorAll('.peek').forEach(peek => peek.remove());
}

const isLook = event => event.target.closest?.('#look');
document.addEventListener('pointerdown', event => {
  if (!isLook(event)) return;
  event.target.setPointerCapture?.(event.pointerId);
  look();
});
document.addEventListener('keydown', event => {
  if (isLook(event) && !event.repeat && (event.key === ' ' || event.key === 'Enter')) look();
});
for (const end of ['pointerup', 'pointercancel', 'keyup', 'visibilitychange']) document.addEventListener(end, hide);
for (const end of ['blur', 'pagehide']) addEventListener(end, hide);
document.addEventListener('contextmenu', event => { if (isLook(event)) event.preventDefault(); });
