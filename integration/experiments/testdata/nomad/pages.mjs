// What an operator reads on Nomad's own pages, in a real browser.
//
//   CHROMIUM   the browser
//   NOMAD      Nomad's address
//   TOKEN      a token of Nomad's, where access control is on
//   PAGES      [{"name": …, "path": …, "says": [texts], "open": what is clicked then, "shows": text, "top": where its picture begins, else all of it is on it}]
//   SHOTS      a folder for a picture of each page
//
// It runs in webui/, where its browser's driver is.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { chromium } = createRequire(join(process.cwd(), 'package.json'))('playwright-core');
const { CHROMIUM, NOMAD, TOKEN, PAGES, SHOTS } = process.env;

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
let failed = 0;
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 } });
  if (TOKEN) await context.addInitScript((t) => window.localStorage.setItem('nomadTokenSecret', t), TOKEN);
  const page = await context.newPage();
  for (const { name, path, says, open, shows, top } of JSON.parse(PAGES)) {
    try {
      await page.goto(NOMAD + path);
      for (const text of says) await page.getByText(text).first().waitFor({ timeout: 60_000 });
      if (open) {
        await page.getByText(open, { exact: true }).first().click();
        await page.locator('.accordion-body').getByText(shows).first().waitFor();
      }
    } catch (e) {
      failed++;
      console.log(`${name}: ${e.message}\n${(await page.locator('body').innerText()).slice(0, 2000)}`);
    }
    if (top) {
      // Below the head of the page, which stays where it is.
      await page.getByText(top).first().evaluate((e) => {
        const section = e.closest('.boxed-section');
        section.style.scrollMarginTop = '170px';
        section.scrollIntoView();
      });
    }
    await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: !top });
  }
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
