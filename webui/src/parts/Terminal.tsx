// A terminal in a shell. This file and xterm.js are fetched when somebody opens one.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal as Xterm, type ITheme } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { effect } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, request } from '../lib/api';
import { allowStyles } from '../lib/sheets';
import { addressOf, bytesOf, endOf, maxTyped, partsOf, Shown } from '../lib/terminal';
import { theme, token } from '../lib/theme';
import { complain, words } from '../lib/toast';

const settle = 100; // milliseconds after the last change of the window's size

function colours(): ITheme {
  const [red, green, yellow, blue, magenta, cyan, dim] = ['--bad', '--good', '--hold', '--curve-7', '--curve-4', '--accent', '--muted'].map(token) as [string, string, string, string, string, string, string];
  return {
    background: token('--panel'), foreground: token('--text'), cursor: token('--accent'), cursorAccent: token('--panel'), selectionBackground: `${token('--accent')}55`,
    black: token('--text'), red, green, yellow, blue, magenta, cyan, white: dim,
    brightBlack: dim, brightRed: red, brightGreen: green, brightYellow: yellow, brightBlue: blue, brightMagenta: magenta, brightCyan: cyan, brightWhite: token('--faint'),
  };
}

type Link = { state: 'opening' } | { state: 'open' } | { state: 'over'; why: string };

export function Terminal({ id, name, visible }: { id: string; name: string; visible: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const again = useRef<HTMLButtonElement>(null);
  const term = useRef<Xterm | undefined>(undefined);
  const [link, setLink] = useState<Link>({ state: 'opening' });
  const [round, setRound] = useState(0);
  const [spoken, setSpoken] = useState(false);

  useEffect(() => {
    const forbid = allowStyles(document);
    const x = new Xterm({
      cursorBlink: false, scrollback: 10_000, fontSize: 13, fontFamily: token('--mono'), minimumContrastRatio: 4.5, theme: colours(),
    });
    const fit = new FitAddon();
    x.loadAddon(fit);
    x.open(box.current!);
    fit.fit();
    term.current = x;
    let socket: WebSocket | undefined;
    let opened = false;
    let left = false;
    const shown = new Shown();
    const tell = (text: string) => socket?.readyState === WebSocket.OPEN && socket.send(text);
    const type = (bytes: Uint8Array) => {
      if (socket?.readyState !== WebSocket.OPEN) return;
      if (bytes.length > maxTyped) {
        complain('Paste', new Error(`A terminal takes at most ${maxTyped / 1000} KB at once. Copy a file with scp: det shell show-ssh-command ${id}`));
        return;
      }
      for (const part of partsOf(bytes)) socket.send(part);
    };
    const encoder = new TextEncoder();
    x.onData((text) => type(encoder.encode(text)));
    x.onBinary((text) => type(bytesOf(text)));
    x.onResize(({ cols, rows }) => tell(JSON.stringify({ columns: cols, rows })));
    x.attachCustomKeyEventHandler((e) => {
      if (e.ctrlKey && e.shiftKey && e.code === 'Period') { // leaves the terminal, in which Tab belongs to the shell
        if (e.type === 'keydown') again.current?.focus();
        return false;
      }
      const held = (e.ctrlKey || e.metaKey) && !e.altKey;
      if (held && e.code === 'KeyV') return false; // the browser pastes
      if (held && e.code === 'KeyC' && x.hasSelection()) {
        if (e.type === 'keydown') void navigator.clipboard?.writeText(x.getSelection()).then(() => x.clearSelection());
        e.preventDefault();
        return false;
      }
      return true;
    });
    const over = (why: string) => {
      setLink({ state: 'over', why });
      x.options.disableStdin = true;
    };
    socket = new WebSocket(addressOf(location.href, id, x.cols, x.rows));
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      opened = true;
      setLink({ state: 'open' });
      tell(JSON.stringify({ columns: x.cols, rows: x.rows })); // it may have changed meanwhile
      x.focus();
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      x.write(new Uint8Array(data), () => {
        const word = shown.add(data.byteLength);
        if (word) tell(word);
      });
    };
    socket.onclose = ({ code, reason }) => {
      if (left) return;
      if (opened) over(endOf(code, reason));
      else void refusal(id).then((why) => left || over(why));
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const sized = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => box.current?.offsetParent && fit.fit(), settle);
    });
    sized.observe(box.current!);
    const stopTheme = effect(() => {
      void theme.value;
      requestAnimationFrame(() => left || (x.options.theme = colours()));
    });
    return () => {
      left = true;
      clearTimeout(timer);
      sized.disconnect();
      stopTheme();
      socket?.close();
      x.dispose();
      forbid();
    };
  }, [id, round]);

  useEffect(() => {
    if (visible) term.current?.focus();
  }, [visible]);
  useEffect(() => {
    if (term.current) term.current.options.screenReaderMode = spoken;
  }, [spoken, round]);

  return (
    <section class="terminal" hidden={!visible} aria-label={name}>
      <div class="tools">
        <span role="status">{link.state === 'opening' ? 'Connecting…' : link.state === 'open' ? <span class="state good">connected</span> : <><span class="state off">ended</span> {link.why}</>}</span>
        <span class="grow" />
        <label class="choice"><input type="checkbox" checked={spoken} onChange={(e) => setSpoken(e.currentTarget.checked)} /> for screen readers</label>
        <button ref={again} type="button" class={link.state === 'over' ? 'main' : ''} onClick={() => {
          setLink({ state: 'opening' });
          setRound((n) => n + 1);
        }}>{link.state === 'over' ? 'Open it again' : 'Start anew'}</button>
      </div>
      <div class="glass"><div ref={box} /></div>
      <p class="hint">Programs end with the terminal, when this page closes; keep them in <code>tmux</code> or <code>screen</code>. <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>.</kbd> leaves the terminal, and <kbd>Ctrl</kbd> <kbd>C</kbd> copies what is selected.</p>
    </section>
  );
}

// refusal asks why there was no connection: a browser does not tell a page what the master has answered to a WebSocket.
async function refusal(id: string): Promise<string> {
  try {
    await request(`/api/v1/detent/shells/${encodeURIComponent(id)}/terminal`);
  } catch (error) {
    if (error instanceof ApiError && error.status !== 400) return words(error);
  }
  return 'The connection could not be opened. A proxy between this browser and the master may not let WebSockets through.';
}
