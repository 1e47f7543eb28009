// Numbers and times as people read them. Everything takes its `now`.

const units: [number, string][] = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']];

// duration shows two units: 3d 4h, 12m 5s, 8s.
export function duration(seconds: number | null | undefined): string {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return '–';
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [size, name] of units) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n > 0 || parts.length) parts.push(`${n}${name}`);
    if (parts.length === 2) break;
  }
  return parts.filter((p, i) => i === 0 || !p.startsWith('0')).join(' ') || '0s';
}

export function ago(iso: string | null | undefined, now: number): string {
  if (!iso) return '–';
  const seconds = (now - Date.parse(iso)) / 1000;
  if (Number.isNaN(seconds)) return '–';
  if (seconds < 5) return 'now';
  const s = duration(seconds).split(' ')[0];
  return `${s} ago`;
}

// ahead shows how far a time is in the future: in 12m; soon, if it is due.
export function ahead(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000;
  if (Number.isNaN(seconds)) return '–';
  return seconds < 60 ? 'soon' : `in ${duration(seconds).split(' ')[0]}`;
}

export function bytes(n: number | string | undefined): string {
  let v = Number(n ?? 0);
  if (!Number.isFinite(v)) return '–';
  const names = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let i = 0;
  while (v >= 1000 && i < names.length - 1) {
    v /= 1000;
    i++;
  }
  return `${i === 0 || v >= 100 ? Math.round(v) : v.toFixed(1)} ${names[i]}`;
}

// metric writes a value with only the significant digits: 0.9731, 1.2e-7, 12,345.
export function metric(v: unknown): string {
  if (v === 'NaN' || v === 'Infinity' || v === '-Infinity') return v.replace('Infinity', '∞');
  if (typeof v !== 'number') return v === undefined || v === null ? '–' : String(v);
  if (Number.isNaN(v)) return 'NaN';
  if (v === 0) return '0';
  const size = Math.abs(v);
  if (size >= 1e9 || size < 1e-4) return v.toExponential(3).replace(/\.?0*e\+?/, 'e');
  if (Number.isInteger(v)) return v.toLocaleString('en');
  return size >= 1000 ? v.toLocaleString('en', { maximumFractionDigits: 1 }) : String(Number(v.toPrecision(5)));
}

export function percent(fraction: number | undefined): string {
  if (fraction === undefined) return '–';
  const p = fraction * 100;
  return `${p > 0 && p < 10 && p % 1 ? p.toFixed(1) : Math.floor(p)}%`;
}

export function clock(iso: string | null | undefined): string {
  if (!iso) return '–';
  const d = new Date(iso);
  if (Number.isNaN(d.getTime())) return '–';
  const two = (n: number) => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

// flat turns nested hyperparameters into dotted names.
export function flat(value: unknown, prefix = ''): [string, unknown][] {
  if (value && typeof value === 'object' && !Array.isArray(value)) {
    const entries = Object.entries(value);
    if (entries.length) return entries.flatMap(([k, v]) => flat(v, prefix ? `${prefix}.${k}` : k));
  }
  return prefix ? [[prefix, value]] : [];
}

// space shows a configuration's hyperparameters as what may be chosen: a value, a
// range, a list.
export function space(value: unknown, prefix = ''): [string, string][] {
  if (!value || typeof value !== 'object' || Array.isArray(value)) return prefix ? [[prefix, plain(value)]] : [];
  const v = value as Record<string, unknown>;
  switch (v.type) {
    case 'const':
      return [[prefix, plain(v.val) + when(v.when)]];
    case 'categorical':
      return [[prefix, (Array.isArray(v.vals) ? v.vals.map(plain).join(v.ordered ? ' < ' : ' | ') : plain(v.vals)) + when(v.when)]];
    case 'int':
    case 'double':
      return [[prefix, `${plain(v.minval)} … ${plain(v.maxval)}${v.step === undefined ? '' : ` by ${plain(v.step)}`}${v.log ? ', log' : ''}${when(v.when)}`]];
    case 'log':
      return [[prefix, `${plain(v.base ?? 10)}^${plain(v.minval)} … ${plain(v.base ?? 10)}^${plain(v.maxval)}${when(v.when)}`]];
  }
  return Object.entries(v).flatMap(([k, x]) => space(x, prefix ? `${prefix}.${k}` : k));
}

// when shows the condition of a hyperparameter.
function when(conditions: unknown): string {
  if (!conditions || typeof conditions !== 'object') return '';
  const list = Object.entries(conditions).map(([name, v]) => `${name} is ${Array.isArray(v) ? v.map(plain).join(' or ') : plain(v)}`);
  return `, when ${list.join(' and ')}`;
}

export function plain(v: unknown): string {
  return typeof v === 'string' ? v : typeof v === 'number' ? String(v) : (JSON.stringify(v) ?? '–');
}

// stateWord: STATE_STOPPING_CANCELED → stopping (canceled)
export function stateWord(state: string): string {
  const s = state.replace(/^STATE_/, '').toLowerCase().replaceAll('_', ' ');
  const stopping = s.match(/^stopping (.+)$/);
  return stopping ? `stopping (${stopping[1]})` : s;
}

// roomFor is the width of a table's column in which its title has room, within reason.
export const roomFor = (title: string, least: number): string => `minmax(${Math.min(15, Math.max(least, 2.2 + title.length * 0.52)).toFixed(2)}rem, 1fr)`;

// compact is a number for the edge of a chart: 345M, 12.5k, 0.0012.
export function compact(v: number): string {
  const size = Math.abs(v);
  if (size < 1e4 || size >= 1e15) return metric(v);
  const [unit, name] = ([[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']] as const).find(([u]) => size >= u)!;
  return `${Number((v / unit).toPrecision(4))}${name}`;
}
