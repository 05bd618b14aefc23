// Acting on the board: plays, orders piece by piece, pieces placed in secret, face-offs.
import { askFirst, forget, post, recall, refuse, remember, say } from './page.js';
import { handIn, takeReturned } from './seat.js';
import {
  board, centre, frames, isTurned, mark, onTap, page, pieceOn, shifted, target, tell, use,
} from './squares.js';

// ---- plays ----

// Plays by taps: a piece, then where it goes. What is tapped stays in this browser until the main key hands it in.
{
  const CALM_MS = 400; // after a turn a finger that bounces is not heard
  const MOST_WAYS = 4;
  const form = () => document.getElementById('plays');
  let plays = [];
  let moment = '';
  let asking = '';
  let since = 0;
  let key = '';
  let taps = [];
  let isMeant = false; // the key was not tapped: it is the only one
  let early = []; // tapped before the plays were here

  // ---- what is legal ----

  async function fetchPlays() {
    const now = page().dataset.moment;
    if (now === moment || now === asking) return;
    asking = now;
    try {
      const answer = await fetch(`/api/seat/${page().dataset.seat}/plays`, { cache: 'no-store' });
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.error?.message);
      plays = told.plays.map(([text, squares, label, begins]) => ({ text, squares, label, key: begins }));
      if (moment !== told.moment) [key, taps, since] = ['', [], performance.now()];
      moment = told.moment;
    } catch {
      setTimeout(paint, 2000);
    }
    asking = '';
    early.splice(0).forEach(tap);
    paint();
  }

  // Where in a play the last tap is, when the taps are met in their order; -1: they are not.
  function reached(play, tapped) {
    let at = -1;
    for (const [number, square] of tapped.entries()) {
      at = number ? play.squares.indexOf(square, at + 1) : play.squares[0] === square ? 0 : -1;
      if (at < 0) return -1;
    }
    return at;
  }

  const fitting = (tapped, begins = key) => plays.filter(play => play.key === begins && play.squares.length && (!tapped.length || reached(play, tapped) >= 0));
  const isWhole = (play, tapped) => reached(play, tapped) === play.squares.length - 1;

  // The plays that are wholly tapped: those square by square before those of which only the end was tapped.
  function whole() {
    if (!taps.length) return [];
    const found = fitting(taps).filter(play => isWhole(play, taps));
    const exact = found.filter(play => play.squares.length === taps.length);
    return (exact.length ? exact : found).sort((one, other) => one.squares.length - other.squares.length);
  }

  function next() {
    const found = fitting(taps);
    if (!taps.length) return new Set(found.map(play => play.squares[0]));
    return new Set(found.flatMap(play => play.squares.slice(reached(play, taps) + 1)));
  }

  // Where a tap begins a play: with the chosen key, or on a piece that waits for one.
  const begins = (play, square) => play.squares[0] === square && (play.key === key || pieceOn(square) !== '');
  const beginnings = () => new Set(plays.filter(play => play.squares.length && begins(play, play.squares[0])).map(play => play.squares[0]));

  function tap(square) {
    refuse('');
    if (page().dataset.moment !== moment) {
      early.push(square);
      return;
    }
    const [first] = taps;
    const tries = [[...taps, square], ...(taps.length > 1 ? [[first, square]] : []), [square, ...taps]];
    const longer = taps.length && tries.find(tapped => fitting(tapped).length);
    if (!longer && isMeant) [key, isMeant] = ['', false];
    if (longer) taps = longer;
    else if (square === first) taps = [];
    else if (square === taps.at(-1)) taps = taps.slice(0, -1);
    else if (fitting([square]).length) taps = [square];
    else if (plays.some(play => begins(play, square))) {
      // It does nothing with the key that is chosen: another one is meant when there is but one.
      const ways = [...new Set(plays.filter(play => play.squares[0] === square).map(play => play.key))];
      [key, taps] = [ways.length === 1 ? ways[0] : '', [square]];
      isMeant = Boolean(key);
    } else {
      taps = [];
      if (plays.length) refuse(say('Nothing can be done with {square} now', { square }));
    }
    paint();
  }

  function begin(name) {
    key = key === name && !isMeant ? '' : name;
    isMeant = false;
    if (!fitting(taps).length) taps = [];
    const here = plays.filter(play => play.key === key);
    if (!here.length) {
      refuse(say('That cannot be done now'));
      key = '';
    } else if (here.length === 1 && !here[0].squares.length) {
      send(here[0].text);
      return;
    }
    paint();
  }

  async function send(action) {
    if (!taps.length && performance.now() - since < CALM_MS) return;
    const answer = await post(`/api/seat/${page().dataset.seat}/hand-in`, { moment, action });
    if (answer.ok) [key, taps] = ['', []];
    paint();
  }

  // ---- what it looks like ----

  const keysOf = () => JSON.parse(form().dataset.keys);

  // What the main key does now: its words, and the play behind it; without one it says what is missing.
  function main() {
    const found = whole();
    if (found.length === 1) return { label: found[0].label, action: found[0].text };
    if (found.length > 1) return { label: say('Choose one of these') };
    if (taps.length) return { label: fitting(taps).length ? say('Tap where it goes') : say('Choose what to do') };
    if (key) return { label: say('{key}: tap the board', { key: keysOf().find(each => each.name === key)?.label }) };
    const straight = keysOf().find(each => each.is_main);
    if (!straight) return { label: plays.length ? say('Tap a square') : say('Wait') };
    const play = plays.find(each => each.key === straight.name && !each.squares.length);
    // Too early: the table says what is still due.
    return { label: straight.label, action: play?.text ?? form().dataset.open, isEarly: !play };
  }

  function paint() {
    if (!form()) return;
    if (page().dataset.moment !== moment) {
      fetchPlays();
      mark('', '');
      return;
    }
    form().dataset.taps = [key, ...taps, ''].join(' ');
    const { label, action, isEarly } = main();
    const commit = document.getElementById('commit');
    commit.className = action && !isEarly ? 'key go' : 'key off';
    commit.textContent = label;
    const several = whole().slice(0, MOST_WAYS);
    const ways = document.getElementById('ways');
    const fresh = several.length < 2 ? [] : several.map(({ text, label: words }) => {
      const way = Object.assign(document.createElement('button'), { type: 'button', className: 'key', textContent: words });
      way.dataset.play = text;
      way.append(Object.assign(document.createElement('small'), { className: 'mono', textContent: text }));
      return way;
    });
    if (fresh.length !== ways.children.length || fresh.some((way, number) => !way.isEqualNode(ways.children[number]))) ways.replaceChildren(...fresh);
    for (const each of document.querySelectorAll('[data-begin]')) {
      const isOpen = taps.length ? fitting(taps, each.dataset.begin).length : plays.some(play => play.key === each.dataset.begin);
      each.classList.toggle('off', !isOpen && each.dataset.begin !== key);
      each.setAttribute('aria-pressed', String(each.dataset.begin === key));
    }
    const [first] = taps;
    const goes = [...next()];
    const more = fitting(taps).some(play => !isWhole(play, taps));
    if (taps.length) tell(taps.join(' – '), whole().length ? (more ? say('Hand in, or tap on.') : '') : `${main().label}.`);
    else tell('');
    // Where a new piece can be placed is shown at once; else first what is tapped.
    const shows = goes.filter(square => (taps.length || key ? !taps.includes(square) : !pieceOn(square)));
    mark(frames(shows), way(), first && pieceOn(first) ? [first] : []);
  }

  // The way that is tapped: dots from square to square, and the piece faint where it would stand.
  function way() {
    const piece = taps.length && pieceOn(taps[0]);
    const stops = piece ? taps.slice(1) : taps;
    if (!stops.length) return '';
    const line = piece ? `<path class="path" d="M${taps.map(square => centre(square).join(' ')).join('L')}"/>` : '';
    const [[x0, y0], [x1, y1]] = [centre(taps[0]), centre(taps.at(-1))];
    const faint = piece && !key ? `<g class="ghost" transform="translate(${x1 - x0} ${y1 - y0})">${piece}</g>` : '';
    return `${faint}${stops.map(target).join('')}${line}`;
  }

  document.addEventListener('click', event => {
    if (!form()) return;
    const hit = event.target.closest?.('[data-begin], [data-play], #commit');
    if (!hit) return;
    if (hit.dataset.begin) begin(hit.dataset.begin);
    else if (hit.dataset.play) send(hit.dataset.play);
    else {
      const { action, label } = main();
      if (action) send(action);
      else refuse(label);
    }
  });

  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !form()) return;
    [key, taps] = ['', []];
    paint();
  });

  onTap('plays', { tap, paint, wanted: () => new Set([...next(), ...beginnings(), ...taps]) });
  document.addEventListener('shown', paint);
  document.addEventListener('focusin', event => { if (event.target === board()) paint(); });
  paint();
}

