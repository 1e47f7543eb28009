// Sign-ins in words.

const browsers: [RegExp, string][] = [[/\bEdg\//, 'Edge'], [/\bOPR\//, 'Opera'], [/\bFirefox\//, 'Firefox'], [/\bHeadlessChrome\//, 'Chrome'], [/\bChrom(?:e|ium)\//, 'Chrome'], [/\bSafari\//, 'Safari']];
const systems: [RegExp, string][] = [[/\b(?:iPhone|iPad)\b/, 'iOS'], [/\bAndroid\b/, 'Android'], [/\bWindows\b/, 'Windows'], [/\bMac OS X\b/, 'macOS'], [/\bCrOS\b/, 'ChromeOS'], [/\bLinux\b/, 'Linux']];

// program is a browser with its system, or another program by the name that it gives itself.
export function program(agent: string): string {
  if (!agent) return 'an unknown program';
  if (!agent.startsWith('Mozilla/')) return agent;
  const browser = browsers.find(([pattern]) => pattern.test(agent))?.[1];
  const system = systems.find(([pattern]) => pattern.test(agent))?.[1];
  if (!browser) return agent;
  return system ? `${browser} on ${system}` : browser;
}

// until says when something ends: in 3 days, in 5 hours, within the hour.
export function until(iso: string | null, now: number): string {
  const hours = iso ? (Date.parse(iso) - now) / 3_600_000 : NaN;
  if (Number.isNaN(hours)) return '–';
  if (hours <= 0) return 'over';
  if (hours < 1) return 'within the hour';
  if (hours < 48) return `in ${Math.round(hours)} ${Math.round(hours) === 1 ? 'hour' : 'hours'}`;
  return `in ${Math.round(hours / 24)} days`;
}
