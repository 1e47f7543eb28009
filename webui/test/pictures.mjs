// Takes pictures of the main pages, light and dark, on a wide screen and on a phone, for people to look at, and those of the
// documentation. integration/pages/pictures_test.go starts a cluster with something to show.
//
//   DETENT_PICTURES  the folder for the pictures
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { enter, post, rows, signIn, tell, until, url, world } from './story.mjs';

const folder = process.env.DETENT_PICTURES;
mkdirSync(folder, { recursive: true });

const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } };

// settled waits until nothing on the page loads or moves.
async function settled(page) {
  await page.locator('h1').first().waitFor(); // also under a dialog
  await until('it is loaded', async () => (await page.locator('.loading').count()) === 0);
  await page.evaluate(() => document.fonts.ready);
  let last = '';
  await until('it is drawn', async () => {
    const now = await page.evaluate(() => `${document.querySelector('#app').innerText.length} ${document.querySelectorAll('canvas, svg').length} ${Object.values(window.__charts ?? {}).map((c) => c.data?.[0]?.length)}`);
    const same = now === last;
    last = now;
    if (!same) await new Promise((r) => setTimeout(r, 400));
    return same;
  });
}

async function shoot(page, name) {
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await settled(page);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}${size === 'narrow' ? '-narrow' : ''}.png`) });
    }
  }
  await page.setViewportSize(sizes.wide);
  await page.emulateMedia({ colorScheme: 'light' });
}

// furnish makes what is managed for all.
async function furnish(page) {
  const { checkpoints } = await post(page, `/api/v1/experiments/${world.done}/checkpoints`, undefined, 'GET');
  const { model } = await post(page, '/api/v1/models', { name: 'digits', description: 'Reads handwritten digits.', labels: ['production'], notes: '## Use\n\nImages of 28 × 28 pixels, white on black.' });
  for (const c of checkpoints.filter((x) => x.state.endsWith('COMPLETED')).slice(-2)) await post(page, `/api/v1/models/${model.id}/versions`, { modelName: model.name, checkpointUuid: c.uuid, comment: 'trained on all sixty thousand images' });
  world.model = model.id;
  for (const [username, displayName] of [['ada', 'Ada'], ['ben', 'Ben Okafor'], ['chen', 'Chen Wei']]) await post(page, '/api/v1/users', { user: { username, displayName, active: true } });
  for (const name of ['vision', 'language']) await post(page, '/api/v1/workspaces', { name });
  const { workspaces } = await post(page, '/api/v1/workspaces', undefined, 'GET');
  const id = (name) => workspaces.find((w) => w.name === name).id;
  for (const quota of [{ workspaceId: id('vision'), soft: 8, hard: 16 }, { workspaceId: 1, soft: 1, hard: 8 }, { workspaceId: id('language'), measure: 'slot_hours', period: 'month', hard: 2000 }]) await post(page, '/api/v1/detent/quotas', quota, 'PUT');
  await post(page, '/api/v1/webhooks', { name: 'failures to the channel', url: 'https://hooks.example.com/T1', webhookType: 'WEBHOOK_TYPE_SLACK', mode: 'WEBHOOK_MODE_WORKSPACE', triggers: [{ triggerType: 'TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE', condition: { state: 'ERROR' } }] });
  await post(page, '/api/v1/templates/one-gpu', { name: 'one-gpu', config: { resources: { slots_per_trial: 1 } }, workspaceId: 1 }, 'POST');
  await post(page, '/api/v1/projects/1/notes', { projectId: 1, notes: [{ name: 'What we know', contents: '# What we know\n\n* Learning rates above **0.01** diverge.\n* The wide network is worth its time.\n\n| width | loss |\n|---|---|\n| 64 | 0.31 |\n| 256 | 0.22 |' }] }, 'PUT');
}

// pages are the main pages by the names of their pictures.
const pages = () => ({
  dashboard: '/dashboard?who=all',
  experiments: '/experiments',
  compose: '/experiments?compose=1&where=state+%3D+completed+and+validation.accuracy+%3E+0.5',
  experiment: `/experiments/${world.done}`,
  failed: `/experiments/${world.failed}`,
  trials: `/experiments/${world.search}/trials`,
  search: `/experiments/${world.search}`,
  hyperparameters: `/experiments/${world.search}/hyperparameters`,
  checkpoints: `/experiments/${world.done}/checkpoints`,
  timeline: `/experiments/${world.failed}/timeline`,
  configuration: `/experiments/${world.search}/configuration`,
  code: `/experiments/${world.done}/code?file=train.py`,
  logs: `/experiments/${world.done}/logs`,
  compare: `/compare?experiments=${world.done},${world.other},${world.search}`,
  'compare-metrics': `/compare?experiments=${world.done},${world.other},${world.search}&view=metrics`,
  'compare-configuration': `/compare?experiments=${world.done},${world.other}&view=configuration`,
  fork: `/experiments/${world.done}/fork`,
  tasks: '/tasks?over=1',
  launch: '/launch/notebooks',
  workspaces: '/workspaces',
  workspace: '/workspaces/1',
  project: '/projects/1/notes',
  models: '/models',
  model: `/models/${world.model}`,
  cluster: '/cluster',
  queue: '/cluster?tab=queue',
  node: `/nodes/${encodeURIComponent(world.node)}`,
  users: '/manage/users',
  secrets: '/manage/secrets',
  webhooks: '/manage/webhooks',
  templates: '/manage/templates',
  policies: '/manage/policies',
  quotas: '/manage/quotas',
  usage: '/manage/usage',
  audit: '/manage/audit',
  settings: '/settings',
});

await tell({
  'the sign-in': async (page) => {
    await page.goto(url);
    await shoot(page, 'sign-in');
  },

  'the main pages': async (page) => {
    await page.goto(url);
    await enter(page, 'admin', '/');
    await page.setViewportSize(sizes.wide);
    await furnish(page);
    for (const [name, path] of Object.entries(pages())) {
      await page.goto(url + path);
      await settled(page);
      await shoot(page, name);
    }
  },

  'the search of everything': async (page) => {
    await signIn(page, '/experiments');
    await page.setViewportSize(sizes.wide);
    await rows(page, 'experiments').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'search everything' }).fill('mnist');
    await page.locator('.palette').getByRole('option').first().waitFor();
    await shoot(page, 'palette');
  },

  'a terminal': async (page) => {
    await signIn(page, '/tasks');
    await page.setViewportSize(sizes.wide);
    const { shell } = await post(page, '/api/v1/shells', { config: { description: 'look around', resources: { slots: 0 } } });
    try {
      await page.goto(`${url}/tasks/${shell.id}?view=terminal`);
      await page.getByText('connected').waitFor();
      const type = async (line) => {
        await page.keyboard.type(line);
        await page.keyboard.press('Enter');
      };
      await type("PS1='\\[\\e[32m\\]look\\[\\e[0m\\] \\$ '; clear");
      await type('ls --color=always /usr');
      await type("printf '\\e[31merror\\e[0m \\e[33mwarning\\e[0m \\e[34mnote\\e[0m \\e[1mbold\\e[0m\\n'");
      await until('it is there', async () => /error\s+warning\s+note\s+bold/.test(await page.locator('.xterm-rows').innerText()));
      await shoot(page, 'terminal');
    } finally {
      await post(page, `/api/v1/shells/${shell.id}/kill`);
    }
  },
});
