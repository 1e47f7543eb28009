// Files of this computer that a user submits with a task.
import type { File as Sent } from './types';

export const maxBytes = 64 << 20; // bytes of all files, before they are written as text
const regular = 48; // as in an archive

export interface Chosen {
  path: string;
  file: Blob & { lastModified?: number };
}

// below returns the path of a file within the selected folder.
export function below(file: { name: string; webkitRelativePath?: string }): string {
  const path = file.webkitRelativePath || file.name;
  const cut = path.indexOf('/');
  return cut < 0 ? path : path.slice(cut + 1);
}

// excluded matches files that are not sent: those of version control and caches.
export function excluded(path: string): boolean {
  return path.split('/').some((part) => ['.git', '__pycache__', '.ipynb_checkpoints', '.DS_Store', 'node_modules'].includes(part));
}

export function size(files: readonly Chosen[]): number {
  return files.reduce((sum, f) => sum + f.file.size, 0);
}

export async function pack(files: readonly Chosen[]): Promise<Sent[]> {
  const out: Sent[] = [];
  const folders = new Set<string>();
  for (const f of files) {
    const parts = f.path.split('/').slice(0, -1);
    for (let i = 1; i <= parts.length; i++) folders.add(parts.slice(0, i).join('/'));
  }
  for (const path of [...folders].sort()) out.push({ path, type: 53, content: '', mtime: '0', mode: 0o755, uid: 0, gid: 0 });
  for (const f of files) {
    out.push({ path: f.path, type: regular, content: base64(new Uint8Array(await f.file.arrayBuffer())), mtime: String(Math.floor((f.file.lastModified ?? 0) / 1000)), mode: 0o644, uid: 0, gid: 0 });
  }
  return out;
}

export function base64(bytes: Uint8Array): string {
  let text = '';
  const lot = 0x8000;
  for (let i = 0; i < bytes.length; i += lot) text += String.fromCharCode(...bytes.subarray(i, i + lot));
  return btoa(text);
}
