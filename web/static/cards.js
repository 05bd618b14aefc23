// Entering an action in a game of cards: with the player's hand of cards, or by tapping in the open cards on the table.
import { forget, post, recall, remember, say, sayN, showRefusal } from './page.js';
import { page } from './squares.js';

// ---- the hand ----

// A choice is a legal action. It has its notation, its key, and a card and a lane if it needs them. A player taps key, card and
// lane in any order. As soon as what was tapped (`picked`) means exactly one choice, that choice is handed in.
{
  const findAll = selector => [...document.querySelectorAll(selector)];
  let chosen = {}; // what was tapped so far: card, lane, key
  let moment = '';
  let parsed = { text: null, choices: [] }; // the choices of the page, and the text from which they were parsed

  function choices() {
    const text = document.getElementById('picks')?.dataset.choices ?? '[]';
    if (text !== parsed.text) {
      parsed = { text, choices: JSON.parse(text).map(([action, key, card, lane]) => ({ action, key, card, lane })) };
    }
    return parsed.choices;
  }

  // Return whether a choice agrees with the taps. A card or lane that it does not need is no contradiction.
  const isPossible = (choice, picked) => (!picked.key || choice.key === picked.key)
    && (!picked.card || choice.card === null || choice.card === picked.card)
    && (picked.lane === undefined || choice.lane === null || choice.lane === picked.lane);
  // Return whether a choice needs no further tap on a card or a lane.
  const isComplete = (choice, picked) => (choice.card === null || choice.card === picked.card)
    && (choice.lane === null || choice.lane === picked.lane);
  const keyOf = name => findAll('.pick').find(key => key.dataset.key === name);
  const compareKeyOrder = (first, second) => findAll('.pick').indexOf(keyOf(first.key)) - findAll('.pick').indexOf(keyOf(second.key));

  // Return the keys with which a card can be played, in their order on the page. The first is meant unless another is chosen.
  function keysOfCard(picked) {
    const possible = choices().filter(choice => choice.card === picked.card && isPossible(choice, { ...picked, key: null }));
    return [...new Set(possible.sort(compareKeyOrder).map(choice => choice.key))];
  }

  // Return the key that a tap on a lane alone means, or null. There is one if all actions with a lane have the same key and need
  // no card, such as drawing with an empty hand.
  function keyOfLanes() {
    const withLane = choices().filter(choice => choice.lane !== null);
    const keys = new Set(withLane.map(choice => choice.key));
    return keys.size === 1 && withLane.every(choice => choice.card === null) ? [...keys][0] : null;
  }

  // Return the one choice that the taps mean, or null.
  function completeChoice(picked) {
    const impliedKey = picked.card ? keysOfCard(picked)[0] : keyOfLanes();
    const key = picked.key ?? (picked.lane === undefined ? null : impliedKey);
    if (!key) return null;
    const meant = choices().filter(choice => choice.key === key && isPossible(choice, picked) && isComplete(choice, picked));
    return meant.length === 1 ? meant[0] : null;
  }

  // Hand in a choice.
  async function handInChoice(choice) {
    chosen = {};
    paint();
    const { seat } = page().dataset;
    await post(`/api/seat/${seat}/hand-in`, { moment, action: choice.action });
  }

  // Replace the taps. Hand in the choice that they mean, or say why they mean none.
  function choose(picked) {
    chosen = picked;
    const choice = completeChoice(picked);
    if (choice) handInChoice(choice);
    else {
      showRefusal(impossibleText(picked));
      paint();
    }
  }

  // Return why the taps mean no choice. Empty while they may still mean one.
  function impossibleText(picked) {
    if (!picked.key && !picked.card) return '';
    if (choices().some(choice => isPossible(choice, picked) && (!picked.card || choice.card === picked.card))) return '';
    const key = keyOf(picked.key ?? keysOfCard({ card: picked.card })[0]);
    return key?.dataset.hint || say('That cannot be done now');
  }

  function tapCard(card) {
    if (!choices().some(choice => choice.card === card)) return;
    if (chosen.card !== card) {
      const key = choices().some(choice => choice.card === card && choice.key === chosen.key) ? chosen.key : undefined;
      choose({ ...chosen, card, key });
      return;
    }
    // another tap on the chosen card chooses its next key, or releases a card that has only one
    const keys = keysOfCard({ card, lane: chosen.lane });
    if (keys.length < 2) {
      chosen = {};
      paint();
      return;
    }
    const nextKey = keys[(keys.indexOf(chosen.key ?? keys[0]) + 1) % keys.length];
    choose({ ...chosen, key: nextKey });
  }

  function tapLane(lane) {
    const isRelease = chosen.lane === lane && !chosen.card && !chosen.key;
    choose({ ...chosen, lane: isRelease ? undefined : lane });
  }

  function tapKey(key) {
    const withKey = choices().filter(choice => choice.key === key);
    if (!withKey.length) {
      showRefusal(keyOf(key).dataset.hint || say('That cannot be done now'));
      return;
    }
    if (chosen.key === key) {
      choose({ ...chosen, key: undefined });
      return;
    }
    // a card or lane that the key does not need is released
    const card = withKey.some(choice => choice.card === chosen.card) ? chosen.card : undefined;
    const lane = withKey.some(choice => choice.lane === chosen.lane) ? chosen.lane : undefined;
    choose({ key, card, lane });
  }

  // ---- painting ----

  function paintKey(key) {
    const withKey = choices().filter(choice => choice.key === key.dataset.key);
    const isOff = !withKey.some(choice => isPossible(choice, { card: chosen.card, lane: chosen.lane }));
    key.classList.toggle('off', isOff);
    const chosenKey = chosen.card ? chosen.key ?? keysOfCard(chosen)[0] : chosen.key;
    key.setAttribute('aria-pressed', String(!isOff && key.dataset.key === chosenKey));
  }

  // Write below the keys what is chosen and what to tap next.
  function paintWords() {
    const line = document.getElementById('told');
    if (!choices().length) return;
    const lane = findAll('.ln[data-lane]').find(element => element.dataset.lane === chosen.lane);
    const card = findAll('.card').find(element => element.dataset.card === chosen.card);
    const keys = chosen.card ? keysOfCard(chosen) : [];
    const key = keyOf(chosen.key ?? keys[0]);
    const chosenWords = [card?.dataset.shown, lane && say('Lane {lane}', { lane: chosen.lane })].filter(Boolean).join(', ');
    const head = chosenWords && key ? say('{option}: {choice}', { option: chosenWords, choice: key.dataset.label.toLowerCase() }) : chosenWords || key?.dataset.label;
    const labelOf = name => keyOf(name).dataset.label.toLowerCase();

    function nextStepText() {
      if (lane && !key) return lane.dataset.words;
      const nextKey = keys.find(name => name !== key?.dataset.key);
      if (nextKey) return say('Tap a lane. Again: {key}.', { key: labelOf(nextKey) });
      const needsLane = key && (card || !choices().some(choice => choice.key === key.dataset.key && choice.card));
      if (needsLane) return say('Tap a lane.');
      if (key) return say('Tap a card.');
      return keyOfLanes() ? say('Tap a lane: {key}.', { key: labelOf(keyOfLanes()) }) : line.dataset.hint;
    }

    line.replaceChildren();
    if (head) line.append(Object.assign(document.createElement('b'), { textContent: head }));
    line.append(nextStepText());
  }

  // Describe lanes for screen readers: in words, then by the text in them. While the shutter is closed, the description has only
  // what everybody sees.
  function describeLanes() {
    const isCovered = document.documentElement.classList.contains('covered');
    for (const lane of findAll('.ln[data-lane]')) {
      const { lane: name, open, words } = lane.dataset;
      const content = lane.textContent.trim().replace(/\s+/g, ' ');
      lane.setAttribute('aria-label', say('{option}: {choice}', { option: say('Lane {lane}', { lane: name }), choice: isCovered ? open : `${words} ${content}` }));
    }
  }

  function paint() {
    if (page().dataset.moment !== moment) {
      moment = page().dataset.moment;
      chosen = {};
    }
    describeLanes();
    if (!document.getElementById('picks')) return;
    const legal = choices(); // empty while the seat is not on turn
    for (const card of findAll('.card')) {
      const name = card.dataset.card;
      card.classList.toggle('on', chosen.card === name);
      card.setAttribute('aria-pressed', String(chosen.card === name));
      const possible = legal.some(choice => choice.card === name && isPossible(choice, { key: chosen.key, lane: chosen.lane }));
      card.classList.toggle('dim', legal.length > 0 && !possible);
    }
    for (const lane of findAll('.ln[data-lane]')) {
      const name = lane.dataset.lane;
      lane.classList.toggle('on', chosen.lane === name);
      lane.setAttribute('aria-pressed', String(chosen.lane === name));
      const possible = legal.filter(choice => choice.lane === name && isPossible(choice, { ...chosen, lane: name }));
      const hasCard = !chosen.card || possible.some(choice => choice.card === chosen.card);
      lane.classList.toggle('dim', legal.length > 0 && (!possible.length || !hasCard));
    }
    findAll('.pick').forEach(paintKey);
    paintWords();
  }

  document.addEventListener('click', event => {
    const target = event.target.closest?.('.card[data-card], .ln[data-lane], .pick');
    if (!target) return;
    if (target.dataset.card) tapCard(target.dataset.card);
    else if (target.dataset.lane) tapLane(target.dataset.lane);
    else tapKey(target.dataset.key);
  });

  function clear() {
    chosen = {};
    paint();
  }
  document.addEventListener('keydown', event => { if (event.key === 'Escape') clear(); });
  document.addEventListener('uncovered', paint);
  document.addEventListener('covered', clear); // a chosen card would show a part of the hand

  document.addEventListener('shown', paint);
  paint();
}

