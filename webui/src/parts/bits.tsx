// Small parts: states, progress, empty places, problems, tabs, buttons, questions.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ago, clock, duration, percent, stateWord } from '../lib/format';
import { bare } from '../lib/states';
import { say, words } from '../lib/toast';
import { waited } from '../lib/waiting';
import { ApiError } from '../lib/api';

const kinds: Record<string, string> = {
  RUNNING: 'run', ACTIVE: 'run', COMPLETED: 'good', ERROR: 'bad', DELETE_FAILED: 'bad', CANCELED: 'off', PAUSED: 'hold',
  QUEUED: 'wait', PULLING: 'wait', STARTING: 'wait', SCHEDULED: 'run', TERMINATED: 'off', WAITING: 'wait', ASSIGNED: 'wait',
};

export function State({ state }: { state: string }) {
  const s = bare(state);
  const kind = kinds[s] ?? (s.startsWith('STOPPING') || s === 'TERMINATING' || s === 'DELETING' ? 'hold' : 'off');
  return <span class={`state ${kind}`}>{stateWord(s)}</span>;
}

export function Progress({ value }: { value: number | null | undefined }) {
  if (typeof value !== 'number') return <span class="faint">–</span>;
  const v = Math.min(1, Math.max(0, value));
  return (
    <span class="progress" role="progressbar" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(v * 100)} aria-label={`${percent(v)} done`}>
      <span class="bar"><span style={{ width: `${v * 100}%` }} /></span>
      <span class="num">{percent(v)}</span>
    </span>
  );
}

// Empty says that there is nothing; alone: it is all that the page has.
export function Empty({ title, alone = false, children }: { title: string; alone?: boolean; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <svg viewBox="0 0 48 32" aria-hidden="true"><path d="M2 24h10l5-14 7 19 6-14 4 9h12" /></svg>
      {alone ? <h1 class="title">{title}</h1> : <p class="title">{title}</p>}
      {children}
    </div>
  );
}

// Problem says what could not be shown, and what happens next; alone: it is all that the page has.
export function Problem({ what, error, retry, alone = false }: { what: string; error: unknown; retry?: () => void; alone?: boolean }) {
  const away = error instanceof ApiError && error.away;
  if (alone) return <div class="page"><h1 class="unseen">{what}</h1><Problem what={what} error={error} {...(retry ? { retry } : {})} /></div>;
  return (
    <div class="problem" role="alert">
      <p><strong>{what}</strong> {words(error)}</p>
      {!away && retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

export function Loading({ lines = 3 }: { lines?: number }) {
  return (
    <div class="loading" role="status" aria-label="loading">
      {Array.from({ length: lines }, (_, i) => <span key={i} style={{ width: `${90 - i * 17}%` }} />)}
    </div>
  );
}

// useCurrent keeps the link that is open within a row of links: on a narrow screen it may be far to the right.
export function useCurrent(nav: { current: HTMLElement | null }, at: string) {
  useEffect(() => {
    const el = nav.current;
    if (!el) return;
    const show = () => {
      const open = el.querySelector<HTMLElement>('[aria-current]');
      if (open) el.scrollLeft = open.offsetLeft - el.offsetLeft - 24;
    };
    const watch = new ResizeObserver(show); // also tells the first size
    watch.observe(el);
    return () => watch.disconnect();
  }, [at]);
}

export interface TabItem {
  key: string;
  title: string;
  count?: number | undefined;
}

export function Tabs({ items, at, href }: { items: TabItem[]; at: string; href: (key: string) => string }) {
  const nav = useRef<HTMLElement>(null);
  useCurrent(nav, at);
  return (
    <nav ref={nav} class="tabs" aria-label="parts of this page">
      {items.map((t) => (
        <a key={t.key} href={href(t.key)} aria-current={t.key === at ? 'page' : undefined}>
          {t.title}
          {t.count !== undefined && <span class="count">{t.count.toLocaleString('en')}</span>}
        </a>
      ))}
    </nav>
  );
}

export interface Question {
  title: string;
  text: string;
  yes: string;
  danger?: boolean;
  act: () => void | Promise<void>;
}

// Confirm asks before something that cannot be taken back.
export function Confirm({ question, close }: { question: Question | null; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (question && !dialog.current?.open) dialog.current?.showModal();
  }, [question]);
  if (!question) return null;
  const yes = async () => {
    setBusy(true);
    try {
      await question.act();
    } finally {
      setBusy(false);
      dialog.current?.close();
    }
  };
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="question" onClose={close}>
      <h2 id="question">{question.title}</h2>
      <p>{question.text}</p>
      <div class="row end">
        <button type="button" onClick={() => dialog.current?.close()}>Go back</button>
        <button type="button" class={question.danger ? 'danger' : 'main'} disabled={busy} onClick={yes}>{question.yes}</button>
      </div>
    </dialog>
  );
}

// Menu is a button with a list of choices below it.
export function Menu({ label, title, children }: { label: ComponentChildren; title: string; children: (close: () => void) => ComponentChildren }) {
  const [open, set] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const away = (e: Event) => {
      if (!box.current?.contains(e.target as Node)) set(false);
    };
    const key = (e: KeyboardEvent) => {
      if (e.key === 'Escape') {
        set(false);
        box.current?.querySelector('button')?.focus();
      }
    };
    document.addEventListener('pointerdown', away);
    document.addEventListener('keydown', key);
    return () => {
      document.removeEventListener('pointerdown', away);
      document.removeEventListener('keydown', key);
    };
  }, [open]);
  return (
    <div class="menu" ref={box}>
      <button type="button" aria-expanded={open} aria-label={typeof label === 'string' && !title.includes(label.toLowerCase()) ? `${label}, ${title}` : title} title={title} onClick={() => set(!open)}>{label}</button>
      {open && <div class="pop">{children(() => set(false))}</div>}
    </div>
  );
}

export function Copy({ text, what }: { text: string; what: string }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say(`${what} copied`);
    } catch {
      say(`This browser does not allow copying from this page. ${what}: ${text}`);
    }
  };
  return <button type="button" class="quiet" onClick={copy} aria-label={`copy ${what}`}>copy</button>;
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div class="fact"><dt>{name}</dt><dd>{children}</dd></div>;
}

// Began shows when work was submitted, or how long it has waited if it has not run.
export function Began({ of, now }: { of: Parameters<typeof waited>[0]; now: number }) {
  const wait = waited(of, now);
  if (wait === null) return <time dateTime={of.startTime} title={clock(of.startTime)}>{ago(of.startTime, now)}</time>;
  return <time class="faint" dateTime={of.startTime} title={`Waiting for ${duration(wait)}, since ${clock(of.startTime)}`}>waits {duration(wait).split(' ')[0]}</time>;
}
