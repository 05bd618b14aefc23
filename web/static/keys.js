// Keys that ask the table for something (data-post), and second keys that appear for four seconds (data-arm).
import { post } from './post.js';

const SECOND_MS = 4000;

function reveal(id) {
  const second = document.getElementById(id);
  if (!second) return;
  second.hidden = false;
  second.focus({ preventScroll: true });
  setTimeout(() => { second.hidden = true; }, second.matches('button') ? SECOND_MS : 5 * SECOND_MS);
}

document.addEventListener('click', async event => {
  const key = event.target.closest?.('[data-post], [data-arm]');
  if (!key) return;
  if (key.dataset.arm) {
    reveal(key.dataset.arm);
    return;
  }
  if (key.dataset.busy !== undefined) return;
  key.dataset.busy = '';
  const menu = key.closest('details');
  const { post: url, body, then, refused } = key.dataset;
  const answer = await post(url, JSON.parse(body));
  delete key.dataset.busy;
  if (answer.ok && then) location.assign(then);
  if (!answer.ok && answer.error?.kind === 'illegal' && refused) reveal(refused);
  if (answer.ok && 'second' in key.dataset) key.hidden = true;
  if (answer.ok) menu?.removeAttribute('open');
});

document.addEventListener('keydown', event => {
  const menu = document.querySelector('details[open]');
  if (event.key === 'Escape' && menu) {
    menu.removeAttribute('open');
    menu.querySelector('summary').focus();
  }
});
