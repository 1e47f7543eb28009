// What the stories in a browser share: a person's steps, looks at the page, and the run itself.
// integration/pages/ui_test.go starts master and cluster, and says in the environment what is there:
//
//   DETENT_URL      the master
//   CHROMIUM        the browser
//   DETENT_WORLD    {"done": id, "live": id, "failed": id, "waiting": id, "search": id, …} of things that are there
//   DETENT_SHOTS    a folder for a picture of each story that fails
//   DETENT_PICTURES a folder for pictures of the pages that sound looks at
//
// A line "@ask WORD" on the output asks the other side for something that a browser
// cannot do; its answer is a line on the input.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const url = process.env.DETENT_URL;
export const world = JSON.parse(process.env.DETENT_WORLD ?? '{}');
export const patience = 60_000;

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
export async function ask(word) {
  console.log(`@ask ${word}`);
  const { value } = await answers.next();
  assert.equal(value, 'done', `${word}: ${value}`);
}

// until polls; a story never sleeps.
export async function until(what, look, within = patience) {
  const deadline = Date.now() + within;
  let last;
  while (Date.now() < deadline) {
    last = await look();
    if (last) return last;
    await new Promise((r) => setTimeout(r, 50));
  }
  assert.fail(`${what} did not happen; last: ${JSON.stringify(last)}`);
}

export async function signIn(page, next = '/') {
  await page.goto(url + next);
  await page.getByLabel('Username').fill('determined');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((u) => !u.pathname.startsWith('/login'));
}

export const points = (page, chart) => page.evaluate((id) => window.__charts?.[id]?.data?.[0]?.length ?? 0, chart);
export const rows = (page, label) => page.getByRole('grid', { name: label }).locator('[role=row]:not(.th, .none)');

// pictures writes what a page looks like in both themes, for a person to look at.
export async function pictures(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(process.env.DETENT_PICTURES, `${name}-${colorScheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

// Parts of what axe looks at: colours alone, and all but colours, which take it longest.
const colours = { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };
const tags = { runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] } };
const structure = { ...tags, rules: { 'color-contrast': { enabled: false } } };

// violations are what axe finds wrong on the page as it is.
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export async function violations(page, part = tags) {
  if (!(await page.evaluate(() => 'axe' in window))) {
    // As a script of the inspector: the policy of the page allows none that it does not have itself.
    const inspector = await page.context().newCDPSession(page);
    await inspector.send('Runtime.evaluate', { expression: axe });
    await inspector.detach();
  }
  // Only the violations leave the browser: all that axe reports about a page takes longer to send than to find.
  return page.evaluate(async (part) => {
    const found = await window.axe.run(document, { ...part, resultTypes: ['violations'] });
    return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
  }, part);
}

// post sends a request as the person who is signed in.
export const post = (page, path, body, method = 'POST') => page.evaluate(async ([path, body, method]) => {
  const r = await fetch(path, { method, headers: { 'Content-Type': 'application/json' }, ...(body ? { body: JSON.stringify(body) } : {}) });
  if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`);
  return r.json().catch(() => ({}));
}, [path, body, method]);

// enter signs in under a name, once more if somebody else is signed in.
export async function enter(page, name, next, password = '') {
  await page.context().clearCookies();
  await page.goto(`${url}/login?next=${encodeURIComponent(next)}`);
  await page.getByLabel('Username').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((u) => !u.pathname.startsWith('/login'));
}

// visit opens a page with a screen and a theme, and says whether it is wider than the screen.
async function visit(page, path, colorScheme, width) {
  await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
  await page.emulateMedia({ colorScheme });
  await page.goto(url + path);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await until('it is loaded', async () => (await page.locator('.loading').count()) === 0);
  return tooWide(page, path, width);
}

async function tooWide(page, path, width) {
  const wide = await page.evaluate(() => document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth);
  return wide > 0 ? [`${path} is ${wide} pixels wider than a screen of ${width}`] : [];
}

const asUsual = async (page) => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: 'light' });
};

