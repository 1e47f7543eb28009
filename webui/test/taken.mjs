// What a browser has open when a group is taken away at the identity provider, in a real browser against
// a real cluster. integration/security/group_taken_test.go starts it and says in the environment what is there:
//
//   CHROMIUM        the browser
//   DETENT_WORLD    {"master": origin, "task": id, "page": path of the task's page, "subject": who signs in}
//
// It prints READY when all is open, reads a line when the group was taken away, and prints what ended after
// how many milliseconds.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const { master, task, page: path, subject } = JSON.parse(process.env.DETENT_WORLD);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable'] });

// watch reads an answer that has no end, and notes when it ends anyway.
const watch = async (url) => {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  const reader = answer.body.getReader();
  await reader.read();
  window.ended ??= {};
  const note = () => { window.ended[url] = Date.now(); };
  (async () => { for (;;) if ((await reader.read()).done) return; })().then(note, note);
};

let page;
try {
  const context = await browser.newContext();
  context.setDefaultTimeout(60_000);
  page = await context.newPage();
  await page.goto(`${master}/`);
  await page.getByRole('link', { name: 'Sign in with corp' }).click();
  await page.locator('input[name=login]').fill(subject);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.getByText('Authorize').waitFor();
  await page.locator('button[type=submit]').click();
  await page.waitForURL((url) => url.href.startsWith(`${master}/`) && !url.pathname.startsWith('/oidc'));
  const me = await page.evaluate(() => fetch('/api/v1/me').then((r) => r.json()));
  assert.equal(me.user.username, 'grace', 'who is signed in');

  const logs = `/api/v1/tasks/${task}/logs?follow=true`;
  await page.evaluate(watch, logs);
  await page.evaluate(() => new Promise((open, fail) => {
    const ws = new WebSocket(`${location.origin.replace('http', 'ws')}/stream`);
    ws.onclose = () => { window.ended['/stream'] = Date.now(); fail(new Error('/stream closed')); };
    ws.onopen = () => ws.send(JSON.stringify({ sync_id: '1', subscribe: { projects: { workspace_ids: [1, 2, 3, 4] } } }));
    ws.onmessage = (m) => { if (JSON.parse(m.data).complete) open(); };
  }));

  const guest = await context.newPage();
  await guest.goto(master + path);
  const button = guest.locator('form button', { hasText: 'Open it' });
  if (await button.count() > 0) await button.click();
  await guest.getByText('a page of the task').waitFor();
  await guest.evaluate(watch, 'stream');

  console.log('READY');
  const lines = createInterface({ input: process.stdin });
  await new Promise((done) => { lines.once('line', done); });
  lines.close();
  const taken = Date.now();
  const after = {};
  for (const [p, what] of [[page, logs], [page, '/stream'], [guest, 'stream']]) {
    await p.waitForFunction((it) => window.ended?.[it], what, { timeout: 60_000 });
    after[what] = await p.evaluate((it) => window.ended[it], what) - taken;
  }
  console.log('ENDED', JSON.stringify(after));
  const again = await guest.goto(master + path);
  assert.ok(again.status() >= 400, `the task's page still opens: ${again.status()}`);
  for (const url of [`/api/v1/tasks/${task}`, `/api/v1/tasks/${task}/logs`]) {
    assert.equal(await page.evaluate((u) => fetch(u).then((r) => r.status), url), 404, url);
  }
  assert.equal(await page.evaluate(() => fetch('/api/v1/me').then((r) => r.status)), 200, 'the session itself stays');
} catch (e) {
  console.log('at', page?.url(), (await page?.content())?.slice(0, 2000));
  throw e;
} finally {
  await browser.close();
}
