// Pages of who owns the table or the hub: options, settings, the check of the panel, the hub's host.
import { askFirst, post, refuse, root, say } from './page.js';

// ---- folds ----

// What an address leads to is open.
function unfold() {
  const fold = document.getElementById(location.hash.slice(1));
  if (fold?.matches('details')) fold.open = true;
}
addEventListener('hashchange', unfold);
unfold();

// ---- options of a game ----

// The host's options: gathered from the rows when the game is started; the service remembers them.
if (document.getElementById('options')?.matches('form')) {
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
}

// ---- settings ----

// The settings page: what is chosen or typed is saved at once, and told beside its field where it is not right.
if (document.getElementById('restore')) {
  const AGAIN_MS = 500;
  const PATIENCE_MS = 60000;
  const all = document.getElementById('settings');
  const backup = document.getElementById('backup');
  const note = document.getElementById('note');

  // What a control gives to which settings, with those that belong to it.
  function valuesOf(control) {
    if (control.dataset.values) return JSON.parse(control.dataset.values);
    const together = control.closest('[data-together]')?.querySelectorAll('input') ?? [control];
    const values = {};
    for (const { name, type, checked, value } of together) values[name] = type === 'checkbox' ? (checked ? 'yes' : 'no') : value;
    if (control.dataset.list !== undefined) {
      const ticked = all.querySelectorAll(`[name="${control.name}"]:checked`);
      values[control.name] = [...ticked].map(each => each.value).join(' ');
    }
    return values;
  }

  all.addEventListener('change', async ({ target }) => {
    if (target === backup) return;
    const values = valuesOf(target);
    if (Boolean(values['quiet.from']) !== Boolean(values['quiet.to'])) return; // one of two times is not typed yet
    const answer = await post('/api/settings/change', { values });
    const place = target.closest('.o, .line, td');
    place.querySelector('.bad')?.remove();
    target.setAttribute('aria-invalid', String(!answer.ok));
    if (answer.ok) note.textContent = answer.note;
    else place.append(Object.assign(document.createElement('b'), { className: 'bad', textContent: answer.error?.message ?? document.getElementById('said').textContent }));
    if (answer.ok && values['table.language']) location.reload();
    if (answer.ok && answer.note) follow();
  });

  // The companion begins anew by itself: then this page is a new one.
  let upS = -1;
  let isFollowing = false;
  async function follow() {
    if (isFollowing) return;
    isFollowing = true;
    while (note.textContent) {
      try {
        const { uptime_s: nowS } = await (await fetch(`${root}/health`, { cache: 'no-store' })).json();
        if (nowS < upS) location.reload();
        upS = nowS;
      } catch { /* it is gone for a moment */ }
      await new Promise(done => { setTimeout(done, AGAIN_MS); });
    }
    isFollowing = false;
  }
  if (note.textContent) follow();

  document.addEventListener('sure', async ({ target: key }) => {
    if (!key.closest('.waits')) return;
    key.disabled = true;
    const answer = await post('/api/settings/restart');
    if (!answer.ok) return;
    note.textContent = say('The companion is restarting. This page will come back by itself.');
    follow();
    setTimeout(() => refuse(say('The companion has not come back: check its console.')), PATIENCE_MS);
  });

  const choose = document.getElementById('choose');
  choose.addEventListener('click', () => backup.click());
  backup.addEventListener('change', () => {
    const isLarge = backup.files[0]?.size > backup.dataset.most;
    if (isLarge) refuse(backup.dataset.much);
    const { sure, yes, no } = backup.dataset;
    if (backup.files[0] && !isLarge) askFirst(choose, { question: sure, yes, no }, () => backup.form.submit());
  });
}

// ---- the panel ----

// The check of the panel: what is pressed lights up here, what is tapped here lights up there.
if (document.getElementById('begin')) {
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
    stream = new EventSource(`${root}/live/check`);
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
}

// ---- the hub's host ----

// The hub's host: how late spectators see what happens, and settings for many tables.
if (document.getElementById('numbers')) {
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
}
