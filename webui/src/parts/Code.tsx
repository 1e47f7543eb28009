// The code of an experiment as it was submitted: a tree of files, texts with their lines, notebooks,
// Markdown and pictures. No part of it runs.
import { useMemo, useState } from 'preact/hooks';
import Anser from 'anser';
import { downloadOf, filesOf, maxBytes, textOf, treeOf } from '../lib/code';
import { bytes, clock, plural } from '../lib/format';
import { useLoad } from '../lib/load';
import { read, type Output } from '../lib/notebook';
import { link, params, setParams } from '../lib/router';
import type { FileNode } from '../lib/types';
import { paintCode } from '../lib/paint';
import { Copy, Empty, Loading, Problem } from './bits';
import { Markdown } from './Markdown';

const maxLines = 20_000;

export function Code({ experiment }: { experiment: number }) {
  const tree = useLoad((signal) => treeOf(experiment, signal), [experiment]);
  const files = useMemo(() => (tree.data ? filesOf(tree.data) : []), [tree.data]);
  const said = params.value.get('file');
  const file = files.find((f) => f.path === said) ?? (said ? undefined : files.find((f) => /^readme(\.md)?$/i.test(f.path)) ?? files.find((f) => /^[^/]+\.py$/i.test(f.path)) ?? files.find((f) => !f.path.includes('/')) ?? files[0]);
  if (tree.error) return <Problem what="Could not load the list of files." error={tree.error} retry={tree.reload} />;
  if (!tree.data) return <Loading lines={5} />;
  if (files.length === 0) return <Empty title="No code was submitted." />;
  return (
    <div class="code">
      <nav class="card tree" aria-label="files"><Folder nodes={tree.data} at={file?.path ?? ''} /><p class="faint small">{plural(files.length, 'file')}, {bytes(files.reduce((n, f) => n + f.size, 0))}</p></nav>
      {file ? <File key={file.path} experiment={experiment} path={file.path} size={file.size} time={nodeOf(tree.data, file.path)?.modifiedTime} /> : <Empty title={`There is no file ${said}.`} />}
    </div>
  );
}

function nodeOf(nodes: readonly FileNode[], path: string): FileNode | undefined {
  for (const n of nodes) {
    if (n.path === path) return n;
    const found = n.isDir && path.startsWith(`${n.path}/`) ? nodeOf(n.files ?? [], path) : undefined;
    if (found) return found;
  }
  return undefined;
}

const byKind = (a: FileNode, b: FileNode): number => Number(b.isDir) - Number(a.isDir) || a.name.localeCompare(b.name);

function Folder({ nodes, at }: { nodes: readonly FileNode[]; at: string }) {
  return (
    <ul>
      {[...nodes].sort(byKind).map((n) => (
        <li key={n.path}>
          {n.isDir ? <Branch node={n} at={at} /> : <a class="cut" href={link(location.pathname, { file: n.path })} title={n.path} aria-current={n.path === at ? 'page' : undefined} onClick={(e) => {
            e.preventDefault();
            setParams({ file: n.path });
          }}>{n.name}</a>}
        </li>
      ))}
    </ul>
  );
}

function Branch({ node, at }: { node: FileNode; at: string }) {
  const [open, setOpen] = useState(at.startsWith(`${node.path}/`) || (node.files ?? []).length < 12);
  return (
    <>
      <button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? '▾' : '▸'} {node.name}</button>
      {open && <Folder nodes={node.files ?? []} at={at} />}
    </>
  );
}

function File({ experiment, path, size, time }: { experiment: number; path: string; size: number; time: string | undefined }) {
  const plainly = params.value.get('source') === '1';
  const large = size > maxBytes;
  const loaded = useLoad(async (signal) => (large ? null : { text: await textOf(experiment, path, signal) }), [experiment, path]);
  const text = loaded.data?.text;
  const rendered = /\.(ipynb|md|markdown)$/i.test(path);
  const lines = useMemo(() => (text ? text.replace(/\n$/, '').split('\n') : []), [text]);
  return (
    <section class="card file" aria-label={path}>
      <div class="row wrap">
        <h2 class="path"><code>{path}</code></h2><span class="faint small">{bytes(size)}{time && Date.parse(time) > 0 && `, ${clock(time)}`}</span><span class="grow" />
        {rendered && typeof text === 'string' && <button type="button" class="quiet" aria-pressed={plainly} onClick={() => setParams({ source: plainly ? '' : 1 })}>{plainly ? 'as it reads' : 'its text'}</button>}
        {typeof text === 'string' && <Copy text={text} what="file" />}
        <a class="button quiet" href={downloadOf(experiment, path)} download={path.split('/').pop()}>download</a>
      </div>
      {loaded.error ? <Problem what={`Could not load ${path}.`} error={loaded.error} retry={loaded.reload} /> : large ? <Empty title={`The file is larger than ${bytes(maxBytes)}.`}><p>Download it to read it.</p></Empty> : loaded.data === undefined ? <Loading lines={5} />
        : text === null ? <Empty title="This file is no text." /> : text === '' ? <Empty title="This file is empty." /> : text === undefined ? null
          : rendered && !plainly ? (/\.ipynb$/i.test(path) ? <Notebook text={text} /> : <Markdown text={text} />)
            : (
              <pre class="source" tabIndex={0} aria-label={path}>
                {lines.slice(0, maxLines).map((l, i) => <div key={i} class="yl"><span class="no">{i + 1}</span><code>{paintCode(l, path).map((p, k) => <span key={k} class={p.kind}>{p.text}</span>)}</code></div>)}
                {lines.length > maxLines && <p class="faint">{plural(lines.length - maxLines, 'more line')}: download the file to read them.</p>}
              </pre>
            )}
    </section>
  );
}

function Notebook({ text }: { text: string }) {
  const book = useMemo(() => read(text), [text]);
  if (!book) return <Empty title="This file is no notebook." />;
  return (
    <div class="notebook">
      {book.cells.map((c, i) => (
        <div key={i} class={`cell ${c.kind}`}>
          {c.kind === 'markdown' ? <Markdown text={c.source} /> : (
            <>
              <span class="prompt num" aria-hidden="true">{c.kind === 'code' ? `[${c.count ?? ' '}]` : ''}</span>
              <pre class="source" tabIndex={0} aria-label={`cell ${i + 1}`}>{c.source.split('\n').map((l, k) => <div key={k}><code>{paintCode(l, c.kind === 'code' ? 'x.py' : '').map((p, n) => <span key={n} class={p.kind}>{p.text}</span>)}{l ? '' : ' '}</code></div>)}</pre>
              {c.outputs.map((o, k) => <Shown key={k} output={o} />)}
            </>
          )}
        </div>
      ))}
      {book.more > 0 && <p class="faint">{plural(book.more, 'more cell')}.</p>}
    </div>
  );
}

function Shown({ output: o }: { output: Output }) {
  if (o.kind === 'image') return <img class="out" src={o.source} alt="an output of this cell" />;
  if (o.kind === 'left') return <p class="out faint small">An output of the type {o.what} is not shown here.</p>;
  const text = Anser.ansiToJson(o.text, { remove_empty: true }).map((p) => p.content).join('');
  return <pre class={`out ${o.kind}`} tabIndex={0}>{text}</pre>;
}
