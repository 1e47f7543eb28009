package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/expconf"
)

// silentBucket answers nothing while it is silent: no listing, or nothing of an object.
type silentBucket struct {
	finds, gets   atomic.Bool // silent in these
	held          atomic.Int32
	opened, ended atomic.Int32
}

func (s *silentBucket) wait(ctx context.Context) error {
	s.held.Add(1)
	defer s.held.Add(-1)
	<-ctx.Done()
	return context.Cause(ctx)
}

func (s *silentBucket) Find(ctx context.Context, _ string, names []string) (map[string]bool, error) {
	if s.finds.Load() {
		return nil, s.wait(ctx)
	}
	found := map[string]bool{}
	for _, name := range names {
		found[name] = true
	}
	return found, nil
}

func (s *silentBucket) Get(ctx context.Context, key string) (io.ReadCloser, checkpoints.Object, error) {
	return silentObject{ctx, s}, checkpoints.Object{Key: key, Size: 1}, nil
}

func (s *silentBucket) Close() { s.ended.Add(1) }

type silentObject struct {
	ctx context.Context
	of  *silentBucket
}

func (s silentObject) Read(p []byte) (int, error) {
	if s.of.gets.Load() {
		return 0, s.of.wait(s.ctx)
	}
	return copy(p, "x"), io.EOF
}

func (silentObject) Close() error { return nil }

// downloads begins a download, which ends with the returned function.
func (c as) downloads(path string) (leave context.CancelFunc) {
	t := c.r.t
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", c.r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(c.header, c.token)
	go func() {
		// The connection is used for this download only, and is closed with the client.
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if resp, err := client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	return cancel
}

// A store that does not answer delays only the client of the download, and only until that client
// disconnects.
func TestDownloadsFromSilentStorage(t *testing.T) {
	bucket := &silentBucket{}
	r := newRig(t, func(c *Config) {
		c.Bucket = func(context.Context, expconf.CheckpointStorage) (checkpoints.Bucket, error) {
			bucket.opened.Add(1)
			return bucket, nil
		}
	})
	a := r.running(bucketStorage(""), 1)
	const id = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{"model":"1"},"training":{}}`,
		id, a.task, a.id)).ok()
	me, other, path := r.user("determined"), r.user("admin"), "/checkpoints/"+id
	r.api.checkpoints.Downloads.Wait = 100 * time.Millisecond
	for where, silent := range map[string]*atomic.Bool{"while it looks for the files": &bucket.finds, "while it reads one": &bucket.gets} {
		silent.Store(true)
		var leave []context.CancelFunc
		for range checkpoints.MaxDownloadsPerUser {
			leave = append(leave, me.downloads(path))
		}
		waitFor(t, func() bool { return bucket.held.Load() == checkpoints.MaxDownloadsPerUser })
		got := me.get(path).says(429, fmt.Sprint(checkpoints.MaxDownloadsPerUser, " checkpoints at the same time"), "try again")
		if got.header.Get("Retry-After") == "" {
			t.Errorf("%s: the answer has no Retry-After", where)
		}
		another := other.downloads(path) // has turns of its own
		waitFor(t, func() bool { return bucket.held.Load() == checkpoints.MaxDownloadsPerUser+1 })
		another()
		for _, l := range leave {
			l()
		}
		waitFor(t, func() bool { return bucket.held.Load() == 0 })
		silent.Store(false)
		r.api.checkpoints.Downloads.Wait = time.Minute // the last one's turn may still be on its way back
		if got := entriesOf(t, me.get(path).ok().body); len(got) != 1 || got[0] != "model:1" {
			t.Errorf("%s: afterwards %v", where, got)
		}
		waitFor(t, func() bool { return bucket.opened.Load() == bucket.ended.Load() })
		r.opens(0)
		r.api.checkpoints.Downloads.Wait = 100 * time.Millisecond
	}
	// The download ends when the user loses the right to it.
	bucket.gets.Store(true)
	me.downloads(path)
	waitFor(t, func() bool { return bucket.held.Load() == 1 })
	me.post("/api/v1/auth/logout", "").ok()
	waitFor(t, func() bool { return bucket.held.Load() == 0 })
}
