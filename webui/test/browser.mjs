// What a person does with the pages, in a real browser against a real master.
// integration/pages/ui_test.go starts both and says in the environment what is there:
//
//   DETENT_URL      the master
//   CHROMIUM        the browser
//   DETENT_WORLD    {"done": id, "live": id, "failed": id, "waiting": id, "search": id} of things that are there
//   DETENT_SHOTS    a folder for a picture of each story that fails
//
// A line "@ask WORD" on the output asks the other side for something that a browser
// cannot do; its answer is a line on the input. `node test/browser.mjs NAME…` runs
// the stories whose names hold one of the words.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const url = process.env.DETENT_URL;
const world = JSON.parse(process.env.DETENT_WORLD ?? '{}');
const patience = 60_000;

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(word) {
  console.log(`@ask ${word}`);
  const { value } = await answers.next();
  assert.equal(value, 'done', `${word}: ${value}`);
}

// until polls; a story never sleeps.
async function until(what, look) {
  const deadline = Date.now() + patience;
  let last;
  while (Date.now() < deadline) {
    last = await look();
    if (last) return last;
    await new Promise((r) => setTimeout(r, 50));
  }
  assert.fail(`${what} did not happen; last: ${JSON.stringify(last)}`);
}

async function signIn(page, next = '/') {
  await page.goto(url + next);
  await page.getByLabel('User name').fill('determined');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((u) => !u.pathname.startsWith('/login'));
}

const points = (page, chart) => page.evaluate((id) => window.__charts?.[id]?.data?.[0]?.length ?? 0, chart);
const rows = (page, label) => page.getByRole('grid', { name: label }).locator('[role=row]:not(.th)');

