// Keys that ask the table for something (data-post; data-edge: at the touch, data-space: by the space bar too), and second
// keys that appear for a while (data-arm). Escape closes what is open (data-escape: on the table screen).
import { post } from './post.js';

const SECOND_MS = 4000;
const BOUNCE_MS = 300;

function reveal(id) {
  const second = document.getElementById(id);
  if (!second) return;
  second.hidden = false;
  second.focus({ preventScroll: true });
  setTimeout(() => hide(second), second.matches('button') ? SECOND_MS : 5 * SECOND_MS);
}

// The focus goes back to the first key.
function hide(second) {
  if (document.activeElement === second) document.querySelector(`[data-arm=${second.id}]`)?.focus();
  second.hidden = true;
}

function shut(menu) {
  menu.removeAttribute('open');
  menu.querySelector('summary').focus({ preventScroll: true });
}

// A finger that bounces must not end the next turn as well.
let moment = '';
let since = -Infinity;
function note() {
  const now = document.getElementById('live')?.dataset.moment ?? '';
  if (moment && now !== moment) since = performance.now();
  moment = now;
}
document.addEventListener('shown', note);
note();

async function ask(key) {
  if (key.dataset.busy !== undefined) return;
  if (key.dataset.edge !== undefined && performance.now() - since < BOUNCE_MS) return;
  key.dataset.busy = '';
  const menu = key.closest('details');
  const { post: url, body, then, refused } = key.dataset;
  const answer = await post(url, JSON.parse(body));
  delete key.dataset.busy;
  if (menu?.open) shut(menu); // it lies over what is refused, too
  if (answer.ok && then) location.assign(then);
  if (!answer.ok && answer.error?.kind === 'illegal' && refused) reveal(refused);
  if (answer.ok && 'second' in key.dataset) key.hidden = true;
}

document.addEventListener('click', event => {
  const key = event.target.closest?.('[data-post], [data-arm]');
  if (!key) return;
  if (key.dataset.arm) reveal(key.dataset.arm);
  // What ends a turn counts from the finger's touch; the click that follows it is not another one.
  else if (key.dataset.edge === undefined || event.detail === 0) ask(key);
});
document.addEventListener('pointerdown', event => {
  const key = event.target.closest?.('[data-post][data-edge]');
  if (key && event.button === 0) ask(key);
});
document.addEventListener('keydown', event => {
  const key = event.key === ' ' && document.querySelector('[data-space]');
  if (!key || event.target.matches?.('input, textarea, summary')) return;
  event.preventDefault();
  if (!event.repeat) ask(key);
});

document.addEventListener('keydown', event => {
  if (event.key !== 'Escape') return;
  const second = document.querySelector('button[data-second]:not([hidden])');
  const menu = document.querySelector('details[open]');
  if (second) hide(second);
  else if (menu) shut(menu);
  else document.querySelector('[data-escape]')?.click();
});
// An open menu closes before the focus goes behind it.
document.addEventListener('focusin', ({ target }) => {
  if (!target.closest('.menu')) document.querySelector('.menu[open]')?.removeAttribute('open');
});
