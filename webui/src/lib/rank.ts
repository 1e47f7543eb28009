// How well a name fits what somebody typed: letters in order, better at the beginnings of words.

// score is 0 if a name does not match, else higher for a better match.
export function score(typed: string, name: string): number {
  const want = typed.trim().toLowerCase();
  const have = name.toLowerCase();
  if (!want) return 1;
  if (have === want) return 1000;
  const at = have.indexOf(want);
  if (at === 0) return 800 - Math.min(200, have.length - want.length);
  if (at > 0) return (/[\s/_\-.]/.test(have[at - 1]!) ? 600 : 400) - Math.min(200, have.length - want.length);
  const words = want.split(/\s+/);
  if (words.length > 1) return words.every((w) => have.includes(w)) ? 350 : 0;
  // Letters in their order, each run of neighbours and each beginning of a word counts.
  let i = 0, sum = 0, last = -2;
  for (let j = 0; j < have.length && i < want.length; j++) {
    if (have[j] !== want[i]) continue;
    sum += j === last + 1 ? 6 : 1;
    if (j === 0 || /[\s/_\-.]/.test(have[j - 1]!)) sum += 8;
    last = j;
    i++;
  }
  return i === want.length && sum >= want.length * 4 ? Math.min(300, sum) : 0;
}

export function best<T>(typed: string, list: readonly T[], name: (item: T) => string, most: number): T[] {
  return list
    .map((item) => ({ item, n: score(typed, name(item)) }))
    .filter((x) => x.n > 0)
    .sort((a, b) => b.n - a.n)
    .slice(0, most)
    .map((x) => x.item);
}