// pictures writes what a page looks like in both themes, for a person to look at.
async function pictures(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(process.env.DETENT_PICTURES, `${name}-${colorScheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

const stories = {
  'a wrong password is refused in words, and the right one leads on': async (page) => {
    await page.goto(`${url}/experiments/${world.done}/checkpoints?sort=metric`);
    await page.getByLabel('User name').fill('determined');
    await page.getByLabel('Password').fill('not this one');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'Wrong username or password' }).waitFor();
    await page.getByLabel('Password').fill('');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await rows(page, 'checkpoints').first().waitFor();
    const u = new URL(page.url());
    assert.equal(u.pathname + u.search, `/experiments/${world.done}/checkpoints?sort=metric`, 'the sign-in leads to where one was going');
    assert.equal(await page.locator('.tr.marked .tag.best').count(), 1, 'the best checkpoint is marked, once');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();
    await page.goto(`${url}/cluster`);
    await page.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();
  },

  'a message to all users is over every page': async (page) => {
    await page.goto(url);
    await page.getByLabel('User name').fill('admin');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL((u) => !u.pathname.startsWith('/login'));
    const set = (method, body) => page.evaluate(async ([method, body]) => (await fetch('/api/v1/master/cluster_message', { method, body })).status, [method, body]);
    const text = 'Maintenance on Friday from 18:00 <b>to</b> 20:00';
    assert.equal(await set('PUT', JSON.stringify({ message: text, duration: '1h' })), 200);
    try {
      for (const to of ['/experiments', '/tasks', '/cluster']) {
        await page.goto(url + to);
        await page.locator('.banner').filter({ hasText: text }).waitFor();
      }
      const hidden = await page.evaluate(() => document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth);
      assert.equal(hidden, 0, 'the message makes no page wider');
    } finally {
      assert.equal(await set('DELETE'), 200);
    }
    await page.goto(url);
    await page.getByRole('link', { name: 'Experiments' }).waitFor();
    assert.equal(await page.locator('.banner').count(), 0);
  },

  'a sign-in leads nowhere else': async (page) => {
    await signIn(page, '/login?next=%2F%2Fexample.org%2Fx');
    assert.equal(new URL(page.url()).origin, url);
  },

  'the list finds, orders and selects, and its address can be sent': async (page) => {
    await signIn(page);
    await rows(page, 'experiments').first().waitFor();
    await page.getByLabel('search by name').fill('ui-done');
    await until('one row', async () => (await rows(page, 'experiments').count()) === 1);
    assert.match(page.url(), /name=ui-done/);
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await until('the order in the address', async () => page.url().includes('sort=name'));
    await page.reload();
    assert.equal(await page.getByLabel('search by name').inputValue(), 'ui-done');
    await until('one row again', async () => (await rows(page, 'experiments').count()) === 1);
    const grid = page.getByRole('grid', { name: 'experiments' });
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.getByText('1 selected').waitFor();
    await page.getByRole('toolbar', { name: 'actions on the selection' }).getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('status').filter({ hasText: `Experiment ${world.done} archived` }).waitFor();
    await page.getByText('No experiment matches.').waitFor();
    await page.getByLabel('archived').selectOption('only');
    await until('the archived one', async () => (await rows(page, 'experiments').count()) === 1);
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Unarchive' }).click();
    await page.getByRole('status').filter({ hasText: 'out of the archive' }).waitFor();
    await page.goto(`${url}/experiments?name=ui-done`);
    await until('it is back', async () => (await rows(page, 'experiments').count()) === 1);
    await page.getByRole('grid', { name: 'experiments' }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/experiments/${world.done}`);
  },

  'a filter finds by metrics and hyperparameters, and says where it is wrong': async (page) => {
    await signIn(page);
    await rows(page, 'experiments').first().waitFor();
    await page.getByLabel('filter', { exact: true }).fill('validation.val_loss < 0.1 and name ~ ui-done');
    await until('one row', async () => (await rows(page, 'experiments').count()) === 1);
    assert.equal(new URL(page.url()).searchParams.get('where'), 'validation.val_loss < 0.1 and name ~ ui-done');
    await page.reload();
    await until('one row again', async () => (await rows(page, 'experiments').count()) === 1);
    await page.getByLabel('filter', { exact: true }).fill('name ~ ui-done and lables = x');
    const wrong = page.getByRole('alert').filter({ hasText: 'there is no column "lables"' });
    await wrong.waitFor();
    assert.equal(await wrong.locator('mark').textContent(), 'lables', 'the place is marked');
    assert.equal(await page.getByLabel('filter', { exact: true }).getAttribute('aria-invalid'), 'true');
    await page.getByLabel('filter', { exact: true }).fill('name = nothing-has-this-name');
    await page.getByText('No experiment matches.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await until('all of them', async () => (await rows(page, 'experiments').count()) > 1);
    assert.equal(await page.getByLabel('filter', { exact: true }).inputValue(), '');
  },

  'a curve grows while the training runs': async (page) => {
    await signIn(page, `/experiments/${world.live}`);
    const first = await until('a first point', () => points(page, 'loss'));
    await until('more points', async () => (await points(page, 'loss')) >= first + 3);
    assert.equal(await page.locator('.link.live').count(), 1);
    const pixels = await page.evaluate(() => {
      const canvas = document.querySelector('.plot canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let drawn = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i]) drawn++;
      return drawn;
    });
    assert.ok(pixels > 1000, `the canvas has ${pixels} drawn pixels`);
    // The list moves too, without being asked again.
    await page.getByRole('navigation', { name: 'pages' }).getByRole('link', { name: 'Experiments' }).click();
    const row = rows(page, 'experiments').filter({ hasText: 'ui-live' });
    const done = async () => Number(await row.getByRole('progressbar').getAttribute('aria-valuenow'));
    const before = await done();
    await until('progress', async () => (await done()) > before);
  },

  'the controls of the curves are in the address': async (page) => {
    await signIn(page, `/experiments/${world.done}`);
    const all = await until('points', () => points(page, 'loss'));
    const over = page.locator('.plot .u-over').first();
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 5 });
    await page.mouse.up();
    await until('the zoom in the address', async () => /z\.loss=\d+/.test(page.url()));
    await until('the range alone', async () => {
      const n = await points(page, 'loss');
      return n > 0 && n < all;
    });
    await page.getByText('Log scale').click();
    await page.getByRole('slider').fill('0.6');
    await page.getByRole('button', { name: 'Time' }).click();
    const address = page.url();
    for (const part of ['log=1', 'smooth=0.6', 'x=time']) assert.ok(address.includes(part), `${part} in ${address}`);
    await page.reload();
    assert.equal(await page.getByRole('slider').inputValue(), '0.6');
    await page.goto(`${url}/experiments/${world.done}?z.loss=20~60`);
    await until('the zoom of a link', async () => {
      const scale = await page.evaluate(() => window.__charts?.loss && [window.__charts.loss.scales.x.min, window.__charts.loss.scales.x.max]);
      return scale && scale[0] === 20 && scale[1] === 60;
    });
    await page.getByRole('button', { name: 'whole range' }).click();
    await until('all points again', async () => (await points(page, 'loss')) === all);
  },

  'trials of a search are compared': async (page) => {
    await signIn(page, `/experiments/${world.search}/trials?sort=metric`);
    const trials = rows(page, 'trials');
    await until('three trials', async () => (await trials.count()) === 3);
    const head = await page.getByRole('grid', { name: 'trials' }).locator('.th').textContent();
    assert.ok(head.includes('width') && !head.includes('depth'), `hyperparameters that differ are shown, and no others: ${head}`);
    assert.equal(await page.locator('.tr.marked').count(), 1, 'the best trial is marked');
    for (const i of [0, 1]) await trials.nth(i).getByRole('checkbox').check();
    await page.getByRole('link', { name: 'Compare the curves of 2' }).click();
    await until('two curves', () => page.evaluate(() => window.__charts?.loss?.series.length === 3));
    assert.match(page.url(), /trials=\d+(,|%2C)\d+/);
    await page.getByText('The chosen 2 of 3 trials').waitFor();
    await page.getByRole('link', { name: 'choose others' }).click();
    const first = await rows(page, 'trials').first().getByRole('link').textContent();
    await rows(page, 'trials').first().click();
    await page.waitForURL(`**/trials/${first}`);
    await until('its curve', () => points(page, 'loss'));
  },

  'the hyperparameters of a search: what is chosen in one view is marked in all': async (page) => {
    await signIn(page, `/experiments/${world.search}/trials`);
    await page.getByRole('navigation', { name: 'parts of this page' }).getByRole('link', { name: 'Hyperparameters' }).click();
    await page.getByText('3 trials. Drag along an axis').waitFor();
    await until('three rows', async () => (await rows(page, 'chosen trials').count()) === 3);
    const lines = page.getByRole('img', { name: /^Parallel coordinates of 3 trials over width, val_loss/ });
    const drawn = () => lines.evaluate((el) => [...el.querySelectorAll('canvas')].map((c) => {
      const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
      let n = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i]) n++;
      return n;
    }));
    const before = await until('lines on the canvas', async () => {
      const n = await drawn();
      return n[1] > 200 && n;
    });
    // Dragging along the first axis, from its middle to beyond its top, chooses the larger widths.
    const box = await lines.boundingBox();
    await page.mouse.move(box.x + 64, box.y + 180);
    await page.mouse.down();
    await page.mouse.move(box.x + 64, box.y + 100, { steps: 4 });
    await page.mouse.move(box.x + 64, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.getByText(/^[12] of 3 trials chosen/).waitFor();
    assert.match(new URL(page.url()).searchParams.get('brush'), /^\{"width":\[[\d.]+,[\d.]+\]\}$/);
    await until('fewer rows', async () => (await rows(page, 'chosen trials').count()) < 3);
    const after = await drawn();
    assert.ok(after[0] > 0 && after[1] < before[1], `lines that are not chosen are pale: ${before} then ${after}`);
    await page.reload();
    await page.getByText(/^[12] of 3 trials chosen/).waitFor();
    await page.getByRole('button', { name: 'take away the choice of width' }).click();
    await page.getByText('3 trials. Drag along an axis').waitFor();
    // The same without a mouse.
    const value = Number((await rows(page, 'chosen trials').first().locator('.td').nth(2).textContent()).replace('best', ''));
    assert.ok(value > 0 && value < 1, `the best trial is first: ${value}`);
    await page.getByRole('button', { name: 'choose ranges by typing' }).click();
    await page.getByLabel('width, from').fill('0');
    await page.getByLabel('width, to').fill('0.5');
    await page.getByLabel('width, to').press('Enter');
    await page.getByText('No trial is within these ranges.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByText('At least 12 trials with a value of val_loss are needed.').waitFor();
    await rows(page, 'chosen trials').first().click();
    await page.waitForURL('**/trials/*');
  },

  'trials of two experiments are compared side by side': async (page) => {
    await signIn(page, `/experiments/${world.search}/trials?sort=metric`);
    await until('three trials', async () => (await rows(page, 'trials').count()) === 3);
    for (const i of [0, 1]) await rows(page, 'trials').nth(i).getByRole('checkbox').check();
    await page.getByRole('link', { name: 'Side by side' }).click();
    await until('two curves', () => page.evaluate(() => window.__charts?.loss?.series.length === 3));
    await page.getByLabel('add a trial or an experiment').fill(`experiment ${world.done}`);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await until('three curves', () => page.evaluate(() => window.__charts?.loss?.series.length === 4));
    const parts = page.getByRole('navigation', { name: 'parts of this page' });
    await parts.getByRole('link', { name: 'Metrics' }).click();
    const loss = page.getByRole('row', { name: /^validation val_loss/ });
    await loss.waitFor();
    assert.equal(await loss.locator('td').count(), 3);
    await page.getByRole('button', { name: 'as baseline' }).last().click();
    await until('a new baseline', async () => (await page.getByRole('columnheader', { name: /baseline/ }).textContent()) !== null && /base=\d+/.test(page.url()));
    assert.equal(await loss.locator('.by').count(), 2, 'the others have their difference to the baseline');
    await parts.getByRole('link', { name: 'Configuration' }).click();
    await page.getByRole('row', { name: /^hyperparameters.width/ }).waitFor();
    assert.equal(await page.getByRole('row', { name: /^entrypoint/ }).count(), 0, 'what is the same is left out');
    await page.getByText('also what is the same').click();
    await page.getByRole('row', { name: /^entrypoint/ }).waitFor();
    await parts.getByRole('link', { name: 'Code' }).click();
    await page.getByText('The code is the same.').waitFor();
    await page.goto(`${url}/compare?experiments=${world.done},${world.failed}&view=code`);
    await page.locator('.lined .plus', { hasText: 'it broke on purpose' }).waitFor();
    await page.goto(`${url}/compare?trials=99999999`);
    await page.getByText('There is no trial 99999999').waitFor();
  },

  'the log has its colours, its search and its end': async (page) => {
    await signIn(page, `/experiments/${world.done}/logs`);
    const lines = page.getByRole('log');
    await lines.getByText('the last line of all').waitFor();
    assert.ok((await page.locator('.line').count()) < 200, 'only what is on the screen exists');
    assert.ok((await page.locator('.ansi-green').count()) > 0, 'colours are kept');
    await page.getByLabel('search the log').fill('step 17 ');
    await until('one line', async () => (await page.locator('.line').count()) === 1);
    assert.equal(await page.locator('.found').first().textContent(), 'step 17 ');
    assert.match(page.url(), /q=step/);
    await page.getByLabel('search the log').fill('no such words');
    await page.getByText('No line matches.').waitFor();
    await page.getByRole('button', { name: 'Show every line' }).click();
    await lines.getByText('the last line of all').waitFor();
    await lines.evaluate((el) => (el.scrollTop = 0));
    await lines.getByText('<b>not bold</b>').waitFor();
    assert.equal(await page.locator('.line b').count(), 0, 'a log is text');
    await page.goto(`${url}/experiments/${world.live}/logs`);
    const shown = async () => page.locator('.line .no').last().textContent();
    const now = await until('a line', shown);
    await until('a newer line', async () => Number(await shown()) > Number(now));
  },

  'an error says why, and what waits says for what': async (page) => {
    await signIn(page, `/experiments/${world.failed}`);
    await page.getByRole('alert').filter({ hasText: 'Ended with an error' }).waitFor();
    await page.getByRole('link', { name: 'See the log' }).click();
    await page.getByText('RuntimeError: it broke on purpose').waitFor();
    await page.goto(`${url}/experiments/${world.waiting}`);
    await page.getByRole('status').filter({ hasText: 'slots' }).waitFor();
    await page.goto(`${url}/cluster?tab=queue`);
    const row = rows(page, 'queue').filter({ hasText: 'ui-waiting' });
    await row.waitFor();
    assert.match(await row.textContent(), /slots/);
  },

  'the configuration is the submitted one, and the complete one': async (page) => {
    await signIn(page, `/experiments/${world.done}/configuration`);
    await page.getByText('# a note of its author').waitFor();
    await page.getByRole('button', { name: 'Complete' }).click();
    await page.locator('.yaml').getByText('checkpoint_storage').waitFor();
    assert.match(page.url(), /config=complete/);
  },

  'the cluster shows who uses which slot': async (page) => {
    await signIn(page, '/cluster');
    const slot = page.getByRole('button', { name: new RegExp(`of experiment ${world.live}$`) });
    await slot.first().click();
    await page.getByRole('link', { name: new RegExp(`of experiment ${world.live}$`) }).first().click();
    await page.waitForURL(`**/experiments/${world.live}`);
  },

  'tasks are listed and looked at': async (page) => {
    await signIn(page, '/tasks?kind=commands&over=1');
    const row = rows(page, 'tasks').filter({ hasText: 'ui-command' });
    await row.getByRole('link').first().click();
    await page.getByRole('log').getByText('hello from a command').waitFor();
  },

  'a notebook opens, runs a cell, and cannot act as who looks at it': async (page) => {
    await signIn(page, '/tasks?kind=notebooks');
    const row = rows(page, 'tasks').filter({ hasText: 'ui-notebook' });
    await row.locator('.state', { hasText: 'running' }).waitFor();
    const [lab] = await Promise.all([page.context().waitForEvent('page'), row.getByRole('link', { name: 'Open' }).click()]);
    lab.setDefaultTimeout(patience);
    await lab.locator('.jp-LauncherCard[data-category="Notebook"]').first().click();
    const cell = lab.locator('.jp-Notebook .cm-content').first();
    await cell.click();
    await cell.pressSequentially('print(6 * 7, "over the proxy")');
    // JupyterLab, by itself too, drops a cell that is run in the first moments of a kernel
    // that it reaches over ipc: the cell gets no number then, and people run it again.
    await until('the cell has a number', async () => {
      await cell.click();
      await lab.keyboard.press('Shift+Enter');
      const prompt = lab.locator('.jp-Notebook .jp-InputPrompt', { hasText: /\d/ }).first();
      return prompt.waitFor({ timeout: 3000 }).then(() => true, () => false);
    });
    await lab.locator('.jp-OutputArea-output', { hasText: '42 over the proxy' }).waitFor();
    assert.notEqual(new URL(lab.url()).origin, url, 'a task has an origin of its own');
    const stolen = await lab.evaluate(async (master) => {
      const tries = [[`${master}/api/v1/me`, { credentials: 'include' }], [`${master}/api/v1/auth/logout`, { credentials: 'include', method: 'POST', mode: 'no-cors' }], ['/api/v1/me', {}]];
      return Promise.all(tries.map(([to, init]) => fetch(to, init).then(async (r) => (r.ok ? r.text() : ''), () => '')));
    }, url);
    assert.deepEqual(stolen, ['', '', ''], 'the page of a task reads nothing');
    await lab.close();
    await page.reload();
    await row.waitFor(); // still signed in: the page of a task could not sign anybody out
  },

  'the theme is kept, and the curves follow it': async (page) => {
    await signIn(page, `/experiments/${world.done}`);
    await until('points', () => points(page, 'loss'));
    const look = () => page.evaluate(() => [getComputedStyle(document.body).backgroundColor, window.__charts?.loss?.series[1].stroke(window.__charts.loss, 1)]);
    const light = await look();
    await page.getByRole('button', { name: 'Dark theme' }).click();
    const dark = await until('dark curves', async () => {
      const now = await look();
      return now[0] !== light[0] && now[1] !== light[1] && now;
    });
    await page.reload();
    await until('dark after a reload', async () => (await look())[0] === dark[0]);
    await page.getByRole('button', { name: 'As the system theme' }).click();
    await until('light again', async () => (await look())[0] === light[0]);
  },

  'links of other clients lead to the same pages': async (page) => {
    await signIn(page, `/det/experiments/${world.done}/overview`);
    await page.getByRole('heading', { name: 'ui-done' }).waitFor();
    await page.goto(`${url}/experiments/99999999`);
    await page.getByText('There is no experiment 99999999.').waitFor();
    await page.goto(`${url}/no/such/page`);
    await page.getByText('There is no such page.').waitFor();
  },

  'a narrow screen hides nothing beside it': async (page) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await signIn(page);
    for (const path of ['/experiments', `/experiments/${world.done}`, '/tasks', '/models', '/cluster', `/experiments/${world.done}/logs`, `/experiments/${world.search}/hyperparameters`]) {
      await page.goto(url + path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      const wide = await page.evaluate(() => document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth);
      assert.ok(wide <= 0, `${path} is ${wide} pixels too wide`);
    }
  },

  'everything that can be used has a name': async (page) => {
    await signIn(page);
    for (const path of ['/experiments', `/experiments/${world.done}`, `/experiments/${world.done}/trials`, `/experiments/${world.done}/checkpoints`, `/experiments/${world.done}/logs`, '/tasks', '/models', '/cluster']) {
      await page.goto(url + path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      const nameless = await page.evaluate(() => [...document.querySelectorAll('button, a, input, select')]
        .filter((el) => !(el.getAttribute('aria-label') || el.textContent.trim() || el.labels?.length || el.title)).map((el) => el.outerHTML));
      assert.deepEqual(nameless, [], path);
    }
  },

  'a checkpoint becomes a version of a model, and the model is looked after': async (page) => {
    await signIn(page, '/models');
    await page.getByText('No model yet.').waitFor();
    await page.goto(`${url}/experiments/${world.done}/checkpoints`);
    await rows(page, 'checkpoints').first().waitFor();
    const register = async (row, fill) => {
      await rows(page, 'checkpoints').nth(row).getByRole('button', { name: 'register' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('heading', { name: 'Register a checkpoint' }).waitFor();
      await fill(dialog);
      await dialog.getByRole('button', { name: 'Register' }).click();
      return dialog;
    };
    const refused = await register(0, (d) => d.getByLabel('Name of the new model').fill('42'));
    await refused.getByRole('alert').filter({ hasText: 'only numbers' }).waitFor();
    await refused.getByLabel('Name of the new model').fill("m [['b'], x]");
    await refused.getByLabel('Name of the version').fill('first');
    await refused.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('status').filter({ hasText: "Registered as version 1 of m [['b'], x]" }).waitFor();
    await register(0, (d) => d.getByLabel('Comment').fill('a second one'));
    await page.getByRole('status').filter({ hasText: 'Registered as version 2' }).waitFor();

    await page.getByRole('link', { name: 'Models' }).click();
    await until('one model', async () => (await rows(page, 'models').count()) === 1);
    await page.getByLabel('search by name').fill('nothing like it');
    await page.getByText('No model matches.').waitFor();
    await page.getByLabel('search by name').fill("[['b']");
    await page.getByRole('grid', { name: 'models' }).getByRole('link', { name: "m [['b'], x]" }).click();
    await until('two versions', async () => (await rows(page, 'versions').count()) === 2);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Labels').fill('good, vision');
    await dialog.getByLabel('Notes').fill('# <b>How</b> it was made');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('# <b>How</b> it was made').waitFor();
    await page.getByRole('button', { name: 'edit version 2' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('second');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await rows(page, 'versions').filter({ hasText: 'second' }).waitFor();
    if (process.env.DETENT_PICTURES) await pictures(page, 'model');
    await page.getByRole('button', { name: 'delete version 1' }).click();
    await dialog.getByText('is not used again').waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await until('one version', async () => (await rows(page, 'versions').count()) === 1);
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('status').filter({ hasText: 'archived' }).waitFor();
    await page.getByRole('button', { name: 'Unarchive' }).waitFor();
    const of = page.url();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/models');
    await page.goto(of);
    await page.getByText('There is no model').waitFor();
  },

  'a question comes before a kill': async (page) => {
    await signIn(page, `/experiments/${world.waiting}`);
    await page.getByRole('button', { name: 'Kill', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('since their last checkpoint is lost').waitFor();
    await dialog.getByRole('button', { name: 'Go back' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Kill', exact: true }).click();
    await dialog.getByRole('button', { name: 'Kill' }).click();
    await page.locator('.state', { hasText: 'canceled' }).waitFor();
  },

  'a master that is away is said to be, and is not missed when it is back': async (page, problems) => {
    await signIn(page, `/experiments/${world.live}`);
    await until('a first point', () => points(page, 'loss'));
    await ask('master-away');
    await page.getByText('connection lost').waitFor({ timeout: patience });
    const before = await points(page, 'loss');
    await ask('master-back');
    await until('the connection', async () => (await page.locator('.link.live').count()) === 1);
    await until('what was reported meanwhile', async () => (await points(page, 'loss')) > before + 3);
    const gaps = await page.evaluate(() => {
      const x = window.__charts.loss.data[0];
      return [...x].some((v, i) => i > 0 && v - x[i - 1] > 1);
    });
    assert.equal(gaps, false, 'no step is missing');
    problems.length = 0; // failed requests are what this story is about
  },
};

const wanted = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
let failed = 0;
for (const [name, story] of Object.entries(stories)) {
  if (wanted.length && !wanted.some((w) => name.includes(w))) continue;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
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
