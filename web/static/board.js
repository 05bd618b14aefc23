// Entering an action on a seat's board, in one of four ways (`data-mode` of the page): plays by taps, orders piece by piece,
// pieces placed in secret, and a card for a face-off. Nothing is sent before the player hands it in.
import { askFirst, forget, post, recall, remember, root, say, showRefusal } from './page.js';
import { handIn, takeReturnedOrder } from './seat.js';
import {
  arrowSvg, board, centre, dotsSvg, drawMarks, framesSvg, isTurned, onTap, page, pieceOn, shifted, targetSvg, useSvg, writeLine,
} from './squares.js';

// ---- plays ----

// A play is a legal action. The service lists them all, each with its notation (`text`), the squares that it concerns, the
// squares to be tapped for it (`touches`), those where a piece of the other side can stop it (`meets`), and perhaps the key
// that begins it. A player taps a piece and the squares of its path, then the last square once more or the main key.
{
  const RETRY_MS = 2000;
  const form = () => document.getElementById('plays');
  let plays = [];
  let moment = ''; // the moment of these plays
  let requestedMoment = '';
  let key = ''; // name of the chosen key beside the board, where squares alone would not say which play is meant
  let taps = []; // squares that were tapped for a play, in order
  let isKeyImplied = false; // the key was not tapped, but is the only one for the tapped square
  let pathNumber = 0; // if several plays consist of the same taps, which of them is chosen, from 0
  let earlyTaps = []; // taps that were made before the plays have arrived

  // ---- legal plays ----

  // Request the plays of the page's moment, unless they are here or on their way.
  async function fetchPlays() {
    const currentMoment = page().dataset.moment;
    if (currentMoment === moment || currentMoment === requestedMoment) return;
    requestedMoment = currentMoment;
    try {
      const answer = await fetch(`${root}/api/seat/${page().dataset.seat}/plays`, { cache: 'no-store' });
      const content = await answer.json();
      if (!answer.ok) throw new Error(content.error?.message);
      plays = content.plays.map(([text, squares, label, keyName, touches, meets]) => ({ text, squares, label, key: keyName, touches, meets }));
      if (moment !== content.moment) choose([], '');
      moment = content.moment;
    } catch {
      setTimeout(paint, RETRY_MS); // painting requests the plays again
    }
    requestedMoment = '';
    earlyTaps.splice(0).forEach(tap);
    paint();
  }

  // Plays that begin with these taps, and plays that consist of exactly the taps so far.
  const playsBeginningWith = (squares, keyName = key) => plays.filter(play => play.key === keyName && play.touches.length && squares.every((square, number) => play.touches[number] === square));
  const completePlays = () => (taps.length ? playsBeginningWith(taps).filter(play => play.touches.length === taps.length) : []);
  const chosenPlay = () => completePlays()[pathNumber];
  const nextSquares = (squares = taps) => new Set(playsBeginningWith(squares).map(play => play.touches[squares.length]).filter(Boolean));
  // Squares that continue the taps, or replace the last tap.
  const targets = () => new Set([...nextSquares(), ...(taps.length > 1 || chosenPlay() ? nextSquares(taps.slice(0, -1)) : [])]);
  // A tap begins a play of the chosen key. A tap on a piece may also begin a play whose key is chosen later.
  const startsPlay = (play, square) => play.touches[0] === square && (play.key === key || pieceOn(square) !== '');
  const startSquares = () => new Set(plays.filter(play => play.touches.length && startsPlay(play, play.touches[0])).map(play => play.touches[0]));

  // ---- choosing ----

  // Replace the taps, and perhaps the chosen key.
  function choose(squares, keyName = key) {
    [taps, key, pathNumber, isKeyImplied] = [squares, keyName, 0, isKeyImplied && keyName === key];
  }

  // Handle a tap on the board: hand in the chosen play, or choose by the square.
  function tap(square) {
    showRefusal('');
    if (page().dataset.moment !== moment) {
      earlyTaps.push(square);
      return;
    }
    const play = chosenPlay();
    if (play && square === taps.at(-1)) {
      send(play.text);
      return;
    }
    // the square continues the taps, or replaces the last one
    const candidates = [[...taps, square], ...(taps.length > 1 ? [[...taps.slice(0, -1), square]] : [])];
    const newTaps = taps.length && candidates.find(squares => playsBeginningWith(squares).length);
    if (!newTaps && isKeyImplied) choose(taps, '');
    if (newTaps) choose(newTaps);
    else if (square === taps[0]) choose([]);
    else if (playsBeginningWith([square]).length) choose([square]);
    else if (plays.some(candidate => startsPlay(candidate, square))) {
      // no play begins here with the chosen key: if there is only one other key, it is meant
      const keys = [...new Set(plays.filter(candidate => candidate.touches[0] === square).map(candidate => candidate.key))];
      choose([square], keys.length === 1 ? keys[0] : '');
      isKeyImplied = Boolean(key);
    } else {
      choose([]);
      if (plays.length) showRefusal(say('Nothing can be done with {square} now', { square }));
    }
    paint();
  }

  // Choose a key, or release it if it was chosen by a tap.
  function tapKey(name) {
    choose(taps, key === name && !isKeyImplied ? '' : name);
    isKeyImplied = false;
    if (!playsBeginningWith(taps).length) choose([]);
    if (!plays.some(play => play.key === key)) {
      showRefusal(say('That cannot be done now'));
      choose(taps, '');
    }
    paint();
  }

  async function send(action) {
    const answer = await post(`/api/seat/${page().dataset.seat}/hand-in`, { moment, action });
    if (answer.ok) choose([], '');
    paint();
  }

  // ---- painting ----

  const keysOfGame = () => JSON.parse(form().dataset.keys);

  // Return label and action of the main key. Without an action the label says what is missing.
  function mainKey() {
    const chosen = chosenPlay();
    if (chosen) return { label: chosen.label, action: chosen.text };
    if (taps.length) return { label: playsBeginningWith(taps).length ? say('Tap where it goes') : say('Choose what to do') };
    if (key) return { label: say('{key}: tap the board', { key: keysOfGame().find(gameKey => gameKey.name === key)?.label }) };
    const endKey = keysOfGame().find(gameKey => gameKey.is_main);
    if (!endKey) return { label: plays.length ? say('Tap a square') : say('Wait') };
    const play = plays.find(candidate => candidate.key === endKey.name && !candidate.squares.length);
    // The key also sends its action when that is not legal yet, because the table's refusal says what is missing. While pieces
    // can still be moved, the key is not highlighted.
    return { label: endKey.label, action: play?.text ?? form().dataset.open, isTooEarly: !play, isSecondary: startSquares().size > 0 };
  }

  function paint() {
    if (!form()) return;
    if (page().dataset.moment !== moment) {
      fetchPlays();
      drawMarks('', '');
      return;
    }
    form().dataset.taps = [key, ...taps, ''].join(' ');
    const { label, action, isTooEarly, isSecondary } = mainKey();
    const commit = document.getElementById('commit');
    commit.className = !action || isTooEarly ? 'key off' : isSecondary ? 'key' : 'key go';
    commit.textContent = label;
    document.getElementById('other-path').hidden = completePlays().length < 2;
    for (const button of document.querySelectorAll('[data-begin]')) {
      const name = button.dataset.begin;
      const isUsable = taps.length ? playsBeginningWith(taps, name).length : plays.some(play => play.key === name);
      button.classList.toggle('off', !isUsable && name !== key);
      button.setAttribute('aria-pressed', String(name === key));
    }
    const sign = document.getElementById('to-do');
    const instruction = taps.length || key ? label : '';
    const signText = chosenPlay() ? say('Tap again, or the key below') : instruction;
    if (sign && sign.textContent !== signText) sign.textContent = signText;
    const [first] = taps;
    // Before the first tap only free squares are marked, where a new piece can be placed.
    const marked = [...targets()].filter(square => (taps.length || key ? !taps.includes(square) : !pieceOn(square)));
    const [occupied, free] = [true, false].map(hasPiece => marked.filter(square => Boolean(pieceOn(square)) === hasPiece));
    drawMarks(framesSvg(occupied) + dotsSvg(free), chosenPlaySvg(), first && pieceOn(first) ? [first] : []);
  }

  // Draw the chosen play: its path, the pieces that it meets, and the moved piece, faint, in a frame around its target.
  function chosenPlaySvg() {
    const play = chosenPlay();
    if (!play) return pieceOn(taps[0]) ? '' : taps.map(targetSvg).join('');
    const [first, last] = [play.touches[0], play.touches.at(-1)];
    const piece = pieceOn(first);
    if (!piece) return (play.touches.length < 2 ? play.squares : play.touches).map(targetSvg).join('');
    const [[x0, y0], [x1, y1]] = [centre(first), centre(last)];
    const staysInPlace = key || pieceOn(last) || play.squares.at(-1) === first;
    const ghost = staysInPlace ? '' : `<g class="ghost" transform="translate(${x1 - x0} ${y1 - y0})">${piece}</g>`;
    // a play of more than two taps is one of several pieces that act together: an arrow leads from each of them to the last tap
    const arrowsToLast = play.touches.slice(0, -1).map(start => [start, last]);
    const pathSquares = play.squares.includes(last) ? play.squares : [...play.squares, last];
    const arrows = play.touches.length > 2 ? arrowsToLast : [pathSquares];
    const met = play.meets.map(square => `<circle class="meets" cx="${centre(square)[0]}" cy="${centre(square)[1]}" r="45"/>`).join('');
    return `${ghost}${arrows.map(arrowSvg).join('')}${met}${targetSvg(last)}`;
  }

  document.addEventListener('click', event => {
    if (!form()) return;
    const button = event.target.closest?.('[data-begin], #other-path, #commit');
    if (!button) return;
    if (button.dataset.begin) tapKey(button.dataset.begin);
    else if (button.id === 'other-path') {
      pathNumber = (pathNumber + 1) % completePlays().length;
      paint();
    } else {
      const { action, label } = mainKey();
      if (action) send(action);
      else showRefusal(label);
    }
  });

  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !form()) return;
    choose([], '');
    paint();
  });

  onTap('plays', { tap, paint, tappable: () => new Set([...targets(), ...startSquares(), ...taps]) });
  document.addEventListener('shown', paint);
  document.addEventListener('focusin', event => { if (event.target === board()) paint(); });
  paint();
}

