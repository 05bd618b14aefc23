// The owner's pages of a table or a hub: options of a game, settings, the check of keys and lamps, and a hub's actions.
import { askFirst, post, request, root, say, showRefusal } from './page.js';

// ---- folds ----

// A fold opens if the address leads to it.
function unfold() {
  const fold = document.getElementById(location.hash.slice(1));
  if (fold?.matches('details')) fold.open = true;
}
addEventListener('hashchange', unfold);
unfold();

// ---- options of a game ----

// The options of a game, one row each. They are sent when the game starts, and the service remembers them.
if (document.getElementById('options')?.matches('form')) {
  const form = document.getElementById('options');

  function chosenOptions() {
    const options = {};
    for (const row of form.querySelectorAll('[data-option]')) {
      const choice = row.querySelector('input:checked');
      const text = row.querySelector('textarea');
      options[row.dataset.option] = 'ownText' in choice.dataset ? text.value.trim() : JSON.parse(choice.dataset.value);
    }
    return options;
  }

  // Show the text field of each row in which the owner's own text is chosen, such as a map.
  function showOwnTexts() {
    for (const row of form.querySelectorAll('[data-option]')) {
      row.classList.toggle('own', row.querySelector('[data-own-text]')?.checked ?? false);
    }
  }

  // Draw the board with the entered map, or say what is wrong with it.
  const PREVIEW_DELAY_MS = 400; // after the last typed letter
  let previewTimer = 0;

  async function preview() {
    const row = form.querySelector('.own .preview');
    if (!row) return;
    const answer = await request('/api/host/preview', { game: form.dataset.game, options: chosenOptions() });
    if (answer.ok) row.innerHTML = answer.svg;
    else row.textContent = answer.error.message;
    row.closest('.map').querySelector('textarea').setAttribute('aria-invalid', String(!answer.ok));
  }

  form.addEventListener('change', () => {
    showOwnTexts();
    preview();
  });
  form.addEventListener('input', () => {
    clearTimeout(previewTimer);
    previewTimer = setTimeout(preview, PREVIEW_DELAY_MS);
  });
  form.addEventListener('submit', event => {
    event.preventDefault();
    post('/api/host/new-game', { game: form.dataset.game, options: chosenOptions() });
  });
  // While a game is on, options cannot be chosen. The page has no key to start a game then.
  function lockOptions() {
    const isGameOn = !document.getElementById('start');
    document.getElementById('fixed').hidden = !isGameOn;
    for (const row of form.querySelectorAll('fieldset')) row.disabled = isGameOn;
  }
  document.addEventListener('shown', lockOptions);
  lockOptions();
  showOwnTexts();
  preview();
}

// ---- settings ----

// Each change on the settings page is saved at once. If a value is not valid, the reason appears beside its field.
if (document.getElementById('restore')) {
  const HEALTH_INTERVAL_MS = 500;
  const RESTART_TIMEOUT_MS = 60000;
  const settings = document.getElementById('settings');
  const backup = document.getElementById('backup');
  const note = document.getElementById('note');

  // Return the settings that a control changes, with their values. All controls in an element with data-together are sent together.
  function valuesOf(control) {
    if (control.dataset.values) return JSON.parse(control.dataset.values);
    const controls = control.closest('[data-together]')?.querySelectorAll('input') ?? [control];
    const values = {};
    for (const { name, type, checked, value } of controls) values[name] = type === 'checkbox' ? (checked ? 'yes' : 'no') : value;
    if (control.dataset.list !== undefined) {
      const ticked = settings.querySelectorAll(`[name="${control.name}"]:checked`);
      values[control.name] = [...ticked].map(box => box.value).join(' ');
    }
    return values;
  }

  settings.addEventListener('change', async ({ target }) => {
    if (target === backup) return;
    const values = valuesOf(target);
    if (Boolean(values['quiet.from']) !== Boolean(values['quiet.to'])) return; // only one of two times is entered yet
    const answer = await post('/api/settings/change', { values });
    const place = target.closest('.o, .line, td');
    place.querySelector('.bad')?.remove();
    target.setAttribute('aria-invalid', String(!answer.ok));
    if (answer.ok) note.textContent = answer.note;
    else place.append(Object.assign(document.createElement('b'), { className: 'bad', textContent: answer.error.message }));
    if (answer.ok && values['table.language']) location.reload();
    if (answer.ok && answer.note) reloadAfterRestart();
  });

  // Wait until the service has restarted, then load the page anew. It has restarted when its uptime is shorter than before.
  let uptimeS = -1;
  let isWaiting = false;
  async function reloadAfterRestart() {
    if (isWaiting) return;
    isWaiting = true;
    while (note.textContent) {
      try {
        const answer = await fetch(`${root}/health`, { cache: 'no-store' });
        const { uptime_s: newUptimeS } = await answer.json();
        if (newUptimeS < uptimeS) location.reload();
        uptimeS = newUptimeS;
      } catch { /* the service is down while it restarts */ }
      await new Promise(resolve => { setTimeout(resolve, HEALTH_INTERVAL_MS); });
    }
    isWaiting = false;
  }
  if (note.textContent) reloadAfterRestart();

  document.addEventListener('sure', async ({ target: key }) => {
    if (!key.closest('.waits')) return;
    key.disabled = true;
    const answer = await post('/api/settings/restart');
    if (!answer.ok) return;
    note.textContent = say('The companion is restarting. This page will come back by itself.');
    reloadAfterRestart();
    setTimeout(() => showRefusal(say('The companion has not come back: check its console.')), RESTART_TIMEOUT_MS);
  });

  // choose a backup to restore
  const chooseKey = document.getElementById('choose');
  chooseKey.addEventListener('click', () => backup.click());
  backup.addEventListener('change', () => {
    const isTooLarge = backup.files[0]?.size > backup.dataset.most;
    if (isTooLarge) showRefusal(backup.dataset.much);
    const { sure, yes, no } = backup.dataset;
    if (backup.files[0] && !isTooLarge) askFirst(chooseKey, { question: sure, yes, no }, () => backup.form.submit());
  });
}

