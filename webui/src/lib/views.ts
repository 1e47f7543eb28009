// Saved views: names for addresses of lists with their filters, order and columns.

const prefix = 'view.';
export const maxName = 100;

export interface View {
  name: string;
  to: string; // path and parameters
}

// viewsOf finds them among the settings.
export function viewsOf(settings: Record<string, string> | undefined): View[] {
  return Object.entries(settings ?? {})
    .filter(([key, to]) => key.startsWith(prefix) && inside(to))
    .map(([key, to]) => ({ name: key.slice(prefix.length), to }))
    .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
}

export const keyOf = (name: string): string => prefix + name;

// inside reports whether an address belongs to these pages, because another program may have written the setting.
const inside = (to: string) => /^\/(?![/\\])/.test(to);

// isAt reports whether an address is that of a view, in any order of the parameters.
export function isAt(view: View, here: string): boolean {
  const norm = (s: string) => {
    const [path, query = ''] = s.split('?');
    const p = new URLSearchParams(query);
    p.sort();
    return `${path}?${p}`;
  };
  return norm(view.to) === norm(here);
}
