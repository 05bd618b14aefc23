// The check of the panel: what is pressed lights up here, what is tapped here lights up there.
import { post } from './post.js';
import { say } from './say.js';

const begin = document.getElementById('begin');
const end = document.getElementById('end');
const sign = document.querySelector('#check-sign span');
const before = sign.innerHTML;
let stream = null;

const all = selector => [...document.querySelectorAll(selector)];

function tell(text, small = '') {
  const lines = [document.createTextNode(text)];
  if (small) lines.push(Object.assign(document.createElement('small'), { textContent: small }));
  sign.replaceChildren(...lines);
}

function show(trial) {
  for (const key of [...all('[data-lamp]'), ...all('[data-cue]')]) key.disabled = !trial.on;
  for (const lamp of all('[data-lamp]')) lamp.setAttribute('aria-pressed', String(trial.lit.includes(lamp.dataset.lamp)));
  for (const key of all('[data-key]')) {
    const down = trial.down.includes(key.dataset.key);
    const tried = trial.tried.includes(key.dataset.key);
    key.classList.toggle('down', down);
    key.classList.toggle('tried', tried);
    key.querySelector('[data-state]').textContent = down ? say('pressed') : tried ? say('works') : '';
  }
  const live = [...trial.down, ...trial.lit];
  for (const wire of all('[data-wire]')) wire.classList.toggle('on', live.includes(wire.dataset.wire));
  if (!trial.on) {
    stop();
    return;
  }
  const left = all('[data-key]').filter(key => !key.classList.contains('tried')).length;
  tell(left ? say('Press every key') : say('Every key works'), left ? say('{number} to go. Tap a lamp or a tone to try it.', { number: left }) : say('Tap a lamp or a tone to try it.'));
}

function stop() {
  stream?.close();
  stream = null;
  begin.hidden = false;
  end.hidden = true;
  sign.innerHTML = before;
  for (const key of all('[data-key]')) key.classList.remove('down');
  for (const wire of all('[data-wire]')) wire.classList.remove('on');
}

async function start() {
  const trial = await post('/api/check/begin');
  if (!trial.ok) return;
  begin.hidden = true;
  end.hidden = false;
  show(trial);
  stream = new EventSource('/live/check');
  stream.addEventListener('trial', event => show(JSON.parse(event.data)));
  end.focus();
}

begin.addEventListener('click', start);
end.addEventListener('click', async () => {
  await post('/api/check/end');
  stop();
  begin.focus();
});
document.addEventListener('click', async event => {
  const key = event.target.closest?.('[data-lamp], [data-cue]');
  if (!key) return;
  const { lamp, cue } = key.dataset;
  const answer = lamp
    ? await post('/api/check/light', { lamp, on: key.getAttribute('aria-pressed') !== 'true' })
    : await post('/api/check/play', { cue });
  if (answer.ok) show(answer);
});
addEventListener('pagehide', () => {
  if (stream) post('/api/check/end');
  stop();
});
