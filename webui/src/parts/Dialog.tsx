// A form over the page: what it asks for, what was wrong with it, and a way back.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { words } from '../lib/toast';

interface Props {
  title: string;
  open: boolean;
  yes: string;
  close: () => void;
  act: (form: FormData) => Promise<void>; // throws what is wrong
  children: ComponentChildren;
}

export function Dialog(p: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    if (!p.open) return;
    setProblem('');
    if (!dialog.current?.open) dialog.current?.showModal();
  }, [p.open]);
  if (!p.open) return null;
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      await p.act(new FormData(e.currentTarget as HTMLFormElement));
      dialog.current?.close();
    } catch (error) {
      setProblem(words(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="form-title" onClose={p.close}>
      <h2 id="form-title">{p.title}</h2>
      <form class="form" onSubmit={submit}>
        {p.children}
        {problem && <p class="problem" role="alert">{problem}</p>}
        <div class="row end">
          <button type="button" onClick={() => dialog.current?.close()}>Go back</button>
          <button type="submit" class="main" disabled={busy}>{p.yes}</button>
        </div>
      </form>
    </dialog>
  );
}

// text reads a field of a form.
export function text(form: FormData, name: string): string {
  const v = form.get(name);
  return typeof v === 'string' ? v.trim() : '';
}

// list reads the words of a field that has several, separated by commas.
export function list(form: FormData, name: string): string[] {
  return text(form, name).split(',').map((w) => w.trim()).filter(Boolean);
}