// ---- orders piece by piece ----

// Orders piece by piece, drawn over the own board; they stay in this browser until they are handed in.
{
  const form = () => document.getElementById('sheet');
  const store = () => `orders:${page().dataset.seat}:${page().dataset.moment}`;
  let given = {}; // by the unit's name: { kind: its number, way: a letter or '' }
  let unit = '';
  let drawn = '';
  let sheet = { units: [], kinds: [], directions: [] };

  function keep() {
    forget(name => name.startsWith('orders:') && name !== store());
    remember(store(), JSON.stringify(given));
  }

  const unitOf = name => sheet.units.find(each => each.name === name);
  const wayOf = letter => sheet.directions.find(each => each.letter === letter);
  const kindOf = order => sheet.kinds[order?.kind];
  const isDone = order => Boolean(order) && (!kindOf(order).has_direction || Boolean(order.way));
  const written = (order, own) => (order ? `${kindOf(order).letter}${(own && wayOf(order.way)?.initial) || order.way}` : '');
  const idle = () => sheet.units.filter(each => !isDone(given[each.name]));

  function text() {
    const orders = sheet.units.filter(each => isDone(given[each.name])).map(each => `${each.name}:${written(given[each.name])}`);
    return orders.join(' ') || `${sheet.units[0].name}:${sheet.nothing}`;
  }

  function goOn() {
    const at = sheet.units.findIndex(each => each.name === unit);
    const row = [...sheet.units.slice(at + 1), ...sheet.units.slice(0, at)];
    unit = row.find(each => !given[each.name])?.name ?? unit;
  }

  function choose(name) {
    unit = name;
    refuse('');
    paint();
  }

  function order(kind, way) {
    const before = given[unit];
    const isSame = before && before.kind === kind && (before.way === way || !sheet.kinds[kind].has_direction);
    if (isSame && isDone(before)) delete given[unit];
    else given[unit] = { kind, way: sheet.kinds[kind].has_direction ? way : '' };
    if (isDone(given[unit])) goOn();
    refuse('');
    keep();
    paint();
  }

  function clear() {
    given = {};
    unit = '';
    refuse('');
    keep();
    paint();
  }

  const tapKind = kind => order(kind, sheet.kinds[kind].has_direction && kindOf(given[unit])?.has_direction && given[unit].kind !== kind ? given[unit].way : '');

  function tapWay(letter) {
    const kind = kindOf(given[unit])?.has_direction ? given[unit].kind : sheet.kinds.findIndex(each => each.has_direction);
    order(kind, letter);
  }

  function tapSquare(square) {
    const own = sheet.units.find(each => each.square === square);
    const from = unitOf(unit)?.square;
    const way = from && sheet.directions.find(each => shifted(from, each.step) === square);
    const waits = given[unit] && !isDone(given[unit]);
    if (own && !waits) choose(own.name);
    else if (way) tapWay(way.letter);
    else if (own) choose(own.name);
  }

  // ---- what it looks like ----

  function drawOrder(each) {
    const set = given[each.name];
    const kind = kindOf(set);
    if (!kind || !isDone(set)) return '';
    const [x, y] = centre(each.square);
    if (!kind.has_direction) return use(kind.drawing, [x, y - 4], 112, each.name === unit ? 'deed on' : 'deed');
    const { step } = wayOf(set.way);
    const [across, down] = isTurned() ? [-step[0], step[1]] : [step[0], -step[1]];
    const to = shifted(each.square, step);
    const degrees = Math.atan2(down, across) * 180 / Math.PI;
    // An arrow of the keys points up and leads wholly into the next square; what is drawn over the edge points right.
    if (!kind.drawing.startsWith('order-')) return `<g class="deed">${use(kind.drawing, [x + across * 50, y + down * 50], 46, 'blade', degrees)}</g>`;
    const arrow = use(kind.drawing, [x + across * 74, y + down * 74], 58, 'deed', degrees + 90);
    return (to ? target(to) : '') + arrow;
  }

  function ordered(name) {
    const set = given[name];
    return [kindOf(set)?.label, set?.way && wayOf(set.way).label].filter(Boolean).join(' ').toLowerCase();
  }

  function deed(name) {
    return given[name] ? say('{option}: {choice}', { option: name, choice: ordered(name) }) : say('{unit}: no order yet', { unit: name });
  }

  function words() {
    const set = given[unit];
    if (kindOf(set)?.has_direction && !set.way) return [deed(unit), say('In which direction?')];
    return [deed(unit), set ? say('Tap it again to remove it.') : say('Tap what it does.')];
  }

  function paintUnits() {
    const row = form().querySelector('.units');
    const keys = sheet.units.map(each => {
      const key = Object.assign(document.createElement('button'), { type: 'button', className: 'key unit' });
      key.dataset.unit = each.name;
      key.setAttribute('aria-pressed', String(each.name === unit));
      key.setAttribute('aria-label', say('{unit}: {note}, {order}', { unit: each.name, note: each.note, order: ordered(each.name) || say('no order yet') }));
      key.append(Object.assign(document.createElement('b'), { className: 'mono', textContent: `${each.name}:${written(given[each.name], true)}` }));
      key.append(Object.assign(document.createElement('small'), { textContent: each.note }));
      return key;
    });
    if (keys.length === row.children.length && keys.every((key, number) => key.isEqualNode(row.children[number]))) return;
    const focused = row.contains(document.activeElement) && document.activeElement.dataset.unit;
    row.replaceChildren(...keys);
    if (focused) keys.find(key => key.dataset.unit === focused)?.focus({ preventScroll: true });
  }

  // The orders of a text, as `text` writes them.
  function read(action) {
    const all = sheet.kinds.flatMap((each, kind) => (each.has_direction ? sheet.directions.map(({ letter }) => letter) : ['']).map(way => ({ kind, way })));
    const orders = action.split(' ').map(order => order.split(':'));
    return Object.fromEntries(orders.map(([name, order]) => [name, all.find(set => written(set) === order)]).filter(([, set]) => set));
  }

  function commit() {
    const rest = idle().map(each => each.name).join(', ');
    const words = { question: say('No orders yet: {units}', { units: rest }), yes: say('Hand in'), no: say('Keep planning') };
    if (rest) askFirst(document.getElementById('commit'), words, () => handIn(text()));
    else handIn(text());
  }

  function paint() {
    if (!form()) return;
    sheet = JSON.parse(form().dataset.sheet);
    if (drawn !== store()) {
      drawn = store();
      given = JSON.parse(recall(drawn) ?? '{}');
      unit = '';
    }
    const before = takeReturned();
    if (before) {
      given = read(before);
      keep();
    }
    if (!unitOf(unit)) unit = (idle()[0] ?? sheet.units[0]).name;
    paintUnits();
    const set = given[unit];
    document.querySelectorAll('[data-kind]').forEach((key, number) => key.setAttribute('aria-pressed', String(set?.kind === number)));
    for (const key of document.querySelectorAll('[data-way]')) key.setAttribute('aria-pressed', String(Boolean(set) && set.way === key.dataset.way));
    const rest = idle().map(each => each.name).join(', ');
    const main = document.getElementById('commit');
    main.className = rest ? 'key off' : 'key go';
    main.textContent = rest ? say('No orders yet: {units}', { units: rest }) : say('Hand in');
    const example = document.getElementById('example');
    if (example) {
      example.hidden = Object.keys(given).length > 0;
      document.getElementById('clear').hidden = !example.hidden;
    }
    tell(...words());
    const { square } = unitOf(unit);
    const waits = set && !isDone(set);
    const around = waits ? sheet.directions.map(each => shifted(square, each.step)).filter(Boolean) : [];
    const [still, going] = [false, true].map(isGoing => sheet.units.filter(each => Boolean(kindOf(given[each.name])?.has_direction) === isGoing));
    mark(still.map(drawOrder).join('') + frames(around), going.map(drawOrder).join(''), [square]);
  }

  document.addEventListener('click', event => {
    const hit = form() && event.target.closest?.('[data-unit], [data-kind], [data-way], #clear, #commit');
    if (!hit) return;
    if (hit.dataset.unit) choose(hit.dataset.unit);
    else if (hit.dataset.kind) tapKind(Number(hit.dataset.kind));
    else if (hit.dataset.way) tapWay(hit.dataset.way);
    else if (hit.id === 'clear') clear();
    else commit();
  });

  document.addEventListener('keydown', event => {
    if (!form() || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.('input, textarea')) return;
    const letter = event.key.length === 1 ? event.key : '';
    const kind = sheet.kinds.findIndex(each => each.letter && each.letter.toLowerCase() === letter.toLowerCase());
    const way = sheet.directions.find(each => (each.initial || each.letter) === letter.toUpperCase());
    if (unitOf(letter)) choose(letter);
    else if (letter && way) tapWay(way.letter);
    else if (letter && kind >= 0) tapKind(kind);
  });

  onTap('sheet', { tap: tapSquare, paint, wanted: () => new Set(sheet.units.map(each => each.square)) });
  document.addEventListener('shown', paint);
  paint();
}

