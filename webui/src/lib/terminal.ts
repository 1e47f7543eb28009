// A terminal's connection: what is sent in which parts, when the master is told what was shown, and how the end reads.
import { pathOf, search } from './api';
import { openTerminal } from './types';

export const partSize = 16_000; // bytes of input in one message
export const maxTyped = 500_000; // bytes of one paste
const tellEvery = 32_000; // bytes of output

// partsOf cuts input into messages.
export function partsOf(bytes: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let i = 0; i < bytes.length; i += partSize) parts.push(new Uint8Array(bytes.subarray(i, i + partSize)));
  return parts;
}

// bytesOf reads a text in which each character is a byte.
export function bytesOf(binary: string): Uint8Array {
  return Uint8Array.from(binary, (c) => c.charCodeAt(0) & 255);
}

// Shown counts the output on the screen. The master sends only a little more than it knows to be shown.
export class Shown {
  private all = 0;
  private told = 0;

  // add returns what the master must be told now, if anything.
  add(bytes: number): string | null {
    this.all += bytes;
    if (this.all - this.told < tellEvery) return null;
    this.told = this.all;
    return JSON.stringify({ shown: this.all });
  }
}

export function addressOf(base: string, id: string, columns: number, rows: number): string {
  const url = new URL(pathOf(openTerminal, id) + search({ columns, rows }), base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

// endOf is what a page says about the end of a connection.
export function endOf(code: number, reason: string): string {
  if (code === 4401) return 'Your session has ended. Sign in again.';
  if (reason && (code === 1000 || code > 4000)) return reason;
  return code === 1000 ? 'The shell has ended.' : 'The connection was lost, and with it the programs of this terminal.';
}
