// How fast the pages are, in a real browser against a real master. integration/bench/pages_test.go starts both, fills
// the database and says in the environment what is there:
//
//   DETENT_URL      the master
//   CHROMIUM        the browser
//   DETENT_WORLD    {"long": trial, "search": id, "stream": id, "streaming": [trials], "log": task, "seconds": n}
//
// A line "@figure {…}" on the output is a figure for the table; "@reports N" has the other side report N times a second for
// each of the streaming trials. Every part has an end: a part that takes longer
// than its patience fails.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';

const url = process.env.DETENT_URL;
const world = JSON.parse(process.env.DETENT_WORLD);
const patience = 120_000;

const figure = (what, value, unit, target = '') => console.log(`@figure ${JSON.stringify({ what, value, unit, target })}`);
const middle = (list, part = 0.5) => list.slice().sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * part))] ?? NaN;

async function signIn(page) {
  await page.goto(`${url}/login`);
  await page.getByLabel('Username').fill('determined');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((u) => !u.pathname.startsWith('/login'));
}

// open goes to a page as by its address, and measures until something is there.
async function open(page, path, there, arg) {
  const begun = performance.now();
  await page.goto(url + path);
  await page.waitForFunction(there, arg, { polling: 'raf', timeout: patience });
  return performance.now() - begun;
}

// frames moves something in each frame, and gives the milliseconds between frames.
const frames = (page, count, selector, step) => page.evaluate(([count, selector, step]) => new Promise((done) => {
  const el = selector ? document.querySelector(selector) : null;
  const gaps = [];
  let last = 0;
  const next = (now) => {
    if (last) gaps.push(now - last);
    last = now;
    if (el) el.scrollTop += step;
    if (gaps.length < count) requestAnimationFrame(next);
    else done(gaps);
  };
  requestAnimationFrame(next);
}), [count, selector, step]);

const smooth = 1000 / 60 * 1.5; // a longer frame has lost at least one
function framesOf(what, gaps) {
  figure(`${what}, a frame, p50`, middle(gaps), 'ms');
  figure('… p95', middle(gaps, 0.95), 'ms');
  figure('… frames that took longer than they may', gaps.filter((g) => g > smooth).length / gaps.length * 100, '%');
}

// heap is what the page keeps after a collection, in MB.
async function heap(page) {
  const inspector = await page.context().newCDPSession(page);
  await inspector.send('HeapProfiler.collectGarbage');
  const { usedSize } = await inspector.send('Runtime.getHeapUsage');
  await inspector.detach();
  return usedSize / 1e6;
}

// weighed counts the bytes that a page fetches, as they come over the network.
async function weighed(page) {
  const inspector = await page.context().newCDPSession(page);
  await inspector.send('Network.enable');
  let bytes = 0;
  inspector.on('Network.loadingFinished', (e) => { bytes += e.encodedDataLength; });
  return () => bytes;
}

