// Views that somebody saved: a name for an address of a list with its filters, order and columns.

const prefix = 'view.';
export const mostName = 100;

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

// inside are addresses of these pages; a setting that another program wrote leads nowhere else.
const inside = (to: string) => /^\/(?![/\\])/.test(to);

// isAt reports whether an address is a view's, whatever the order of the parameters.
export function isAt(view: View, here: string): boolean {
  const norm = (s: string) => {
    const [path, query = ''] = s.split('?');
    const p = new URLSearchParams(query);
    p.sort();
    return `${path}?${p}`;
  };
  return norm(view.to) === norm(here);
}