// ---- pieces placed in secret ----

// Pieces placed in secret: they stand in this browser alone until they are handed in.
{
  const form = () => document.getElementById('placing');
  const store = () => `placing:${page().dataset.seat}:${page().dataset.moment}`;
  let squares = []; // where each piece stands
  let chosen = -1;
  let drawn = '';
  let asked = { pieces: [], squares: [], proposal: [] };

  function keep() {
    forget(name => name.startsWith('placing:') && name !== store());
    remember(store(), JSON.stringify(squares));
  }

  // Pieces with one letter mean the same wherever they stand: they are written in the order of their squares.
  function text() {
    const left = new Map();
    asked.pieces.forEach(({ letter }, number) => left.set(letter, [...(left.get(letter) ?? []), squares[number]].sort()));
    return asked.pieces.map(({ letter }) => `${letter}@${left.get(letter).shift()}`).join(' ');
  }

  function tap(square) {
    const here = squares.indexOf(square);
    refuse('');
    if (chosen < 0) {
      if (here >= 0) chosen = here;
      else refuse(say('Tap one of your pieces first'));
    } else if (here === chosen) chosen = -1;
    else if (!asked.squares.includes(square)) refuse(say('Your pieces start on the framed squares'));
    else {
      if (here >= 0) squares[here] = squares[chosen];
      squares[chosen] = square;
      chosen = -1;
      keep();
    }
    paint();
  }

  function clear() {
    squares = [...asked.proposal];
    chosen = -1;
    refuse('');
    keep();
    paint();
  }

  function paint() {
    if (!form()) return;
    asked = JSON.parse(form().dataset.placing);
    if (drawn !== store()) {
      drawn = store();
      squares = JSON.parse(recall(drawn) ?? 'null') ?? [...asked.proposal];
      chosen = -1;
    }
    const before = takeReturned().split(' ').filter(Boolean).map(piece => piece.split('@'));
    if (before.length) {
      squares = asked.pieces.map(({ letter }) => before.splice(before.findIndex(([name]) => name === letter), 1)[0][1]);
      keep();
    }
    const pieces = asked.pieces.map(({ drawn: piece }, number) => {
      const [x, y] = centre(squares[number]);
      return `<g transform="translate(${x} ${y})"${number === chosen ? ' class="on"' : ''}>${piece}</g>`;
    });
    // The board in words: the table does not know yet what stands here.
    board().setAttribute('aria-label', asked.pieces.map(({ face }, number) => `${face} ${squares[number]}`).join(', '));
    const free = asked.squares.filter(square => chosen < 0 || square !== squares[chosen]);
    if (chosen < 0) tell('');
    else tell(`${asked.pieces[chosen].face} ${squares[chosen]}`, say('Tap where it starts. On another piece the two change places.'));
    mark(frames(free), pieces.join(''), chosen < 0 ? [] : [squares[chosen]]);
  }

  document.addEventListener('click', event => {
    if (form() && event.target.closest?.('#commit')) handIn(text());
    if (form() && event.target.closest?.('#clear')) clear();
  });

  document.addEventListener('covered', () => { chosen = -1; paint(); }); // what is half chosen would tell where it stands

  onTap('placing', { tap, paint, wanted: () => new Set(asked.squares) });
  document.addEventListener('shown', paint);
  paint();
}

// ---- face-offs ----

// A face-off: a card of the own hand, chosen in this browser, and the sum that it makes.
{
  const form = () => document.getElementById('duel');
  let card = '';
  let moment = '';

  function paint() {
    if (!form()) return;
    if (moment !== page().dataset.moment) {
      moment = page().dataset.moment;
      card = '';
    }
    card = takeReturned() || card;
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
}