// ---- orders piece by piece ----

// Every piece (unit) gets an order, which has a kind and for some kinds a direction. The orders are drawn over the player's
// board. They stay in this browser until they are handed in.
{
  const form = () => document.getElementById('sheet');
  const storageKey = () => `orders:${page().dataset.seat}:${page().dataset.moment}`;
  let orders = {}; // by the unit's name: { kind: its number, way: the letter of a direction or '' }
  let chosen = ''; // name of the chosen unit
  let drawnKey = ''; // key under which the orders on the page are stored
  let sheet = { units: [], kinds: [], directions: [] };

  function storeOrders() {
    forget(name => name.startsWith('orders:') && name !== storageKey());
    remember(storageKey(), JSON.stringify(orders));
  }

  const unitOf = name => sheet.units.find(unit => unit.name === name);
  const directionOf = letter => sheet.directions.find(direction => direction.letter === letter);
  const kindOf = order => sheet.kinds[order?.kind];
  const isComplete = order => Boolean(order) && (!kindOf(order).has_direction || Boolean(order.way));
  // Return an order as text: in the notation, or with the initials of the player's language.
  const orderText = (order, hasInitials) => (order ? `${kindOf(order).letter}${(hasInitials && directionOf(order.way)?.initial) || order.way}` : '');
  const unitsWithoutOrders = () => sheet.units.filter(unit => !isComplete(orders[unit.name]));

  // Return all orders in the notation.
  function notation() {
    const texts = sheet.units.filter(unit => isComplete(orders[unit.name])).map(unit => `${unit.name}:${orderText(orders[unit.name])}`);
    return texts.join(' ') || `${sheet.units[0].name}:${sheet.nothing}`;
  }

  // Choose the next unit without an order. If all have one, the choice stays.
  function chooseNext() {
    const number = sheet.units.findIndex(unit => unit.name === chosen);
    const others = [...sheet.units.slice(number + 1), ...sheet.units.slice(0, number)];
    chosen = others.find(unit => !orders[unit.name])?.name ?? chosen;
  }

  function choose(name) {
    chosen = name;
    showRefusal('');
    paint();
  }

  // Give the chosen unit an order. The same order once more removes it.
  function giveOrder(kind, way) {
    const oldOrder = orders[chosen];
    const isSame = oldOrder && oldOrder.kind === kind && (oldOrder.way === way || !sheet.kinds[kind].has_direction);
    if (isSame && isComplete(oldOrder)) delete orders[chosen];
    else orders[chosen] = { kind, way: sheet.kinds[kind].has_direction ? way : '' };
    if (isComplete(orders[chosen])) chooseNext();
    showRefusal('');
    storeOrders();
    paint();
  }

  function clear() {
    orders = {};
    chosen = '';
    showRefusal('');
    storeOrders();
    paint();
  }

  // A tap on the kind that is chosen removes the order.
  function tapKind(kind) {
    const oldOrder = orders[chosen];
    if (oldOrder?.kind === kind) {
      delete orders[chosen];
      storeOrders();
      paint();
    } else giveOrder(kind, sheet.kinds[kind].has_direction && kindOf(oldOrder)?.has_direction ? oldOrder.way : '');
  }

  // If a direction is tapped before a kind, it is that of a plain step, which is the first kind that has a direction.
  function tapDirection(letter) {
    const kind = kindOf(orders[chosen])?.has_direction ? orders[chosen].kind : sheet.kinds.findIndex(({ has_direction }) => has_direction);
    giveOrder(kind, letter);
  }

  function tapSquare(square) {
    const ownUnit = sheet.units.find(unit => unit.square === square);
    const origin = unitOf(chosen)?.square;
    const direction = origin && sheet.directions.find(({ step }) => shifted(origin, step) === square);
    // an order that lacks its direction comes before the choice of another unit
    const lacksDirection = orders[chosen] && !isComplete(orders[chosen]);
    if (ownUnit && !lacksDirection) choose(ownUnit.name);
    else if (direction) tapDirection(direction.letter);
    else if (ownUnit) choose(ownUnit.name);
  }

  // ---- painting ----

  // Draw the order of a unit. Empty unless it is complete.
  function orderSvg({ name, square }) {
    const order = orders[name];
    const kind = kindOf(order);
    if (!kind || !isComplete(order)) return '';
    const [x, y] = centre(square);
    if (!kind.has_direction) return useSvg(kind.drawing, [x, y - 4], 112, name === chosen ? 'deed on' : 'deed');
    const { step } = directionOf(order.way);
    const [right, down] = isTurned() ? [-step[0], step[1]] : [step[0], -step[1]];
    const nextSquare = shifted(square, step);
    const degrees = Math.atan2(down, right) * 180 / Math.PI;
    // Drawings of keys (order-…) are arrows that point up. They are drawn in the next square. All other drawings point right, and
    // are drawn across the edge between the squares.
    if (!kind.drawing.startsWith('order-')) return `<g class="deed">${useSvg(kind.drawing, [x + right * 50, y + down * 50], 46, 'blade', degrees)}</g>`;
    const orderArrow = useSvg(kind.drawing, [x + right * 74, y + down * 74], 58, 'deed', degrees + 90);
    return (nextSquare ? targetSvg(nextSquare) : '') + orderArrow;
  }

  // The order of a unit in words, without its name. Empty if it has none.
  function orderLabel(name) {
    const order = orders[name];
    return [kindOf(order)?.label, order?.way && directionOf(order.way).label].filter(Boolean).join(' ').toLowerCase();
  }

  function unitText(name) {
    return orders[name] ? say('{option}: {choice}', { option: name, choice: orderLabel(name) }) : say('{unit}: no order yet', { unit: name });
  }

  // Return both texts of the line beside the board: the chosen unit's order, and what to do next.
  function lineTexts() {
    const order = orders[chosen];
    if (kindOf(order)?.has_direction && !order.way) return [unitText(chosen), say('In which direction?')];
    return [unitText(chosen), order ? say('Tap it again to remove it.') : say('Tap where it goes, or what it does.')];
  }

  // Draw a key for each unit, with its order. Keys that have not changed are not replaced, so that a press on one is not lost.
  function paintUnits() {
    const row = form().querySelector('.units'), noOrder = say('no order yet');
    const keys = sheet.units.map(unit => {
      const key = Object.assign(document.createElement('button'), { type: 'button', className: 'key unit' });
      key.dataset.unit = unit.name;
      key.setAttribute('aria-pressed', String(unit.name === chosen));
      key.setAttribute('aria-label', say('{unit}: {note}, {order}', { unit: unit.name, note: unit.note, order: orderLabel(unit.name) || noOrder }));
      key.append(Object.assign(document.createElement('b'), { className: 'mono', textContent: `${unit.name}:${orderText(orders[unit.name], true)}` }));
      key.append(Object.assign(document.createElement('small'), { textContent: unit.note }));
      return key;
    });
    if (keys.length === row.children.length && keys.every((key, number) => key.isEqualNode(row.children[number]))) return;
    const focused = row.contains(document.activeElement) && document.activeElement.dataset.unit;
    row.replaceChildren(...keys);
    if (focused) keys.find(key => key.dataset.unit === focused)?.focus({ preventScroll: true });
  }

  // Parse orders in the notation.
  function ordersIn(action) {
    const possibleOrders = sheet.kinds.flatMap(({ has_direction }, kind) => (has_direction ? sheet.directions.map(({ letter }) => letter) : ['']).map(way => ({ kind, way })));
    const parts = action.split(' ').map(part => part.split(':'));
    return Object.fromEntries(parts.map(([name, text]) => [name, possibleOrders.find(order => orderText(order) === text)]).filter(([, order]) => order));
  }

  // Hand in the orders, after a question if some are missing.
  function commit() {
    const units = unitsWithoutOrders().map(unit => unit.name).join(', ');
    const words = { question: say('No orders yet: {units}', { units }), yes: say('Hand in'), no: say('Keep planning') };
    if (units) askFirst(document.getElementById('commit'), words, () => handIn(notation()));
    else handIn(notation());
  }

  function paint() {
    if (!form()) return;
    sheet = JSON.parse(form().dataset.sheet);
    if (drawnKey !== storageKey()) {
      drawnKey = storageKey();
      orders = JSON.parse(recall(drawnKey) ?? '{}');
      chosen = '';
    }
    const returnedOrders = takeReturnedOrder();
    if (returnedOrders) {
      orders = ordersIn(returnedOrders);
      storeOrders();
    }
    if (!unitOf(chosen)) chosen = (unitsWithoutOrders()[0] ?? sheet.units[0]).name;
    paintUnits();
    const order = orders[chosen];
    for (const key of document.querySelectorAll('[data-kind]')) key.setAttribute('aria-pressed', String(order?.kind === Number(key.dataset.kind)));
    for (const key of document.querySelectorAll('[data-way]')) key.setAttribute('aria-pressed', String(Boolean(order) && order.way === key.dataset.way));
    const units = unitsWithoutOrders().map(unit => unit.name).join(', ');
    const commitKey = document.getElementById('commit');
    commitKey.className = units ? 'key off' : 'key go';
    commitKey.textContent = units ? say('No orders yet: {units}', { units }) : say('Hand in');
    writeLine(...lineTexts());
    const { square } = unitOf(chosen);
    const neighbours = isComplete(order) ? [] : sheet.directions.map(({ step }) => shifted(square, step)).filter(Boolean);
    const [occupied, free] = [true, false].map(hasPiece => neighbours.filter(neighbour => Boolean(pieceOn(neighbour)) === hasPiece));
    const [staying, moving] = [false, true].map(isMoving => sheet.units.filter(unit => Boolean(kindOf(orders[unit.name])?.has_direction) === isMoving));
    drawMarks(staying.map(orderSvg).join('') + framesSvg(occupied) + dotsSvg(free), moving.map(orderSvg).join(''), [square]);
  }

  document.addEventListener('click', event => {
    const key = form() && event.target.closest?.('[data-unit], [data-kind], [data-way], #clear, #commit');
    if (!key) return;
    if (key.dataset.unit) choose(key.dataset.unit);
    else if (key.dataset.kind) tapKind(Number(key.dataset.kind));
    else if (key.dataset.way) tapDirection(key.dataset.way);
    else if (key.id === 'clear') clear();
    else commit();
  });

  document.addEventListener('keydown', event => {
    if (!form() || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.('input, textarea')) return;
    const letter = event.key.length === 1 ? event.key : '';
    const kind = sheet.kinds.findIndex(orderKind => orderKind.letter && orderKind.letter.toLowerCase() === letter.toLowerCase());
    const direction = sheet.directions.find(candidate => (candidate.initial || candidate.letter) === letter.toUpperCase());
    if (unitOf(letter)) choose(letter);
    else if (letter && direction) tapDirection(direction.letter);
    else if (letter && kind >= 0) tapKind(kind);
  });

  onTap('sheet', { tap: tapSquare, paint, tappable: () => new Set(sheet.units.map(unit => unit.square)) });
  document.addEventListener('shown', paint);
  paint();
}

