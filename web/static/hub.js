// The hub's host: how late spectators see what happens.
import { post } from './post.js';

const form = document.getElementById('delay');
form.addEventListener('submit', event => {
  event.preventDefault();
  post('/api/hub/delay', { seconds: Number(form.elements.seconds.value) });
});
