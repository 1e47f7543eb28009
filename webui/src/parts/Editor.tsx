// YAML to write: a plain text field over the same text in colours.
import { useEffect, useRef } from 'preact/hooks';
import { paint } from '../lib/yaml';

interface Props {
  label: string;
  value: string;
  change: (text: string) => void;
  rows?: number;
  wrong?: boolean;
  describedBy?: string;
}

export function Editor({ label, value, change, rows = 18, wrong, describedBy }: Props) {
  const under = useRef<HTMLPreElement>(null);
  const text = useRef<HTMLTextAreaElement>(null);
  const follow = () => {
    if (!under.current || !text.current) return;
    under.current.scrollTop = text.current.scrollTop;
    under.current.scrollLeft = text.current.scrollLeft;
  };
  useEffect(follow, [value]);
  const lines = value.split('\n');
  // Tab leaves the field, as everywhere; Enter keeps the indentation of the line.
  const keys = (e: KeyboardEvent) => {
    if (e.key !== 'Enter' || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || e.isComposing) return;
    const el = e.currentTarget as HTMLTextAreaElement;
    const before = el.value.slice(0, el.selectionStart);
    const line = before.slice(before.lastIndexOf('\n') + 1);
    const indent = line.match(/^\s*/)![0] + (/:\s*$/.test(line) ? '  ' : '');
    if (!indent) return;
    e.preventDefault();
    el.setRangeText(`\n${indent}`, el.selectionStart, el.selectionEnd, 'end');
    change(el.value);
  };
  return (
    <div class={`editor${wrong ? ' wrong-text' : ''}`}>
      <pre ref={under} class="yaml" aria-hidden="true">
        {lines.map((line, i) => <div key={i} class="yl"><span class="no">{i + 1}</span><code>{paint(line).map((p, j) => <span key={j} class={p.kind}>{p.text}</span>)}{'\u200b'}</code></div>)}
      </pre>
      <textarea ref={text} aria-label={label} aria-invalid={!!wrong} aria-describedby={describedBy} spellcheck={false} autocomplete="off" wrap="off" rows={rows} value={value}
        onInput={(e) => change(e.currentTarget.value)} onScroll={follow} onKeyDown={keys} />
    </div>
  );
}
