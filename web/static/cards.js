// A hand of cards, and open cards tapped in.
import { forget, post, recall, refuse, remember, say, sayN } from './page.js';
import { page } from './squares.js';

// ---- the hand ----

// A hand of cards: what is tapped stays in this browser until it is exactly one legal action; then it is handed in.
{
  const all = selector => [...document.querySelectorAll(selector)];
  let chosen = {}; // card, lane, key
  let moment = '';
  let read = { text: null, choices: [] };

  function choices() {
    const text = document.getElementById('picks')?.dataset.choices ?? '[]';
    if (text !== read.text) {
      read = { text, choices: JSON.parse(text).map(([action, key, card, lane]) => ({ action, key, card, lane })) };
    }
    return read.choices;
  }

  // Does a choice agree with what is tapped, as far as it needs it?
  const fits = (choice, picked) => (!picked.key || choice.key === picked.key)
    && (!picked.card || choice.card === null || choice.card === picked.card)
    && (picked.lane === undefined || choice.lane === null || choice.lane === picked.lane);
  const needs = (choice, picked) => [
    ...(choice.card !== null && choice.card !== picked.card ? ['card'] : []),
    ...(choice.lane !== null && choice.lane !== picked.lane ? ['lane'] : []),
  ];
  const keyOf = name => all('.pick').find(key => key.dataset.key === name);
  const inOrder = (one, other) => all('.pick').indexOf(keyOf(one.key)) - all('.pick').indexOf(keyOf(other.key));

  // The ways of a card, in the order of the keys: the first is meant unless another one was chosen.
  function waysOf(picked) {
    const found = choices().filter(each => each.card === picked.card && fits(each, { ...picked, key: null }));
    return [...new Set(found.sort(inOrder).map(each => each.key))];
  }

  // What a lane alone means, where no card can be played and lanes are good for one thing only: with an empty hand, to draw.
  function wayOfLanes() {
    const found = choices().filter(each => each.lane !== null);
    const keys = new Set(found.map(each => each.key));
    return keys.size === 1 && found.every(each => each.card === null) ? [...keys][0] : null;
  }

  function complete(picked) {
    const way = picked.lane === undefined ? null : picked.card ? waysOf(picked)[0] : wayOfLanes();
    const key = picked.key ?? way;
    if (!key) return null;
    const found = choices().filter(each => each.key === key && fits(each, picked) && !needs(each, picked).length);
    return found.length === 1 ? found[0] : null;
  }

  async function act(choice) {
    chosen = {};
    paint();
    const { seat } = page().dataset;
    await post(`/api/seat/${seat}/hand-in`, { moment, action: choice.action });
  }

  function choose(picked) {
    chosen = picked;
    const choice = complete(picked);
    if (choice) act(choice);
    else {
      refuse(missing(picked));
      paint();
    }
  }

  // Why nothing of what is tapped can be done; empty while it still can.
  function missing(picked) {
    if (!picked.key && !picked.card) return '';
    if (choices().some(each => fits(each, picked) && (!picked.card || each.card === picked.card))) return '';
    const key = keyOf(picked.key ?? waysOf({ card: picked.card })[0]);
    return key?.dataset.hint || say('That cannot be done now');
  }

  function tapCard(card) {
    if (!choices().some(each => each.card === card)) return;
    if (chosen.card !== card) {
      const key = choices().some(each => each.card === card && each.key === chosen.key) ? chosen.key : undefined;
      choose({ ...chosen, card, key });
      return;
    }
    const ways = waysOf({ card, lane: chosen.lane });
    if (ways.length < 2) {
      chosen = {};
      paint();
      return;
    }
    const next = ways[(ways.indexOf(chosen.key ?? ways[0]) + 1) % ways.length];
    choose({ ...chosen, key: next });
  }

  function tapLane(lane) {
    const same = chosen.lane === lane && !chosen.card && !chosen.key;
    choose({ ...chosen, lane: same ? undefined : lane });
  }

  function tapKey(key) {
    const found = choices().filter(each => each.key === key);
    if (!found.length) {
      refuse(keyOf(key).dataset.hint || say('That cannot be done now'));
      return;
    }
    if (chosen.key === key) {
      choose({ ...chosen, key: undefined });
      return;
    }
    const card = found.some(each => each.card === chosen.card) ? chosen.card : undefined;
    const lane = found.some(each => each.lane === chosen.lane) ? chosen.lane : undefined;
    choose({ key, card, lane });
  }

  // ---- what it looks like ----

  function label(key) {
    const found = choices().filter(each => each.key === key.dataset.key);
    const isOff = !found.some(each => fits(each, { card: chosen.card, lane: chosen.lane }));
    key.classList.toggle('off', isOff);
    const way = chosen.card ? chosen.key ?? waysOf(chosen)[0] : chosen.key;
    key.setAttribute('aria-pressed', String(!isOff && key.dataset.key === way));
  }

  function words() {
    const place = document.getElementById('told');
    if (!choices().length) return;
    const lane = all('.ln[data-lane]').find(each => each.dataset.lane === chosen.lane);
    const card = all('.card').find(each => each.dataset.card === chosen.card);
    const ways = chosen.card ? waysOf(chosen) : [];
    const key = keyOf(chosen.key ?? ways[0]);
    const what = [card?.dataset.shown, lane && say('Lane {lane}', { lane: chosen.lane })].filter(Boolean).join(', ');
    const head = what && key ? say('{option}: {choice}', { option: what, choice: key.dataset.label.toLowerCase() }) : what || key?.dataset.label;
    const next = ways.find(way => way !== key?.dataset.key);
    const wantsLane = key && (card || !choices().some(each => each.key === key.dataset.key && each.card));
    const more = lane && !key ? lane.dataset.words
      : next ? say('Tap a lane. Again: {key}.', { key: keyOf(next).dataset.label.toLowerCase() })
        : wantsLane ? say('Tap a lane.') : key ? say('Tap a card.')
          : wayOfLanes() ? say('Tap a lane: {key}.', { key: keyOf(wayOfLanes()).dataset.label.toLowerCase() }) : place.dataset.hint;
    place.replaceChildren();
    if (head) place.append(Object.assign(document.createElement('b'), { textContent: head }));
    place.append(more);
  }

  // Lanes in words, then as they are written there; under the shutter, as everybody sees them.
  function nameLanes() {
    const isCovered = document.documentElement.classList.contains('covered');
    for (const lane of all('.ln[data-lane]')) {
      const { lane: name, open, words: own } = lane.dataset;
      const written = lane.textContent.trim().replace(/\s+/g, ' ');
      lane.setAttribute('aria-label', say('{option}: {choice}', { option: say('Lane {lane}', { lane: name }), choice: isCovered ? open : `${own} ${written}` }));
    }
  }

  function paint() {
    if (page().dataset.moment !== moment) {
      moment = page().dataset.moment;
      chosen = {};
    }
    nameLanes();
    if (!document.getElementById('picks')) return;
    const open = choices();
    for (const card of all('.card')) {
      const name = card.dataset.card;
      card.classList.toggle('on', chosen.card === name);
      card.setAttribute('aria-pressed', String(chosen.card === name));
      const possible = open.some(each => each.card === name && fits(each, { key: chosen.key, lane: chosen.lane }));
      card.classList.toggle('dim', open.length > 0 && !possible);
    }
    for (const lane of all('.ln[data-lane]')) {
      const name = lane.dataset.lane;
      lane.classList.toggle('on', chosen.lane === name);
      lane.setAttribute('aria-pressed', String(chosen.lane === name));
      const possible = open.filter(each => each.lane === name && fits(each, { ...chosen, lane: name }));
      const hasCard = !chosen.card || possible.some(each => each.card === chosen.card);
      lane.classList.toggle('dim', open.length > 0 && (!possible.length || !hasCard));
    }
    all('.pick').forEach(label);
    words();
  }

  document.addEventListener('click', event => {
    const hit = event.target.closest?.('.card[data-card], .ln[data-lane], .pick');
    if (!hit) return;
    if (hit.dataset.card) tapCard(hit.dataset.card);
    else if (hit.dataset.lane) tapLane(hit.dataset.lane);
    else tapKey(hit.dataset.key);
  });

  function drop() {
    chosen = {};
    paint();
  }
  document.addEventListener('keydown', event => { if (event.key === 'Escape') drop(); });
  document.addEventListener('uncovered', paint);
  document.addEventListener('covered', drop); // what is half chosen would tell of the hand

  document.addEventListener('shown', paint);
  paint();
}

