// The hub's host: how late spectators see what happens, and settings for many tables.
import { post } from './post.js';

const form = document.getElementById('delay');
form.addEventListener('submit', event => {
  event.preventDefault();
  post('/api/hub/delay', { seconds: Number(form.elements.seconds.value) });
});

const settings = document.getElementById('settings');
const { setting, value, numbers } = settings.elements;
function choices() {
  const given = (setting.selectedOptions[0].dataset.choices || '').split(' ').filter(Boolean);
  document.getElementById('values').replaceChildren(...given.map(each => new Option(each, each)));
  value.value = '';
}
setting.addEventListener('change', choices);
choices();
settings.addEventListener('submit', event => {
  event.preventDefault();
  const wanted = numbers.value.split(/\D+/).filter(Boolean).map(Number);
  post('/api/hub/settings', { numbers: wanted, values: { [setting.value]: value.value } });
});
