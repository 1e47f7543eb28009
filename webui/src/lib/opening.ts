// Which task the user has asked these pages to open. A task's page controls its reader's browser, so
// it opens after a click for this task only. A page elsewhere can lead here, but it can neither read nor
// write the storage of this origin; so a note in it proves a click on these pages.

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

const key = 'detent.opening';
const life = 60_000; // milliseconds between the click and the new window

// storage is undefined where the browser forbids it; then the next page asks.
function storage(): Store | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}

/** noteOpening notes a click that opens a task in another window. */
export function noteOpening(id: string, now = Date.now(), store = storage()): void {
  try {
    store?.setItem(key, JSON.stringify({ id, until: now + life }));
  } catch {
    // the storage is full: the next page asks
  }
}

/** wasOpened reports whether the user clicked to open this task a moment ago. A click counts once. */
export function wasOpened(id: string, now = Date.now(), store = storage()): boolean {
  try {
    const note = JSON.parse(store?.getItem(key) ?? 'null') as { id?: unknown; until?: unknown } | null;
    if (note?.id !== id) return false;
    store?.removeItem(key);
    return typeof note.until === 'number' && now <= note.until && note.until <= now + life;
  } catch {
    return false;
  }
}

/**
 * ownPath returns an address of these pages, with its query and hash, from one that somebody else chose; otherwise null. It decides by the
 * parsed address, because browsers ignore tabs and line breaks in one.
 */
export function ownPath(to: string, base = location.href): string | null {
  if (!to.startsWith('/')) return null;
  try {
    const at = new URL(to, base);
    const path = at.pathname + at.search + at.hash;
    return at.origin === new URL(base).origin && !path.startsWith('//') ? path : null;
  } catch {
    return null;
  }
}

/**
 * askFirst returns an address that somebody else chose, for a link on these pages or for the page after a
 * sign-in. If it is a task's, the master asks the user before it opens the task, because the click was made for
 * something else.
 */
export function askFirst(to: string, base = location.href): string {
  let at: URL;
  try {
    at = new URL(to, base);
  } catch {
    return to;
  }
  if (at.origin !== new URL(base).origin || !at.pathname.startsWith('/proxy/')) return to;
  return at.pathname + (at.search ? `${at.search}&` : '?') + 'det-ask=' + at.hash;
}