// ---- the check of keys and lamps ----

// The check of the panel: pressed keys are marked on the page, and taps on the page switch lamps or play tones.
if (document.getElementById('begin')) {
  const beginKey = document.getElementById('begin');
  const endKey = document.getElementById('end');
  const sign = document.querySelector('#check-sign span');
  const idleSign = sign.innerHTML;
  let stream = null;

  const all = selector => [...document.querySelectorAll(selector)];

  function showSign(text, small = '') {
    const lines = [document.createTextNode(text)];
    if (small) lines.push(Object.assign(document.createElement('small'), { textContent: small }));
    sign.replaceChildren(...lines);
  }

  // Show the state of the check (`TrialJson` in web/rendering/answers.py).
  function show(trial) {
    for (const key of [...all('[data-lamp]'), ...all('[data-cue]')]) key.disabled = !trial.on;
    for (const lamp of all('[data-lamp]')) lamp.setAttribute('aria-pressed', String(trial.lit.includes(lamp.dataset.lamp)));
    for (const key of all('[data-key]')) {
      const isDown = trial.down.includes(key.dataset.key);
      const wasTried = trial.tried.includes(key.dataset.key);
      const result = wasTried ? say('works') : '';
      key.classList.toggle('down', isDown);
      key.classList.toggle('tried', wasTried);
      key.querySelector('[data-state]').textContent = isDown ? say('pressed') : result;
    }
    const activeParts = [...trial.down, ...trial.lit];
    for (const wire of all('[data-wire]')) wire.classList.toggle('on', activeParts.includes(wire.dataset.wire));
    if (!trial.on) {
      stop();
      return;
    }
    const untried = all('[data-key]').filter(key => !key.classList.contains('tried')).length;
    if (untried) showSign(say('Press every key'), say('{number} to go. Tap a lamp or a tone to try it.', { number: untried }));
    else showSign(say('Every key works'), say('Tap a lamp or a tone to try it.'));
  }

  function stop() {
    stream?.close();
    stream = null;
    beginKey.hidden = false;
    endKey.hidden = true;
    sign.innerHTML = idleSign;
    for (const key of all('[data-key]')) key.classList.remove('down');
    for (const wire of all('[data-wire]')) wire.classList.remove('on');
  }

  async function start() {
    const trial = await post('/api/check/begin');
    if (!trial.ok) return;
    beginKey.hidden = true;
    endKey.hidden = false;
    show(trial);
    stream = new EventSource(`${root}/live/check`);
    stream.addEventListener('trial', event => show(JSON.parse(event.data)));
    endKey.focus();
  }

  beginKey.addEventListener('click', start);
  endKey.addEventListener('click', async () => {
    await post('/api/check/end');
    stop();
    beginKey.focus();
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
}

// ---- the owner of a hub ----

// The delay for spectators, and settings for many tables.
if (document.getElementById('numbers')) {
  const form = document.getElementById('delay');
  form.addEventListener('submit', event => {
    event.preventDefault();
    post('/api/hub/delay', { seconds: Number(form.elements.seconds.value) });
  });

  const settings = document.getElementById('settings');
  const { setting, value, numbers } = settings.elements;
  function offerValues() {
    const choices = (setting.selectedOptions[0].dataset.choices || '').split(' ').filter(Boolean);
    document.getElementById('values').replaceChildren(...choices.map(choice => new Option(choice, choice)));
    value.value = '';
  }
  setting.addEventListener('change', offerValues);
  offerValues();
  settings.addEventListener('submit', event => {
    event.preventDefault();
    const tables = numbers.value.split(/\D+/).filter(Boolean).map(Number);
    post('/api/hub/settings', { numbers: tables, values: { [setting.value]: value.value } });
  });
}
