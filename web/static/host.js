// The host's options: gathered from the rows when the game is started.
import { post } from './post.js';

const form = document.getElementById('options');

function options() {
  const chosen = {};
  for (const row of form.querySelectorAll('[data-option]')) {
    const choice = row.querySelector('input:checked');
    const text = row.querySelector('textarea');
    chosen[row.dataset.option] = 'ownText' in choice.dataset ? text.value.trim() : JSON.parse(choice.dataset.value);
  }
  return chosen;
}

function showMaps() {
  for (const row of form.querySelectorAll('[data-option]')) {
    row.classList.toggle('own', row.querySelector('[data-own-text]')?.checked ?? false);
  }
}

form.addEventListener('change', showMaps);
document.addEventListener('click', event => {
  if (event.target.closest?.('#start')) post('/api/host/new-game', { game: form.dataset.game, options: options() });
});
showMaps();
