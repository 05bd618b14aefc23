// The host's options: gathered from the rows when the game is started; the service remembers them.
import { post, refuse } from './post.js';

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

// The board as it would be, or what is wrong with the map.
const LATER_MS = 400;
let later = 0;

async function preview() {
  const row = form.querySelector('.own .preview');
  if (!row) return;
  const answer = await post('/api/host/preview', { game: form.dataset.game, options: options() });
  if (answer.ok) row.innerHTML = answer.svg;
  else row.textContent = answer.error?.message ?? '';
  row.closest('.map').querySelector('textarea').setAttribute('aria-invalid', String(!answer.ok));
  refuse('');
}

form.addEventListener('change', () => {
  showMaps();
  preview();
});
form.addEventListener('input', () => {
  clearTimeout(later);
  later = setTimeout(preview, LATER_MS);
});
form.addEventListener('submit', event => {
  event.preventDefault();
  post('/api/host/new-game', { game: form.dataset.game, options: options() });
});
// While a game is played nothing here can be chosen: the key that starts one is not there.
function fix() {
  const isOn = !document.getElementById('start');
  document.getElementById('fixed').hidden = !isOn;
  for (const row of form.querySelectorAll('fieldset')) row.disabled = isOn;
}
document.addEventListener('shown', fix);
fix();
showMaps();
preview();
