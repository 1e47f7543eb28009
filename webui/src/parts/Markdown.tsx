// Markdown in a page: elements are made from the tree, so no text becomes markup.
import { h, type ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { askFirst } from '../lib/opening';
import { parse, type Block, type Inline } from '../lib/markdown';

export function Markdown({ text }: { text: string }) {
  const tree = useMemo(() => parse(text), [text]);
  return <div class="markdown">{tree.map(block)}</div>;
}

function block(b: Block, key: number): ComponentChildren {
  switch (b.kind) {
    case 'heading':
      return h(`h${Math.min(6, b.level + 2)}`, { key }, b.of.map(part)); // below the headings of the page
    case 'paragraph':
      return <p key={key}>{b.of.map(part)}</p>;
    case 'code':
      return <pre key={key} tabIndex={0}><code>{b.text}</code></pre>;
    case 'quote':
      return <blockquote key={key}>{b.of.map(block)}</blockquote>;
    case 'rule':
      return <hr key={key} />;
    case 'list': {
      const items = b.items.map((x, i) => (
        <li key={i} class={x.done === null ? undefined : 'task'}>
          {x.done !== null && <input type="checkbox" checked={x.done} disabled aria-label={x.done ? 'done' : 'open'} />}
          {x.of.length === 1 && x.of[0]!.kind === 'paragraph' ? x.of[0]!.of.map(part) : x.of.map((y, k) => (k === 0 && y.kind === 'paragraph' ? <span key={k}>{y.of.map(part)}</span> : block(y, k)))}
        </li>
      ));
      return b.ordered ? <ol key={key} start={b.start}>{items}</ol> : <ul key={key}>{items}</ul>;
    }
    case 'table':
      return (
        <div key={key} class="scroll" tabIndex={0} role="group" aria-label="table">
          <table class="plain">
            <thead><tr>{b.head.map((c, i) => <th key={i} scope="col" style={{ textAlign: b.align[i] ?? 'left' }}>{c.map(part)}</th>)}</tr></thead>
            <tbody>{b.rows.map((r, i) => <tr key={i}>{r.map((c, k) => <td key={k} style={{ textAlign: b.align[k] ?? 'left' }}>{c.map(part)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      );
  }
}

function part(p: Inline, key: number): ComponentChildren {
  switch (p.kind) {
    case 'text':
      return p.text;
    case 'code':
      return <code key={key}>{p.text}</code>;
    case 'strong':
      return <strong key={key}>{p.of.map(part)}</strong>;
    case 'em':
      return <em key={key}>{p.of.map(part)}</em>;
    case 'del':
      return <del key={key}>{p.of.map(part)}</del>;
    case 'break':
      return <br key={key} />;
    case 'link':
      return /^[/#]/.test(p.to) ? <a key={key} href={askFirst(p.to)}>{p.of.map(part)}</a> : <a key={key} href={askFirst(p.to)} target="_blank" rel="noreferrer noopener nofollow">{p.of.map(part)}</a>;
  }
}
