// Highlights code: comments, texts, numbers and keywords.
import { paint, type Piece } from './yaml';

const python = new Set('False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case'.split(' '));
const shell = new Set('if then else elif fi for do done while until case esac function in export local return exit set'.split(' '));
const c = new Set('break case char class const continue default do double else enum extern float for func go if import int interface let long map namespace new nil null package return short static struct switch template type typedef using var void while function true false this'.split(' '));

interface Language {
  words: Set<string>;
  note: string;
}
const languages: [RegExp, Language][] = [
  [/\.pyi?$/i, { words: python, note: '#' }],
  [/\.(sh|bash|zsh)$|(^|\/)(Dockerfile|Makefile|justfile)$/i, { words: shell, note: '#' }],
  [/\.(c|cc|cpp|cu|cuh|h|hpp|go|js|mjs|ts|tsx|java|rs)$/i, { words: c, note: '//' }],
  [/\.(toml|cfg|ini|hcl|nomad|tf|r|jl)$/i, { words: new Set(['true', 'false']), note: '#' }],
];

// paintCode divides a line into pieces by their kind. Each line of a text over several lines is separate.
export function paintCode(line: string, path: string): Piece[] {
  if (/\.(ya?ml)$/i.test(path)) return paint(line);
  const language = languages.find(([name]) => name.test(path))?.[1] ?? (/\.(json|ipynb)$/i.test(path) ? { words: new Set(['true', 'false', 'null']), note: '\u0000' } : null);
  if (!language || line.length > 5000) return line ? [{ text: line, kind: '' }] : [];
  const out: Piece[] = [];
  const say = (text: string, kind: Piece['kind']) => {
    const last = out[out.length - 1];
    if (last && last.kind === kind) last.text += text;
    else out.push({ text, kind });
  };
  for (let i = 0; i < line.length; ) {
    const rest = line.slice(i);
    if (rest.startsWith(language.note)) {
      say(rest, 'note');
      break;
    }
    const m = rest.match(/^("""|'''|"|'|`)/);
    if (m) {
      const quote = m[0];
      let end = i + quote.length;
      while (end < line.length && !line.startsWith(quote, end)) end += line[end] === '\\' ? 2 : 1;
      end = Math.min(line.length, end + quote.length);
      say(line.slice(i, end), 'text');
      i = end;
      continue;
    }
    const word = rest.match(/^[A-Za-z_]\w*/)?.[0];
    if (word) {
      say(word, language.words.has(word) ? 'key' : '');
      i += word.length;
      continue;
    }
    const number = rest.match(/^(0x[\da-fA-F_]+|\d[\d_]*\.?\d*([eE][-+]?\d+)?)/)?.[0];
    if (number) {
      say(number, 'number');
      i += number.length;
      continue;
    }
    say(line[i]!, '');
    i++;
  }
  return out;
}
