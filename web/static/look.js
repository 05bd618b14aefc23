// A look at what was sealed.
import { post } from './post.js';
import { icon, page } from './seat.js';

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
  else peek.querySelectorAll('span').forEach((slot, place) => slot.append(answer.orders[place].initial));
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
