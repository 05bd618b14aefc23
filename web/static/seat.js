// A seat's page: what is handed in, with its receipt.
import { post, refuse } from './post.js';
import { say } from './say.js';

export const page = () => document.getElementById('live');
export const icon = drawing => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${drawing}"/></svg>`;

// Seal an action; answers whether it is in.
export async function handIn(action) {
  const { seat, moment } = page().dataset;
  const salt = [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('');
  const checking = import('./sha256.js');
  const answer = await post(`/api/seat/${seat}/hand-in`, { moment, action, salt });
  checking.then(({ sha256 }) => {
    if (answer.ok && answer.receipt !== sha256(`${moment} ${seat} ${action} ${salt}`)) refuse(say('The receipt does not fit your order: take it back'));
  }, () => {});
  return answer.ok;
}

document.addEventListener('submit', event => {
  if (event.target.id !== 'written') return;
  event.preventDefault();
  handIn(event.target.elements.action.value.trim());
});

// The tone of the own turn is not heard before the page is touched: browsers forbid it.
for (const touch of ['pointerdown', 'keydown']) document.addEventListener(touch, () => import('./turn.js').catch(() => {}), { once: true, passive: true });