// ---- pieces placed in secret ----

// Until a player hands in where the pieces are placed, only this browser knows it.
{
  const form = () => document.getElementById('placing');
  const storageKey = () => `placing:${page().dataset.seat}:${page().dataset.moment}`;
  let squares = []; // the square of each piece
  let chosen = -1; // the chosen piece, or -1
  let drawnKey = '';
  let placing = { pieces: [], squares: [], proposal: [] };

  function storeSquares() {
    forget(name => name.startsWith('placing:') && name !== storageKey());
    remember(storageKey(), JSON.stringify(squares));
  }

  // Return the placing in the notation. Pieces with the same letter are interchangeable. So they are written in the order of their
  // squares, and the notation does not depend on which is which.
  function notation() {
    const squaresOf = new Map();
    placing.pieces.forEach(({ letter }, number) => squaresOf.set(letter, [...(squaresOf.get(letter) ?? []), squares[number]].sort()));
    return placing.pieces.map(({ letter }) => `${letter}@${squaresOf.get(letter).shift()}`).join(' ');
  }

  function tap(square) {
    const pieceHere = squares.indexOf(square);
    showRefusal('');
    if (chosen < 0) {
      if (pieceHere >= 0) chosen = pieceHere;
      else showRefusal(say('Tap one of your pieces first'));
    } else if (pieceHere === chosen) chosen = -1;
    else if (!placing.squares.includes(square)) showRefusal(say('Your pieces start on the framed squares'));
    else {
      if (pieceHere >= 0) squares[pieceHere] = squares[chosen]; // the two change places
      squares[chosen] = square;
      chosen = -1;
      storeSquares();
    }
    paint();
  }

  function clear() {
    squares = [...placing.proposal];
    chosen = -1;
    showRefusal('');
    storeSquares();
    paint();
  }

  function paint() {
    if (!form()) return;
    placing = JSON.parse(form().dataset.placing);
    if (drawnKey !== storageKey()) {
      drawnKey = storageKey();
      squares = JSON.parse(recall(drawnKey) ?? 'null') ?? [...placing.proposal];
      chosen = -1;
    }
    // letter and square of each piece of a placing that was taken back
    const returnedPieces = takeReturnedOrder().split(' ').filter(Boolean).map(piece => piece.split('@'));
    if (returnedPieces.length) {
      squares = placing.pieces.map(({ letter }) => {
        const number = returnedPieces.findIndex(([name]) => name === letter);
        const [[, square]] = returnedPieces.splice(number, 1);
        return square;
      });
      storeSquares();
    }
    const pieces = placing.pieces.map(({ drawn: svg }, number) => {
      const [x, y] = centre(squares[number]);
      return `<g transform="translate(${x} ${y})"${number === chosen ? ' class="on"' : ''}>${svg}</g>`;
    });
    // the table does not know this placing yet, so the board is described here
    board().setAttribute('aria-label', placing.pieces.map(({ face }, number) => `${face} ${squares[number]}`).join(', '));
    const free = placing.squares.filter(square => chosen < 0 || square !== squares[chosen]);
    if (chosen < 0) writeLine('');
    else writeLine(`${placing.pieces[chosen].face} ${squares[chosen]}`, say('Tap where it starts. On another piece the two change places.'));
    drawMarks(framesSvg(free), pieces.join(''), chosen < 0 ? [] : [squares[chosen]]);
  }

  document.addEventListener('click', event => {
    if (form() && event.target.closest?.('#commit')) handIn(notation());
    if (form() && event.target.closest?.('#clear')) clear();
  });

  document.addEventListener('covered', () => { chosen = -1; paint(); }); // a chosen piece would show where it is

  onTap('placing', { tap, paint, tappable: () => new Set(placing.squares) });
  document.addEventListener('shown', paint);
  paint();
}

