// The checks of `walk_tools.py`. This script runs on every page of the walk, before the page's own scripts, and puts
// `pageChecks` there. Each function of `checks` returns the faults of the open page as sentences.
(() => {
  const MAX_SHIFT = 0.05; // sum of layout shifts, in the unit of Chromium's Layout Instability API
  const SLACK_PX = 4; // letters may reach this far beyond the box of their line
  const MIN_KEY_PX = 44; // height of a key for a finger, as WCAG 2.5.5 asks
  const MIN_MAIN_KEY_PX = 48;
  const MIN_LETTERS_PX = 11.9;
  const MIN_BOARD_SHARE = 0.6; // of the height of a laptop's window
  const AFAR_REM = 5.2; // `--w-lead`: smaller words on a table screen are for people nearby
  const KEYS = '.phone .key';

  const select = (selector, root = document) => [...root.querySelectorAll(selector)];
  const boxOf = element => element.getBoundingClientRect();
  const isVisible = element => element.checkVisibility({ visibilityProperty: true });
  const isCut = element => element.scrollWidth > element.clientWidth + 2;
  const nameOf = element => `${element.tagName}.${element.className}`;
  const fontSize = element => parseFloat(getComputedStyle(element).fontSize);
  const pageHeight = () => document.scrollingElement.scrollHeight;

  // Yields the texts in an element.
  function* textsIn(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) yield walker.currentNode;
  }

  // Returns the boxes of a part of a text, one for each line.
  function linesOf(text, start, end) {
    const range = document.createRange();
    range.setStart(text, start);
    range.setEnd(text, end);
    return [...range.getClientRects()];
  }

  function boxOfContents(node) {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range.getBoundingClientRect();
  }

  // Returns by how many pixels two boxes overlap in both directions. It is negative if they are apart.
  const overlapAcross = (boxA, boxB) => Math.min(boxA.right, boxB.right) - Math.max(boxA.left, boxB.left);
  const overlapAlong = (boxA, boxB) => Math.min(boxA.bottom, boxB.bottom) - Math.max(boxA.top, boxB.top);
  const overlap = (boxA, boxB) => Math.min(overlapAcross(boxA, boxB), overlapAlong(boxA, boxB));

  // Yields all pairs of different items, in both orders.
  function* pairs(items) {
    for (const first of items) for (const second of items) if (first !== second) yield [first, second];
  }

  // ---- shifts and news ----

  // Shifts after "recent input" count, too: nobody touches a page here, but Chromium takes a new window size for input.
  let shifts = [];
  let hasNews = false;
  const shiftObserver = new PerformanceObserver(list => shifts.push(...list.getEntries()));
  shiftObserver.observe({ type: 'layout-shift', buffered: true });
  document.addEventListener('shown', () => { hasNews = true; });

  // Returns whether the page has drawn news of its stream, or has no stream.
  const isUpToDate = () => !document.body.dataset.live || hasNews;

  function forgetNews() {
    shifts = [];
    hasNews = false;
  }

  // Waits until the page is laid out, scripts have placed their elements, and shifts are noted.
  const settle = () => new Promise(done => {
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
  });

  // ---- faults ----

  function layoutShift() {
    const sum = shifts.reduce((total, { value }) => total + value, 0);
    if (sum <= MAX_SHIFT) return [];
    const worst = shifts.toSorted((shiftA, shiftB) => shiftB.value - shiftA.value)[0];
    const node = worst.sources?.[0]?.node;
    return [`shifts by ${sum.toFixed(3)}: ${node ? `${node.nodeName}.${node.className ?? ''}` : ''}`];
  }

  function missingDrawings() {
    const names = select('use').map(use => use.getAttribute('href')).filter(name => name !== '#');
    const missing = new Set(names.filter(name => !document.getElementById(name.slice(1))));
    return [...missing].map(name => `no drawing ${name}`);
  }

  function sidewaysScroll() {
    const width = document.scrollingElement.scrollWidth;
    const room = document.documentElement.clientWidth;
    if (width <= room) return [];
    const outside = select('body *').filter(element => boxOf(element).right > room + 1 && !element.closest('svg'));
    return [`${width} px wide in ${room}: ${outside.slice(0, 3).map(nameOf).join(', ')}`];
  }

  function downwardScroll() {
    const room = document.documentElement.clientHeight; // `innerHeight` grows with a page that is too wide
    return pageHeight() > room ? [`scrolls: ${pageHeight()} px high in ${room}`] : [];
  }

  // Lists labels whose words are cut, and says whether the page is too wide.
  function cutLabels() {
    const width = document.scrollingElement.scrollWidth;
    const isWide = width > document.documentElement.clientWidth + 1;
    const labels = select('button, a.key, .sign, h1, h2, th, label, summary')
      .filter(label => label.checkVisibility() && !label.closest('.vh, svg, [hidden]'))
      .filter(label => boxOf(label).width && label.innerText?.trim());
    const cut = labels.filter(label => isCut(label) && label.clientWidth);
    return [
      ...(isWide ? [`the page is ${width} px wide`] : []),
      ...cut.map(label => `cut: ${label.innerText.trim().slice(0, 40)}`),
    ];
  }

  // Lists words that are broken over two lines where nothing allows it.
  function brokenWords(rowHeads = 'thead th') {
    const broken = [];
    for (const part of select(`button, .key, .sign, h1, h2, ${rowHeads}, .steps th, label, summary, .ours, #told`)) {
      if (!isVisible(part) || part.closest('.vh, svg, .mono') || part.textContent.includes('\u00ad')) continue;
      for (const text of textsIn(part)) for (const { 0: word, index } of text.data.matchAll(/[\p{L}’]{2,}/gu)) {
        const lines = linesOf(text, index, index + word.length).filter(({ width }) => width);
        if (new Set(lines.map(({ top }) => Math.round(top / 6))).size > 1) broken.push(`broken: ${word} in ${nameOf(part)}`);
      }
    }
    return broken;
  }

  // Lists words of keys that are broken elsewhere than at a hyphen.
  function brokenKeys() {
    const broken = [];
    for (const key of select(KEYS).filter(key => key.checkVisibility())) {
      for (const text of textsIn(key)) for (const { 0: word, index } of text.data.matchAll(/[^\s\u00ad-]+/g)) {
        const start = index + (text.data[index - 1] === '\u00ad'); // after a soft hyphen, the first letter also has the box of the hyphen
        const tops = linesOf(text, start, index + word.length).map(({ top }) => Math.round(top));
        if (new Set(tops).size > 1) broken.push(`broken: ${word} on a key`);
      }
    }
    const width = document.documentElement.scrollWidth;
    return width > innerWidth ? [...broken, `the page is ${width} px wide`] : broken;
  }

  // Lists texts in the instructions for hands that overlap.
  function overlappingTexts() {
    return select('.todo li').flatMap(row => {
      const texts = [...textsIn(row)].filter(text => text.data.trim() && !text.parentElement.closest('.vh, svg'));
      const words = texts.map(text => [text.data.trim(), boxOfContents(text)]);
      return [...pairs(words)].filter(([[textA, boxA], [textB, boxB]]) => textA !== textB && overlap(boxA, boxB) > 2)
        .map(([[textA], [textB]]) => `${textA} lies on ${textB}`);
    });
  }

  // Returns the part of the window in which an element can be seen, as its ancestors cut it.
  function frameOf(element) {
    const frame = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    for (let outer = element; outer; outer = outer.parentElement) {
      if (outer === document.body || getComputedStyle(outer).overflow === 'visible') continue;
      const edge = boxOf(outer);
      frame.left = Math.max(frame.left, edge.left);
      frame.top = Math.max(frame.top, edge.top);
      frame.right = Math.min(frame.right, edge.right);
      frame.bottom = Math.min(frame.bottom, edge.bottom);
    }
    return frame;
  }

  // Lists texts that reach beyond the window or an ancestor that cuts them.
  function cutTexts() {
    const cut = [];
    for (const part of select('main h1, main h2, main p, main li, main .sign, main small')) {
      if (!part.innerText?.trim() || part.matches('.still') || part.closest('.vh, .board, .log')) continue;
      const box = boxOfContents(part);
      if (!box.width || !box.height || getComputedStyle(part).visibility === 'hidden') continue;
      const frame = frameOf(part);
      const outside = Math.max(frame.left - box.left, frame.top - box.top, box.right - frame.right, box.bottom - frame.bottom);
      if (outside > SLACK_PX) cut.push(`${nameOf(part)} ${Math.round(outside)} px: ${part.innerText.slice(0, 60)}`);
    }
    return cut;
  }

  function overlappingParts() {
    const selector = '.rows > li, .home > .col, .mid > *, .page > .dial, .page > .lesson, .lanes, .facts > *, .chance, .page > .sign, .view .board, .asking > .key, .whole-word, #to-seat';
    const parts = select(selector).map(part => [part, boxOf(part)]).filter(([, box]) => box.width && box.height);
    return [...pairs(parts)]
      .filter(([[partA], [partB]]) => !partA.contains(partB) && !partB.contains(partA))
      .filter(([[, boxA], [, boxB]]) => overlap(boxA, boxB) > SLACK_PX)
      .map(([[partA], [partB]]) => `${partA.className} lies on ${partB.className}`);
  }

  function lowKeys() {
    const low = select('main .key, #to-seat').filter(key => isVisible(key) && boxOf(key).height < MIN_KEY_PX);
    return low.map(key => `too low: ${key.innerText}`);
  }

  // Lists small letters outside of pictures, and says whether the page scrolls.
  function smallLetters() {
    const small = innerHeight < pageHeight() ? ['scrolls'] : [];
    for (const element of select('main *')) {
      if (![...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim())) continue;
      if (!isVisible(element) || element.closest('.vh, .picture, .piece')) continue;
      const matrix = element.ownerSVGElement ? element.getScreenCTM() : { a: 1, b: 0 };
      const size = fontSize(element) * Math.hypot(matrix.a, matrix.b);
      if (size < MIN_LETTERS_PX) small.push(`${size.toFixed(1)} px: ${element.textContent.trim().slice(0, 40)}`);
    }
    return small;
  }

  // Lists faults of the layout for laptops, which has a board as tall as the window, and all keys beside it.
  function badSplit() {
    const faults = downwardScroll();
    const board = document.querySelector('.phone > .view .board, .phone > .shutter, .hold > .lanes, .clockwork > .dial');
    if (!board) return faults;
    const boardBox = boxOf(board);
    if (boardBox.height < MIN_BOARD_SHARE * innerHeight) faults.push(`the board is ${Math.round(boardBox.height)} px high in ${innerHeight}`);
    const isOverBoard = ({ width, left, right, bottom }) => width && left < boardBox.right - 1 && right > boardBox.left + 1 && bottom > boardBox.top;
    const misplaced = select(KEYS).filter(key => isOverBoard(boxOf(key)) && !board.contains(key));
    const cut = select(`${KEYS}, .phone .sign`).filter(key => key.checkVisibility() && isCut(key));
    return [...faults, ...misplaced.map(key => `not beside the board: ${key.innerText}`), ...cut.map(key => `cut: ${key.innerText}`)];
  }

  // Lists keys and signs on a low phone that are out of sight, cut or below the main key.
  function partsBelow() {
    const main = document.querySelector('#commit, #hand-in');
    const end = main ? boxOf(main).bottom : Infinity;
    const isBelow = part => boxOf(part).top >= end - 1;
    const isOutside = part => boxOf(part).bottom > innerHeight + 1 || part.scrollHeight > part.clientHeight + 2;
    return select('#live .key, #live .sign').filter(part => part.checkVisibility() && (isOutside(part) || isBelow(part)))
      .map(part => `below: ${part.innerText}`);
  }

  function smallHeadsAndKeys() {
    const cut = select('.top > span').filter(head => head.scrollWidth > head.clientWidth + 1);
    const low = select('#commit').filter(key => boxOf(key).height < MIN_MAIN_KEY_PX);
    return [...cut.map(head => `cut: ${head.innerText}`), ...low.map(key => `too low for a finger: ${key.innerText}`)];
  }

  // Lists words and keys that break with letters of twice their size.
  function brokenAtTwiceTheSize() {
    const root = document.documentElement;
    root.style.fontSize = '200%';
    const broken = [...brokenWords(), ...brokenKeys()];
    root.style.fontSize = '';
    return broken.map(fault => `${fault}, at twice the size`);
  }

  // ---- boards ----

  // Returns the width of a square or of the narrowest lane, a huge one if the page has neither.
  function squarePx() {
    const board = document.querySelector('.view .board');
    if (board) return Number(board.dataset.grid.split(' ')[2]) * board.getScreenCTM().a;
    return Math.min(...select('.lanes .ln').map(lane => boxOf(lane).width), 1e9);
  }

  // Returns left, top, width and height of a table screen's board, and the top of its sign.
  function boardPlace() {
    const board = document.querySelector('.desk .lies .board');
    if (!board) return null;
    const { left, top, width, height } = boxOf(board);
    const sign = document.querySelector('#sign');
    return [left, top, width, height, sign ? boxOf(sign).top : 0].map(Math.round);
  }

  function isBoardStanding() {
    const [lies, stands] = ['.lies', '.stands'].map(name => document.querySelector(`.desk ${name}`).checkVisibility());
    return stands && !lies;
  }

  // ---- axe ----

  // Returns the kinds of an element: its tag with each of its classes, and with each attribute that matters to axe. Axe need not
  // check a part again if parts of all its kinds were on pages before.
  const kindsOf = element => [
    ...[...element.classList].map(name => `${element.tagName}.${element.tagName === 'MAIN' ? '' : name}`), // the classes of MAIN are states of the page
    ...element.getAttributeNames().filter(name => /^(aria-|role|tabindex|hidden|disabled|alt)/.test(name))
      .map(name => `${element.tagName} ${name}`),
  ];

  // Lists the kinds of parts that the page is made of.
  const kinds = () => [...new Set(select('body *').flatMap(kindsOf))];

  const loadAxe = () => new Promise(done => {
    const script = document.createElement('script');
    script.onload = () => { script.remove(); done(); };
    script.src = '/axe.js';
    document.head.append(script);
  });

  const messages = ({ any, all, none }) => any.concat(all, none).map(({ message }) => message).join('; ').slice(0, 200);

  function isReadFromAfar(element) {
    return element.closest('.sign') || fontSize(element) >= AFAR_REM * fontSize(document.documentElement) - 0.5;
  }

  // Lists what axe finds on parts of these kinds, or on the whole page (null): by all of its rules, or by those alone that a
  // theme can break. On a table screen, contrast AAA is required of the sign and of everything as large.
  async function accessibilityFaults(newKinds, isThemeAlone, isTableScreen) {
    if (!window.axe) await loadAxe();
    const hasNewKind = element => kindsOf(element).some(kind => newKinds.includes(kind));
    const parts = newKinds && select('body *').filter(hasNewKind);
    if (parts && isTableScreen) parts.push(document.getElementById('live'));
    const rules = { 'color-contrast-enhanced': { enabled: isTableScreen } };
    const contrast = { type: 'rule', values: ['color-contrast', ...(isTableScreen ? Object.keys(rules) : [])] };
    const answer = await axe.run(parts ? { include: parts } : document, {
      ...(isThemeAlone ? { runOnly: contrast } : { rules }),
      resultTypes: isTableScreen ? ['violations', 'passes'] : ['violations'],
      preload: false, selectors: false, elementRef: true,
    });
    const isAfar = ({ element }) => element.closest('#live') && isReadFromAfar(element);
    const faults = answer.violations.flatMap(({ id, nodes }) => {
      const counted = id in rules ? nodes.filter(isAfar) : nodes.slice(0, 3);
      return counted.map(node => `${id}: ${node.html.slice(0, 160)} (${messages(node)})`);
    });
    const afar = [...answer.passes, ...answer.violations].find(({ id }) => id in rules)?.nodes ?? [];
    if (isTableScreen && !afar.some(({ element }) => element.closest('#live .sign'))) faults.push('axe has not measured the contrast of the sign');
    return faults;
  }

  // ---- for Python ----

  const checks = {
    badSplit, brokenAtTwiceTheSize, brokenKeys, brokenWords, cutLabels, cutTexts, downwardScroll, layoutShift, lowKeys, missingDrawings,
    overlappingParts, overlappingTexts, partsBelow, sidewaysScroll, smallHeadsAndKeys, smallLetters,
    brokenWordsAndRows: () => brokenWords('th'),
  };

  // Runs checks once the page has settled, and calls `done` with all faults.
  async function run(names, done) {
    await settle();
    done(names.flatMap(name => checks[name]()));
  }

  window.pageChecks = { accessibilityFaults, boardPlace, forgetNews, isBoardStanding, isUpToDate, kinds, run, squarePx };
})();