// ---- open cards ----

// If the camera does not read all open cards, a player taps them in: a value, then a suit, for each zone of cards. A zone that
// was changed by hand stays as it is, whatever the camera reads meanwhile.
{
  const UNKNOWN = 'X';
  const form = () => document.getElementById('enter');
  const zones = () => [...document.querySelectorAll('[data-zone]')];
  const storageKey = () => `cards:${page().dataset.seat}:${page().dataset.moment}`;
  // The cards by zone, the chosen place (null for the first free place), the tapped value, whether the cards of the open zone lay
  // face up before, and which other cards lay face up before.
  const emptyDraft = () => ({ zones: {}, at: null, value: '', layOpen: false, up: [] });
  let draft = emptyDraft();
  let drawnKey = ''; // key under which the cards on the page are stored

  function storeDraft() {
    forget(name => name.startsWith('cards:') && name !== storageKey());
    remember(storageKey(), JSON.stringify(draft));
  }

  // Until a zone is changed by hand, it shows what the camera reads.
  const cardsOf = zone => draft.zones[zone] ?? JSON.parse(form().dataset.read)[zone] ?? [];
  const allCards = () => zones().flatMap(row => cardsOf(row.dataset.zone));
  const printedText = card => [['value', card.slice(0, -1)], ['suit', card.slice(-1)]]
    .map(([kind, part]) => document.querySelector(`[data-${kind}="${CSS.escape(part)}"]`)?.dataset.shown ?? part).join('');

  // Return the place that the next tap changes: the chosen one, or the first unread card, or the end of the first zone.
  function currentPlace() {
    if (draft.at) return draft.at;
    for (const row of zones()) {
      const gap = cardsOf(row.dataset.zone).indexOf(UNKNOWN);
      if (gap >= 0) return { zone: row.dataset.zone, number: gap };
    }
    const { zone } = zones()[0].dataset;
    return { zone, number: cardsOf(zone).length };
  }

  // Replace the cards of a zone. The next tap changes the place `number`, or the first unread card without it.
  function change(zone, cards, number) {
    draft.zones[zone] = cards;
    draft.at = number === undefined ? null : { zone, number };
    showRefusal('');
    storeDraft();
    paint();
  }

  // Put the card of the tapped value and this suit at the current place.
  function addCard(suit) {
    if (!draft.value) {
      showRefusal(say('First the value, then the suit'));
      return;
    }
    const { zone, number } = currentPlace();
    const cards = [...cardsOf(zone)];
    cards[number] = draft.value + suit;
    draft.value = '';
    const gap = cards.indexOf(UNKNOWN);
    change(zone, cards, gap >= 0 ? gap : cards.length);
  }

  // Use a tool on the card at the current place. `up` notes that it lay face up before, `away` removes it, and the other tools
  // move it.
  function useTool(tool) {
    const { zone, number } = currentPlace();
    const cards = [...cardsOf(zone)];
    if (number >= cards.length) return;
    if (tool === 'up') {
      const card = cards[number];
      draft.up = draft.up.includes(card) ? draft.up.filter(other => other !== card) : [...draft.up, card];
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

  // Return the cards in the notation, in which `mark` follows a card that lay face up before.
  function notation() {
    const { mark, open, lane } = form().dataset;
    const wasFaceUp = (zone, card) => (zone === open ? draft.layOpen : draft.up.includes(card));
    const zoneText = zone => cardsOf(zone).map(card => card + (wasFaceUp(zone, card) ? mark : '')).join(' ');
    return `${lane && `${lane}: `}${zones().map(row => zoneText(row.dataset.zone)).join(' / ')}`.replace('  ', ' ').trim();
  }

  // Return what is missing, in words. Empty if nothing is.
  function missingText() {
    const unknown = allCards().filter(card => card === UNKNOWN).length;
    if (unknown) return sayN('{n} card missing', '{n} cards missing', unknown);
    if (!allCards().length) return say('tap the cards');
    const [first] = zones();
    if ('empty' in form().dataset) return '';
    return cardsOf(first.dataset.zone).length ? '' : say('a card of {side} missing', { side: first.dataset.name });
  }

  // Return whether the camera has read everything, and nothing was changed by hand.
  const isReadByCamera = () => form().dataset.laidAction && !Object.keys(draft.zones).length && !draft.layOpen && !draft.up.length;

  async function handIn() {
    const why = missingText();
    if (why && !isReadByCamera()) {
      showRefusal(say('Not yet: {why}', { why }));
      return;
    }
    const { seat, moment } = page().dataset;
    await post(`/api/seat/${seat}/hand-in`, { moment, action: isReadByCamera() ? form().dataset.laidAction : notation() });
  }

  // ---- painting ----

  // Return class, text and name of a card's key.
  function cardLook(card) {
    if (card === undefined) return ['add', '+', say('Add a card')];
    if (card === UNKNOWN) return ['shut', '', say('A card not read: tap it in')];
    return ['up', printedText(card), printedText(card)];
  }

  // Return the key of a card in its zone. Without a card it is the place for another one.
  function cardKey(zone, number, card) {
    const key = document.createElement('button');
    key.type = 'button';
    key.dataset.slot = number;
    const isChosen = currentPlace().zone === zone && currentPlace().number === number;
    const wasFaceUp = zone !== form().dataset.open && draft.up.includes(card);
    const [look, text, name] = cardLook(card);
    key.className = `cd big ${look}${isChosen ? ' here' : ''}${wasFaceUp ? ' was-up' : ''}`;
    key.textContent = text;
    key.setAttribute('aria-label', wasFaceUp ? `${name}, ${document.querySelector('[data-tool="up"]').textContent}` : name);
    key.setAttribute('aria-pressed', String(isChosen));
    return key;
  }

  function paint() {
    if (!form()) return;
    if (drawnKey !== storageKey()) {
      drawnKey = storageKey();
      draft = { ...emptyDraft(), ...JSON.parse(recall(drawnKey) ?? '{}') };
    }
    for (const row of zones()) {
      const { zone } = row.dataset;
      const keys = [...cardsOf(zone), undefined].map((card, number) => cardKey(zone, number, card));
      // unchanged keys stay, so that a finger on one of them is not lost
      if (keys.length === row.children.length && keys.every((key, number) => key.isEqualNode(row.children[number]))) continue;
      const focused = row.contains(document.activeElement) && Number(document.activeElement.dataset.slot);
      row.replaceChildren(...keys);
      if (focused !== false) (keys[focused] ?? keys.at(-1)).focus({ preventScroll: true });
    }
    for (const key of document.querySelectorAll('[data-value]')) key.setAttribute('aria-pressed', String(key.dataset.value === draft.value));
    for (const key of document.querySelectorAll('[data-suit]')) key.disabled = allCards().includes(draft.value + key.dataset.suit);
    const { zone, number } = currentPlace();
    for (const key of document.querySelectorAll('[data-tool]')) key.disabled = number >= cardsOf(zone).length;
    const upKey = document.querySelector('[data-tool="up"]');
    if (upKey) {
      upKey.disabled ||= zone === form().dataset.open;
      upKey.setAttribute('aria-pressed', String(!upKey.disabled && draft.up.includes(cardsOf(zone)[number])));
    }
    document.getElementById('lay-open')?.setAttribute('aria-pressed', String(draft.layOpen));
    const mainKey = document.getElementById('work-out');
    const why = isReadByCamera() ? '' : missingText();
    const workOutLabel = why ? say('Work it out: {why}', { why }) : say('Work it out');
    mainKey.className = why ? 'key off' : 'key go';
    mainKey.textContent = isReadByCamera() ? say('That is right') : workOutLabel;
  }

  document.addEventListener('click', event => {
    const key = form() && event.target.closest?.('[data-slot], [data-value], [data-suit], [data-tool], #lay-open, #work-out');
    if (!key) return;
    const { slot: number, value, suit, tool } = key.dataset;
    if (number) draft.at = { zone: key.closest('[data-zone]').dataset.zone, number: Number(number) };
    else if (value) draft.value = value;
    else if (suit) return addCard(suit);
    else if (tool) return useTool(tool);
    else if (key.id === 'work-out') return handIn();
    else draft.layOpen = !draft.layOpen;
    storeDraft();
    paint();
  });

  document.addEventListener('shown', paint);
  paint();
}