// ---- face-offs ----

// A face-off is decided by a card of each player. The page shows the sum that the chosen card would make.
{
  const form = () => document.getElementById('duel');
  let card = '';
  let drawnMoment = '';

  function paint() {
    if (!form()) return;
    if (drawnMoment !== page().dataset.moment) {
      drawnMoment = page().dataset.moment;
      card = '';
    }
    card = takeReturnedOrder() || card;
    for (const key of document.querySelectorAll('[data-card]')) key.setAttribute('aria-pressed', String(key.dataset.card === card));
    const ownCard = document.getElementById('mine');
    ownCard.replaceChildren(Object.assign(document.createElement('span'), { textContent: card }));
    ownCard.classList.toggle('open', !card);
    const commit = document.getElementById('commit');
    commit.className = card ? 'key go' : 'key off';
    commit.textContent = card ? say('Hand in {card}', { card }) : say('Hand in: choose a card');
    const strength = Number(form().dataset.strength);
    const numberText = number => String(number).replace('-', '−'); // with a minus sign
    const sum = { strength: numberText(strength), card, sum: numberText(strength + Number(card)) };
    writeLine(card ? say('{strength} with card {card} makes {sum}.', sum) : '', form().dataset.rule);
  }

  document.addEventListener('click', event => {
    const key = form() && event.target.closest?.('.deal-keys [data-card], #commit');
    if (!key) return;
    if (key.dataset.card) {
      card = key.dataset.card === card ? '' : key.dataset.card;
      showRefusal('');
      paint();
    } else if (card) handIn(card);
    else showRefusal(say('Choose a card first'));
  });

  document.addEventListener('keydown', event => {
    const key = form() && !event.repeat && !event.target.matches?.('input, textarea') && form().querySelector(`[data-card="${CSS.escape(event.key)}"]`);
    if (key) key.click();
  });

  document.addEventListener('shown', paint);
  paint();
}