// sizes prints what each part of the pages costs, and what the first page does.
function sizes() {
  const dist = join(import.meta.dirname, '..', 'dist');
  const size = (name) => gzipSync(readFileSync(join(dist, name)), { level: 9 }).length / 1000;
  const index = readFileSync(join(dist, 'index.html'), 'utf8');
  const first = ['index.html', ...[...index.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((m) => m[1])];
  const parts = readdirSync(join(dist, 'assets')).map((name) => [name, size(join('assets', name))]).filter(([name]) => !first.includes(`assets/${name}`));
  figure('first load, gzipped', first.reduce((sum, name) => sum + size(name), 0), 'KB', '60 KB');
  figure('everything, gzipped', first.reduce((sum, name) => sum + size(name), 0) + parts.reduce((sum, [, kb]) => sum + kb, 0), 'KB');
  console.log(`parts that are fetched when they are opened: ${parts.sort((a, b) => b[1] - a[1]).map(([name, kb]) => `${name.replace(/-[\w-]{8}\./, '.')} ${kb.toFixed(1)} KB`).join(', ')}`);
}

const parts = {
  async load(page, context) {
    sizes();
    const times = [];
    for (let i = 0; i < 5; i++) {
      const fresh = await context.browser().newContext();
      const p = await fresh.newPage();
      times.push(await open(p, '/login', () => document.querySelector('h1')?.textContent.startsWith('Sign in')));
      await fresh.close();
    }
    figure('an empty browser shows the sign-in, median of 5', middle(times), 'ms');
    figure('the list of 10,000 experiments has its first rows', await open(page, '/experiments', () => document.querySelectorAll('[role=gridcell] a').length > 5), 'ms');
  },

  async rows(page) {
    await open(page, '/experiments', () => document.querySelectorAll('[role=gridcell] a').length > 5);
    assert.ok((await page.getByRole('grid', { name: 'experiments' }).getAttribute('aria-rowcount')) > 9000, 'the list is long');
    framesOf('10,000 experiments scrolled', await frames(page, 200, '.rows', 900));
    figure('… rows in the document', await page.locator('[role=grid] [role=row]').count(), '');
  },

  async million(_, context) {
    const fresh = await context.browser().newContext({ viewport: { width: 1280, height: 800 } });
    const page = await fresh.newPage();
    await signIn(page);
    await page.goto('about:blank');
    const fetched = await weighed(page);
    const took = await open(page, `/trials/${world.long}`, () => (window.__charts?.loss?.data?.[0]?.length ?? 0) > 100);
    figure('the page with a curve of 1,000,000 points is drawn', took, 'ms');
    figure('… fetched for it', fetched() / 1000, 'KB');
    figure('… memory', await heap(page), 'MB');
    figure('… points that the browser has of it', await page.evaluate(() => window.__charts.loss.data[0].length), '');
    await fresh.close();
  },

  async stream(page) {
    const count = world.streaming.length;
    await open(page, `/experiments/${world.stream}?trials=${world.streaming.join(',')}`, (n) => window.__charts?.loss?.series.length === n + 1, count);
    const points = () => page.evaluate(() => window.__charts.loss.data.slice(1).reduce((sum, y) => sum + y.filter((v) => v !== null && v !== undefined).length, 0));
    const before = await points();
    const kept = await heap(page);
    framesOf(`${count} trials that report once a second each`, await frames(page, 300, '', 0));
    const end = Date.now() + world.seconds * 1000;
    while (Date.now() < end) await page.waitForTimeout(500);
    const grown = (await points()) - before;
    assert.ok(grown > count * 3, `the curves grew by ${grown} points only`);
    figure(`… points that came in ${world.seconds} s and the frames before`, grown, '');
    figure('… memory at the beginning', kept, 'MB');
    figure(`… after ${world.seconds} s more`, await heap(page), 'MB');
  },

  // An hour of 50 trials that report once a second, in minutes: the same number of reports, sent as fast as the master takes
  // them. What a page does by the clock (ages of things, requests every ten seconds) happens as often as in those minutes.
  async hour(page) {
    const count = world.streaming.length, hour = 3600;
    await open(page, `/experiments/${world.stream}?trials=${world.streaming.join(',')}`, (n) => window.__charts?.loss?.series.length === n + 1, count);
    const newest = () => page.evaluate(() => Math.min(...window.__charts.loss.data.slice(1).map((y) => y.findLastIndex((v) => typeof v === 'number'))
      .map((i) => window.__charts.loss.data[0][i] ?? 0)));
    const first = await newest();
    const kept = await heap(page), nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    const begun = performance.now();
    console.log('@reports 60');
    const end = Date.now() + 10 * patience;
    for (let at = first; at < first + hour; at = await newest()) {
      assert.ok(Date.now() < end, `each trial reported ${at - first} times only`);
      await page.waitForTimeout(1000);
    }
    const took = (performance.now() - begun) / 1000;
    console.log('@reports 1');
    figure(`an hour's ${(count * hour).toLocaleString('en')} reports, sent in`, took, 's');
    figure('… memory before', kept, 'MB');
    figure('… memory after', await heap(page), 'MB');
    figure('… elements in the document, before', nodes, '');
    figure('… elements in the document, after', await page.evaluate(() => document.querySelectorAll('*').length), '');
    framesOf(`${count} trials after an hour`, await frames(page, 300, '', 0));
    figure('… points of a chart', await page.evaluate(() => window.__charts.loss.data.slice(1).reduce((sum, y) => sum + y.filter((v) => typeof v === 'number').length, 0)), '');
  },

  async brush(page) {
    const took = await open(page, `/experiments/${world.search}/hyperparameters`, () => /10,000 trials\. Drag/.test(document.querySelector('main')?.textContent ?? ''));
    figure('10,000 trials in parallel coordinates are drawn', took, 'ms');
    const lines = page.getByRole('img', { name: /^Parallel coordinates/ });
    await lines.scrollIntoViewIfNeeded();
    const box = await lines.boundingBox();
    await page.evaluate(() => {
      window.waits = [];
      addEventListener('pointermove', (e) => requestAnimationFrame(() => requestAnimationFrame((now) => window.waits.push(now - e.timeStamp))), { capture: true });
    });
    await page.mouse.move(box.x + 64, box.y + 190);
    await page.mouse.down();
    for (let i = 0; i < 60; i++) await page.mouse.move(box.x + 64, box.y + 190 - i * 2);
    await page.mouse.up();
    await page.getByText(/of 10,000 trials chosen/).waitFor({ timeout: patience });
    const waits = await page.evaluate(() => window.waits);
    assert.ok(waits.length > 20, `${waits.length} movements were seen`);
    figure('… a movement of the brush is on the screen, p50', middle(waits), 'ms');
    figure('… p95', middle(waits, 0.95), 'ms');
  },

  async log(page) {
    const took = await open(page, `/tasks/${encodeURIComponent(world.log)}`, () => [...document.querySelectorAll('.line')].some((l) => l.textContent.includes('step 499 ')));
    figure('the end of a log of 1,000,000 lines is shown', took, 'ms');
    framesOf('… scrolled', await frames(page, 200, '.lines', -400));
    const begun = performance.now();
    await page.getByLabel('search the log').fill('epoch 0: step 17 loss=0.1234');
    await page.waitForFunction(() => document.querySelectorAll('.found').length > 0 || document.querySelector('.log')?.textContent.includes('No line matches.'), undefined, { polling: 'raf', timeout: patience });
    figure('… searched', performance.now() - begun, 'ms');
  },
};

// beside are the same measurements of TensorBoard, with the same million points.
parts.tensorboard = async (page, context) => {
  if (!world.tensorboard) return console.log('no TensorBoard beside');
  const fresh = await (await context.browser().newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  const fetched = await weighed(fresh);
  const begun = performance.now();
  await fresh.goto(world.tensorboard);
  // Its lines are drawn in a worker; the labels of its axes are in the document, and come with the data.
  await fresh.waitForFunction(() => [...document.querySelectorAll('line-chart text, .line-chart text')].some((t) => /\d/.test(t.textContent)), undefined, { polling: 'raf', timeout: patience });
  figure('TensorBoard: its page with a curve of 1,000,000 points is drawn', performance.now() - begun, 'ms');
  figure('… fetched for it', fetched() / 1000, 'KB');
  figure('… memory', await heap(fresh), 'MB');
  await fresh.context().close();
};

const wanted = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
const page = await context.newPage();
page.setDefaultTimeout(patience);
await signIn(page);
let failed = 0;
for (const [name, part] of Object.entries(parts)) {
  if (wanted.length && !wanted.includes(name)) continue;
  try {
    await part(page, context);
  } catch (error) {
    failed++;
    console.log(`${name} failed: ${error.stack ?? error}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
