// A face-off: a card of the own hand, chosen in this browser, and the sum that it makes.
import { refuse } from './post.js';
import { say } from './say.js';
import { handIn } from './seat.js';
import { page, tell } from './squares.js';

const form = () => document.getElementById('duel');
let card = '';
let moment = '';

function paint() {
  if (!form()) return;
  if (moment !== page().dataset.moment) {
    moment = page().dataset.moment;
    card = '';
  }
  for (const key of document.querySelectorAll('[data-card]')) key.setAttribute('aria-pressed', String(key.dataset.card === card));
  const place = document.getElementById('mine');
  place.replaceChildren(Object.assign(document.createElement('span'), { textContent: card }));
  place.classList.toggle('open', !card);
  const commit = document.getElementById('commit');
  commit.className = card ? 'key go' : 'key off';
  commit.textContent = card ? say('Hand in {card}', { card }) : say('Hand in: choose a card');
  const strength = Number(form().dataset.strength);
  const written = number => String(number).replace('-', '−');
  const sum = { strength: written(strength), card, sum: written(strength + Number(card)) };
  tell(card ? say('{strength} with card {card} makes {sum}.', sum) : '', form().dataset.rule);
}

document.addEventListener('click', event => {
  const hit = form() && event.target.closest?.('.deal-keys [data-card], #commit');
  if (!hit) return;
  if (hit.dataset.card) {
    card = hit.dataset.card === card ? '' : hit.dataset.card;
    refuse('');
    paint();
  } else if (card) handIn(card);
  else refuse(say('Choose a card first'));
});

document.addEventListener('keydown', event => {
  const key = form() && !event.repeat && !event.target.matches?.('input, textarea') && form().querySelector(`[data-card="${CSS.escape(event.key)}"]`);
  if (key) key.click();
});

document.addEventListener('shown', paint);
paint();
