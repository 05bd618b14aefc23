// Checks receipts in the browser, so that nobody has to trust the table.
import { say } from './say.js';

const mark = fits => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${fits ? 'tick' : 'cross'}"/></svg>`;

document.addEventListener('click', async event => {
  const key = event.target.closest?.('[data-check]');
  if (!key) return;
  const { sha256 } = await import('./sha256.js');
  for (const proof of key.closest('.proofs').querySelectorAll('.proof')) {
    const fits = sha256(proof.dataset.text) === proof.dataset.receipt;
    proof.querySelector('.verdict').innerHTML = `${mark(fits)}${fits ? say('matches') : say('does not match')}`;
  }
});