// ---- open cards ----

// Open cards tapped in, where the camera does not read them all: a value, then a suit, for each zone. What is tapped
// stays as it is whatever the camera reads meanwhile.
{
  const UNKNOWN = 'X';
  const form = () => document.getElementById('enter');
  const zones = () => [...document.querySelectorAll('[data-zone]')];
  const store = () => `cards:${page().dataset.seat}:${page().dataset.moment}`;
  const fresh = () => ({ zones: {}, at: null, value: '', layOpen: false, up: [] });
  let state = fresh();
  let drawn = '';

  function keep() {
    forget(name => name.startsWith('cards:') && name !== store());
    remember(store(), JSON.stringify(state));
  }

  // A zone shows what the camera reads until it is touched.
  const cardsOf = zone => state.zones[zone] ?? JSON.parse(form().dataset.read)[zone] ?? [];
  const used = () => zones().flatMap(row => cardsOf(row.dataset.zone));
  const shown = card => [['value', card.slice(0, -1)], ['suit', card.slice(-1)]]
    .map(([kind, part]) => document.querySelector(`[data-${kind}="${CSS.escape(part)}"]`)?.dataset.shown ?? part).join('');

  function place() {
    if (state.at) return state.at;
    for (const row of zones()) {
      const gap = cardsOf(row.dataset.zone).indexOf(UNKNOWN);
      if (gap >= 0) return { zone: row.dataset.zone, number: gap };
    }
    const { zone } = zones()[0].dataset;
    return { zone, number: cardsOf(zone).length };
  }

  function change(zone, cards, number) {
    state.zones[zone] = cards;
    state.at = number === undefined ? null : { zone, number };
    refuse('');
    keep();
    paint();
  }

  function add(suit) {
    if (!state.value) {
      refuse(say('First the value, then the suit'));
      return;
    }
    const { zone, number } = place();
    const cards = [...cardsOf(zone)];
    cards[number] = state.value + suit;
    state.value = '';
    const gap = cards.indexOf(UNKNOWN);
    change(zone, cards, gap >= 0 ? gap : cards.length);
  }

  function move(tool) {
    const { zone, number } = place();
    const cards = [...cardsOf(zone)];
    if (number >= cards.length) return;
    if (tool === 'up') {
      const card = cards[number];
      state.up = state.up.includes(card) ? state.up.filter(other => other !== card) : [...state.up, card];
      change(zone, cards, number);
      return;
    }
    const [card] = cards.splice(number, 1);
    if (tool === 'away') {
      change(zone, cards);
      return;
    }
    const to = Math.max(0, Math.min(cards.length, number + (tool === 'left' ? -1 : 1)));
    cards.splice(to, 0, card);
    change(zone, cards, to);
  }

  function text() {
    const { mark, open, lane } = form().dataset;
    const wasUp = (zone, card) => (zone === open ? state.layOpen : state.up.includes(card));
    const written = zone => cardsOf(zone).map(card => card + (wasUp(zone, card) ? mark : '')).join(' ');
    return `${lane && `${lane}: `}${zones().map(row => written(row.dataset.zone)).join(' / ')}`.replace('  ', ' ').trim();
  }

  function lacks() {
    const unknown = used().filter(card => card === UNKNOWN).length;
    if (unknown) return sayN('{n} card missing', '{n} cards missing', unknown);
    if (!used().length) return say('tap the cards');
    const [first] = zones();
    if ('empty' in form().dataset) return '';
    return cardsOf(first.dataset.zone).length ? '' : say('a card of {side} missing', { side: first.dataset.name });
  }

  const isRead = () => form().dataset.laid && !Object.keys(state.zones).length && !state.layOpen && !state.up.length;

  async function handIn() {
    const why = lacks();
    if (why && !isRead()) {
      refuse(say('Not yet: {why}', { why }));
      return;
    }
    const { seat, moment } = page().dataset;
    await post(`/api/seat/${seat}/hand-in`, { moment, action: isRead() ? form().dataset.laid : text() });
  }

  // ---- what it looks like ----

  function slot(zone, number, card) {
    const key = document.createElement('button');
    key.type = 'button';
    key.dataset.slot = number;
    const isHere = place().zone === zone && place().number === number;
    const wasUp = zone !== form().dataset.open && state.up.includes(card);
    key.className = `cd big ${card === undefined ? 'add' : card === UNKNOWN ? 'shut' : 'up'}${isHere ? ' here' : ''}${wasUp ? ' was-up' : ''}`;
    key.textContent = card === undefined ? '+' : card === UNKNOWN ? '' : shown(card);
    const name = card === undefined ? say('Add a card') : card === UNKNOWN ? say('A card not read: tap it in') : shown(card);
    key.setAttribute('aria-label', wasUp ? `${name}, ${document.querySelector('[data-tool="up"]').textContent}` : name);
    key.setAttribute('aria-pressed', String(isHere));
    return key;
  }

  function paint() {
    if (!form()) return;
    if (drawn !== store()) {
      drawn = store();
      state = { ...fresh(), ...JSON.parse(recall(drawn) ?? '{}') };
    }
    for (const row of zones()) {
      const { zone } = row.dataset;
      const slots = [...cardsOf(zone), undefined].map((card, number) => slot(zone, number, card));
      // What is the same stays, so that a finger on it is not lost.
      if (slots.length === row.children.length && slots.every((each, number) => each.isEqualNode(row.children[number]))) continue;
      const focused = row.contains(document.activeElement) && Number(document.activeElement.dataset.slot);
      row.replaceChildren(...slots);
      if (focused !== false) (slots[focused] ?? slots.at(-1)).focus({ preventScroll: true });
    }
    for (const key of document.querySelectorAll('[data-value]')) key.setAttribute('aria-pressed', String(key.dataset.value === state.value));
    for (const key of document.querySelectorAll('[data-suit]')) key.disabled = used().includes(state.value + key.dataset.suit);
    const { zone, number } = place();
    for (const key of document.querySelectorAll('[data-tool]')) key.disabled = number >= cardsOf(zone).length;
    const up = document.querySelector('[data-tool="up"]');
    if (up) {
      up.disabled ||= zone === form().dataset.open;
      up.setAttribute('aria-pressed', String(!up.disabled && state.up.includes(cardsOf(zone)[number])));
    }
    document.getElementById('lay-open')?.setAttribute('aria-pressed', String(state.layOpen));
    const main = document.getElementById('work-out');
    const why = isRead() ? '' : lacks();
    main.className = why ? 'key off' : 'key go';
    main.textContent = isRead() ? say('That is right') : why ? say('Work it out: {why}', { why }) : say('Work it out');
  }

  document.addEventListener('click', event => {
    const hit = form() && event.target.closest?.('[data-slot], [data-value], [data-suit], [data-tool], #lay-open, #work-out');
    if (!hit) return;
    const { slot: number, value, suit, tool } = hit.dataset;
    if (number) state.at = { zone: hit.closest('[data-zone]').dataset.zone, number: Number(number) };
    else if (value) state.value = value;
    else if (suit) return add(suit);
    else if (tool) return move(tool);
    else if (hit.id === 'work-out') return handIn();
    else state.layOpen = !state.layOpen;
    keep();
    paint();
  });

  document.addEventListener('shown', paint);
  paint();
}
