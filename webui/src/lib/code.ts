// The files of an experiment's code.
import { api, pathOf, request, search } from './api';
import { downloadModelDefFile, type FileNode } from './types';

export interface File {
  path: string;
  size: number;
}

export const maxBytes = 1 << 20; // of a file that is shown

export function filesOf(tree: readonly FileNode[]): File[] {
  return tree.flatMap((n) => (n.isDir ? filesOf(n.files ?? []) : [{ path: n.path, size: n.contentLength }])).sort((a, b) => a.path.localeCompare(b.path));
}

export const treeOf = async (experiment: number, signal?: AbortSignal): Promise<FileNode[]> => (await api.codeTree(experiment, signal)).files;

export const downloadOf = (experiment: number, path: string): string => pathOf(downloadModelDefFile, experiment) + search({ path });

// textOf reads a file; null: it is no text.
export async function textOf(experiment: number, path: string, signal?: AbortSignal): Promise<string | null> {
  const r = await request(downloadOf(experiment, path), signal ? { signal } : {});
  const bytes = new Uint8Array(await r.arrayBuffer());
  if (bytes.subarray(0, 8000).includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
