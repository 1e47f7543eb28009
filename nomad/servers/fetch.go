package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fetchIdle is how long a server may send nothing of a file.
const fetchIdle = time.Minute

// Fetch downloads a missing server from its maker or from the mirror, verifies it, and unpacks it into the cache. Its checksum is that of
// this program, else that of a list in the supply's folder, which somebody has downloaded, else that of the list beside the archive.
func (s Supply) Fetch(ctx context.Context, name string, report *Reporter) (Binary, error) {
	pin, err := pinOf(name)
	if err != nil {
		return Binary{}, err
	}
	addresses := pin.files(s.Mirror)
	if len(addresses) == 0 {
		return Binary{}, fmt.Errorf("det cannot download %s: its maker publishes no archive that det can use; install version %s or later", pin.Title, pin.Oldest)
	}
	path, err := pin.unpacked(release{version: pin.Version, platform: platform()})
	if err != nil {
		return Binary{}, err
	}
	host := strings.TrimSuffix(strings.TrimSuffix(shown(addresses[0]), pin.archiveName()), "/")
	err = Once(ctx, path, Part{
		Lock: filepath.Dir(path) + ".lock", There: func() bool { return exists(path) }, Waiting: "downloading " + pin.Title,
		Making: fmt.Sprintf("downloading %s %s from %s", pin.Title, pin.Version, host),
		Make:   func(ctx context.Context, task *Task) error { return s.download(ctx, pin, addresses, path, task) },
	}, report)
	if err != nil {
		return Binary{}, err
	}
	return pin.program(ctx, path)
}

// download downloads an archive, and the list of its checksum if there is an address of one, into a folder that is removed at the end.
func (s Supply) download(ctx context.Context, pin Pin, addresses []string, path string, task *Task) error {
	cache, err := CacheDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(cache, ".download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	known, err := pin.sumsBeside(cmp.Or(s.Folder, fresh))
	if err != nil {
		return err
	}
	if known[pin.archiveName()] == "" {
		list := filepath.Join(fresh, sumsName(pin.Name, pin.Version))
		if err := get(ctx, addresses[len(addresses)-1], list, maxSums, task); err != nil {
			return err
		}
		if known, err = pin.sumsBeside(fresh); err != nil {
			return err
		}
	}
	// An archive of another release, which a list may have too, is not what was asked for.
	known = sums{pin.archiveName(): known[pin.archiveName()]}
	archive := filepath.Join(fresh, pin.archiveName())
	if err := get(ctx, addresses[0], archive, maxProgram, task); err != nil {
		return err
	}
	released, err := pin.verify(archive, known)
	if err != nil {
		if wrong, ok := errors.AsType[*WrongSumError](err); ok {
			return &WrongSumError{File: shown(addresses[0]), Found: wrong.Found, Want: wrong.Want}
		}
		return fmt.Errorf("%s lists no checksum of %s", shown(addresses[len(addresses)-1]), pin.archiveName())
	}
	return pin.extract(archive, path, released.sum)
}

// shown is an address as messages have it: without the password that one of a mirror may have.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address of the mirror"
	}
	return u.Redacted()
}

// get downloads a file of at most limit bytes.
func get(ctx context.Context, address, path string, limit int64, task *Task) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(fetchIdle, func() { cancel(fmt.Errorf("no answer for %s", fetchIdle)) })
	defer idle.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	var resp *http.Response
	if err == nil {
		resp, err = http.DefaultClient.Do(req)
	}
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the address is in our own message
		}
		return fmt.Errorf("cannot download %s: %w", shown(address), cmp.Or(unlessEnded(ctx), err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("cannot download %s: the server answers %s", shown(address), resp.Status)
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	count := &counter{task: task, total: resp.ContentLength, alive: func() { idle.Reset(fetchIdle) }}
	n, err := io.Copy(io.MultiWriter(out, count), io.LimitReader(resp.Body, limit+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("cannot download %s: %w", shown(address), cmp.Or(unlessEnded(ctx), err))
	}
	if n > limit {
		return fmt.Errorf("cannot download %s: it has more than %d bytes", shown(address), limit)
	}
	return nil
}

// unlessEnded is why a download ended by itself; nil if it did not.
func unlessEnded(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// counter shows how much of a file has arrived.
type counter struct {
	task        *Task
	done, total int64
	alive       func()
}

func (c *counter) Write(p []byte) (int, error) {
	c.done += int64(len(p))
	c.alive()
	if c.total > 0 {
		c.task.Update(fmt.Sprintf("%d of %d MB", c.done/1e6, c.total/1e6))
	} else {
		c.task.Update(fmt.Sprintf("%d MB", c.done/1e6))
	}
	return len(p), nil
}
