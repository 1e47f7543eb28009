import { describe, expect, it } from 'vitest';
import { generic } from '../src/lib/do';
import { read } from '../src/lib/draft';

describe('the request for a generic task', () => {
  const config = { entrypoint: ['/bin/sh', '-c', 'echo "a: b" # c'], resources: { slots: 0 } };
  const file = { path: 'x', type: 48, content: '', mtime: '0', mode: 0o644, uid: 0, gid: 0 };
  it('has its configuration as YAML with the same meaning', () => {
    expect(read(generic({ config }, true).config).draft).toEqual(config);
  });
  it('names only what was chosen', () => {
    expect(generic({ config }, false)).toEqual({ config: expect.any(String), contextDirectory: [], preview: false });
    expect(generic({ config, project: 3, parent: 'p', inherit: true, noPause: true }, false)).toMatchObject({ projectId: 3, parentId: 'p', inheritContext: true, noPause: true });
  });
  it('takes code from one place: its own files, or those of the task above', () => {
    const r = generic({ config, parent: 'p', inherit: true, files: [file] }, false);
    expect(r.contextDirectory).toHaveLength(1);
    expect(r.inheritContext).toBeUndefined();
    expect(generic({ config, inherit: true }, false).inheritContext).toBeUndefined();
    expect(generic({ config, files: [file] }, true).contextDirectory).toEqual([]);
  });
});