// sound looks at pages with axe in both themes, and whether they are wider than a large or a small screen, if nothing else is said. A page that
// is open changes its theme as it is, and then only its colours differ; each screen loads it anew. A second screen has the same elements with the
// same colours in other places: just nightly looks at it with axe too.
export async function sound(page, paths, looks = [['light', 1280], ['dark', 1280], ['light', 390]]) {
  const wrong = [];
  for (const path of paths) {
    let open;
    const themes = new Set();
    for (const [colorScheme, width] of looks) {
      let part = themes.has(colorScheme) ? structure : tags;
      if (width !== open) wrong.push(...(await visit(page, path, colorScheme, width)));
      else {
        await page.emulateMedia({ colorScheme });
        wrong.push(...(await tooWide(page, path, width)));
        part = colours;
      }
      open = width;
      themes.add(colorScheme);
      if (part !== structure || process.env.DETENT_THOROUGH === '1') wrong.push(...(await violations(page, part)).map((v) => `${path} ${colorScheme} ${width} ${v}`));
      if (process.env.DETENT_PICTURES) await page.screenshot({ path: join(process.env.DETENT_PICTURES, `${path.replace(/\W+/g, '-').slice(1)}-${colorScheme}-${width}.png`) });
    }
  }
  await asUsual(page);
  assert.deepEqual(wrong, []);
}

// fits looks only whether pages are wider than a large and a small screen.
export async function fits(page, paths) {
  const wrong = [];
  for (const path of paths) for (const width of [1280, 390]) wrong.push(...(await visit(page, path, 'light', width)));
  await asUsual(page);
  assert.deepEqual(wrong, []);
}

// pagesOf are all pages of the world, for what holds everywhere.
export const pagesOf = () => [
  '/dashboard', `/experiments/${world.search}/hyperparameters`, `/experiments/${world.failed}/timeline`, `/experiments/${world.done}/code`, `/experiments/${world.done}/code?file=look.ipynb`,
  ...['curves', 'metrics', 'configuration', 'code', 'system'].map((v) => `/compare?experiments=${world.done},${world.search},${world.failed}&view=${v}`),
  '/experiments', `/experiments/${world.done}`, `/experiments/${world.failed}`, `/experiments/${world.search}`, `/experiments/${world.done}/trials`, `/experiments/${world.search}/trials`,
  `/experiments/${world.done}/checkpoints`, `/experiments/${world.done}/configuration`, `/experiments/${world.done}/logs`,
  `/experiments/${world.done}/fork`, `/experiments/${world.failed}/continue`,
  '/experiments?compose=1&where=state+%3D+completed+and+hp.lr+%3C+1', '/workspaces', '/workspaces/1', '/projects/1', '/projects/1/notes', '/manage/users', '/manage/tokens', '/manage/secrets', '/manage/webhooks', '/manage/templates', '/manage/policies', '/workspaces/1/policies', '/workspaces/1/pools', '/manage/quotas', '/manage/usage', '/manage/usage?by=pool&from=2025-01-01&until=2026-12-31',
  '/manage/templates?edit=', '/settings', '/tasks', '/tasks?over=1', '/launch/notebooks', '/launch/commands?view=yaml', '/launch/generics', '/models', '/cluster', '/cluster?tab=queue', `/nodes/${encodeURIComponent(world.node)}`, `/tasks/${world.command}`,
  `/compare?experiments=${world.done},${world.search}`,
];

// tell runs stories, all or those whose names hold one of the words on the command line, and ends the process.
export async function tell(stories) {
  const wanted = process.argv.slice(2);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  let failed = 0;
  for (const [name, story] of Object.entries(stories)) {
    if (wanted.length && !wanted.some((w) => name.includes(w))) continue;
    // Without motion: a state that pulses is drawn sixty times in a second, by the processor.
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', reducedMotion: 'reduce' });
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    const problems = [];
    page.on('pageerror', (e) => problems.push(`exception: ${e.message}`));
    page.on('console', (m) => {
      // What the policy forbids is a mistake of ours; a refused request is what some stories are about.
      if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) problems.push(`console: ${m.text()}`);
    });
    const begin = Date.now();
    try {
      await story(page, problems);
      assert.deepEqual(problems, []);
      console.log(`ok ${name} (${((Date.now() - begin) / 1000).toFixed(1)}s)`);
    } catch (error) {
      failed++;
      console.log(`not ok ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}\n    problems: ${problems.join('; ') || 'none'}\n    at ${page.url()}`);
      for (const [i, open] of process.env.DETENT_SHOTS ? context.pages().entries() : []) {
        await open.screenshot({ path: join(process.env.DETENT_SHOTS, `${name.replace(/\W+/g, '-')}-${i}.png`) }).catch(() => {});
      }
    }
    await context.close();
  }
  await browser.close();
  process.exit(failed ? 1 : 0);
}
