// The settings page: begins the service anew and waits for it; warns before what was typed is lost.
import { post, refuse } from './post.js';
import { say } from './say.js';

const AGAIN_MS = 500;
const PATIENCE_MS = 60000;
const form = document.getElementById('settings');
let changed = false;

async function isThere() {
  try {
    await fetch('/health', { cache: 'no-store' });
    return true;
  } catch {
    return false;
  }
}

// It is gone for a moment first; then its pages are new ones.
function wait(since, wasGone) {
  setTimeout(async () => {
    const there = await isThere();
    if (there && (wasGone || performance.now() - since > 4000)) location.assign('/settings');
    else if (performance.now() - since > PATIENCE_MS) refuse(say('The companion has not come back: check its console.'));
    else wait(since, wasGone || !there);
  }, AGAIN_MS);
}

document.addEventListener('click', async event => {
  const key = event.target.closest?.('[data-restart]');
  if (!key) return;
  key.disabled = true;
  const answer = await post('/api/settings/restart');
  if (!answer.ok) return;
  key.closest('.waits').querySelector('p').textContent = say('The companion is restarting. This page will come back by itself.');
  wait(performance.now(), false);
});
form?.addEventListener('input', () => { changed = true; });
form?.addEventListener('submit', async event => {
  event.preventDefault(); // without a line the browser would show a page of its own, and what was typed would be gone
  if (await isThere()) {
    changed = false;
    form.submit();
  } else {
    refuse(say('No connection to the table: try again'));
    document.getElementById('said').scrollIntoView({ block: 'center' });
  }
});
// A line that is cut while a file is on its way shows the browser's own page.
document.getElementById('backup').addEventListener('change', ({ target }) => {
  target.setCustomValidity(target.files[0]?.size > target.dataset.most ? target.dataset.much : '');
  target.reportValidity();
});
addEventListener('beforeunload', event => { if (changed) event.preventDefault(); });
document.querySelector('[aria-invalid="true"]')?.focus();
import('./wait.js'); // the page has the rest first
