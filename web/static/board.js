// Acting on the board: plays, orders piece by piece, pieces placed in secret, face-offs.
import { askFirst, forget, post, recall, refuse, remember, root, say } from './page.js';
import { handIn, takeReturned } from './seat.js';
import {
  arrow, board, centre, dots, frames, isTurned, mark, onTap, page, pieceOn, shifted, target, tell, use,
} from './squares.js';

// ---- plays ----

// Plays by taps: a piece, then where it goes, and once more there; or the main key. Nothing is sent before.
{
  const form = () => document.getElementById('plays');
  let plays = [];
  let moment = '';
  let asking = '';
  let key = ''; // what was chosen beside the board: a boulder, or a kick where its square could mean a run as well
  let taps = [];
  let isMeant = false; // the key was not tapped: it is the only one
  let path = 0; // which of the plays that come to the tapped square
  let early = []; // tapped before the plays were here

  // ---- what is legal ----

  async function fetchPlays() {
    const now = page().dataset.moment;
    if (now === moment || now === asking) return;
    asking = now;
    try {
      const answer = await fetch(`${root}/api/seat/${page().dataset.seat}/plays`, { cache: 'no-store' });
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.error?.message);
      plays = told.plays.map(([text, squares, label, begins, touches, meets]) => ({ text, squares, label, key: begins, touches, meets }));
      if (moment !== told.moment) choose([], '');
      moment = told.moment;
    } catch {
      setTimeout(paint, 2000);
    }
    asking = '';
    early.splice(0).forEach(tap);
    paint();
  }

  const fitting = (tapped, begins = key) => plays.filter(play => play.key === begins && play.touches.length && tapped.every((square, at) => play.touches[at] === square));
  const whole = () => (taps.length ? fitting(taps).filter(play => play.touches.length === taps.length) : []);
  const current = () => whole()[path];
  const next = (tapped = taps) => new Set(fitting(tapped).map(play => play.touches[tapped.length]).filter(Boolean));
  // Where a tap goes now: on from what is tapped, or to another square instead of the last one.
  const targets = () => new Set([...next(), ...(taps.length > 1 || current() ? next(taps.slice(0, -1)) : [])]);
  // Where a tap begins a play: with the chosen key, or on a piece that waits for one.
  const begins = (play, square) => play.touches[0] === square && (play.key === key || pieceOn(square) !== '');
  const beginnings = () => new Set(plays.filter(play => play.touches.length && begins(play, play.touches[0])).map(play => play.touches[0]));

  function choose(squares, name = key) {
    [taps, key, path, isMeant] = [squares, name, 0, isMeant && name === key];
  }

  function tap(square) {
    refuse('');
    if (page().dataset.moment !== moment) {
      early.push(square);
      return;
    }
    const play = current();
    if (play && square === taps.at(-1)) {
      send(play.text);
      return;
    }
    const changed = [[...taps, square], ...(taps.length > 1 ? [[...taps.slice(0, -1), square]] : [])];
    const fits = taps.length && changed.find(tapped => fitting(tapped).length);
    if (!fits && isMeant) choose(taps, '');
    if (fits) choose(fits);
    else if (square === taps[0]) choose([]);
    else if (fitting([square]).length) choose([square]);
    else if (plays.some(each => begins(each, square))) {
      // It does nothing with the key that is chosen: another one is meant when there is but one.
      const ways = [...new Set(plays.filter(each => each.touches[0] === square).map(each => each.key))];
      choose([square], ways.length === 1 ? ways[0] : '');
      isMeant = Boolean(key);
    } else {
      choose([]);
      if (plays.length) refuse(say('Nothing can be done with {square} now', { square }));
    }
    paint();
  }

  function begin(name) {
    choose(taps, key === name && !isMeant ? '' : name);
    isMeant = false;
    if (!fitting(taps).length) choose([]);
    if (!plays.some(play => play.key === key)) {
      refuse(say('That cannot be done now'));
      choose(taps, '');
    }
    paint();
  }

  async function send(action) {
    const answer = await post(`/api/seat/${page().dataset.seat}/hand-in`, { moment, action });
    if (answer.ok) choose([], '');
    paint();
  }

  // ---- what it looks like ----

  const keysOf = () => JSON.parse(form().dataset.keys);

  // What the main key does now: its words, and the play behind it; without one it says what is missing.
  function main() {
    const chosen = current();
    if (chosen) return { label: chosen.label, action: chosen.text };
    if (taps.length) return { label: fitting(taps).length ? say('Tap where it goes') : say('Choose what to do') };
    if (key) return { label: say('{key}: tap the board', { key: keysOf().find(each => each.name === key)?.label }) };
    const straight = keysOf().find(each => each.is_main);
    if (!straight) return { label: plays.length ? say('Tap a square') : say('Wait') };
    const play = plays.find(each => each.key === straight.name && !each.squares.length);
    // Too early: the table says what is still due. While something can be moved, ending is no more than possible.
    return { label: straight.label, action: play?.text ?? form().dataset.open, isEarly: !play, isPlain: beginnings().size > 0 };
  }

  function paint() {
    if (!form()) return;
    if (page().dataset.moment !== moment) {
      fetchPlays();
      mark('', '');
      return;
    }
    form().dataset.taps = [key, ...taps, ''].join(' ');
    const { label, action, isEarly, isPlain } = main();
    const commit = document.getElementById('commit');
    commit.className = !action || isEarly ? 'key off' : isPlain ? 'key' : 'key go';
    commit.textContent = label;
    document.getElementById('other-path').hidden = whole().length < 2;
    for (const each of document.querySelectorAll('[data-begin]')) {
      const isOpen = taps.length ? fitting(taps, each.dataset.begin).length : plays.some(play => play.key === each.dataset.begin);
      each.classList.toggle('off', !isOpen && each.dataset.begin !== key);
      each.setAttribute('aria-pressed', String(each.dataset.begin === key));
    }
    const sign = document.getElementById('to-do');
    const words = current() ? say('Tap again, or the key below') : taps.length || key ? label : '';
    if (sign && sign.textContent !== words) sign.textContent = words;
    const [first] = taps;
    // Where a new piece can be placed is shown at once; else first what is tapped.
    const shows = [...targets()].filter(square => (taps.length || key ? !taps.includes(square) : !pieceOn(square)));
    const [held, free] = [true, false].map(isHeld => shows.filter(square => Boolean(pieceOn(square)) === isHeld));
    mark(frames(held) + dots(free), way(), first && pieceOn(first) ? [first] : []);
  }

  // What is chosen: whom it meets, the frame of its target with the piece faint in it, and its path.
  function way() {
    const play = current();
    if (!play) return pieceOn(taps[0]) ? '' : taps.map(target).join('');
    const [first, last] = [play.touches[0], play.touches.at(-1)];
    const piece = pieceOn(first);
    if (!piece) return (play.touches.length < 2 ? play.squares : play.touches).map(target).join('');
    const [[x0, y0], [x1, y1]] = [centre(first), centre(last)];
    const stays = key || pieceOn(last) || play.squares.at(-1) === first;
    const faint = stays ? '' : `<g class="ghost" transform="translate(${x1 - x0} ${y1 - y0})">${piece}</g>`;
    const paths = play.touches.length > 2 ? play.touches.slice(0, -1).map(start => [start, last]) : [play.squares.includes(last) ? play.squares : [...play.squares, last]];
    const met = play.meets.map(square => `<circle class="meets" cx="${centre(square)[0]}" cy="${centre(square)[1]}" r="45"/>`).join('');
    return `${faint}${paths.map(arrow).join('')}${met}${target(last)}`;
  }

  document.addEventListener('click', event => {
    if (!form()) return;
    const hit = event.target.closest?.('[data-begin], #other-path, #commit');
    if (!hit) return;
    if (hit.dataset.begin) begin(hit.dataset.begin);
    else if (hit.id === 'other-path') {
      path = (path + 1) % whole().length;
      paint();
    } else {
      const { action, label } = main();
      if (action) send(action);
      else refuse(label);
    }
  });

  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !form()) return;
    choose([], '');
    paint();
  });

  onTap('plays', { tap, paint, wanted: () => new Set([...targets(), ...beginnings(), ...taps]) });
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

  // A kind that is pressed is let go: the next direction is a plain step again.
  function tapKind(kind) {
    const before = given[unit];
    if (before?.kind === kind) {
      delete given[unit];
      keep();
      paint();
    } else order(kind, sheet.kinds[kind].has_direction && kindOf(before)?.has_direction ? before.way : '');
  }

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
    return [deed(unit), set ? say('Tap it again to remove it.') : say('Tap where it goes, or what it does.')];
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
    for (const key of document.querySelectorAll('[data-kind]')) key.setAttribute('aria-pressed', String(set?.kind === Number(key.dataset.kind)));
    for (const key of document.querySelectorAll('[data-way]')) key.setAttribute('aria-pressed', String(Boolean(set) && set.way === key.dataset.way));
    const rest = idle().map(each => each.name).join(', ');
    const main = document.getElementById('commit');
    main.className = rest ? 'key off' : 'key go';
    main.textContent = rest ? say('No orders yet: {units}', { units: rest }) : say('Hand in');
    tell(...words());
    const { square } = unitOf(unit);
    const around = isDone(set) ? [] : sheet.directions.map(each => shifted(square, each.step)).filter(Boolean);
    const [held, free] = [true, false].map(isHeld => around.filter(each => Boolean(pieceOn(each)) === isHeld));
    const [still, going] = [false, true].map(isGoing => sheet.units.filter(each => Boolean(kindOf(given[each.name])?.has_direction) === isGoing));
    mark(still.map(drawOrder).join('') + frames(held) + dots(free), going.map(drawOrder).join(''), [square]);
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
