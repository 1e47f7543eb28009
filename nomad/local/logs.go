package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	"github.com/hashicorp/nomad/api"
)

// Logs writes the last lines of a part's log (all lines with 0), and with follow continues until the
// context ends.
func (c *Cluster) Logs(ctx context.Context, part string, lines int, follow bool, w io.Writer) error {
	if names := c.partNames(); !slices.Contains(names, part) {
		return fmt.Errorf("no part %q; the cluster has %s", part, strings.Join(names, ", "))
	}
	path := c.logPath(part)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return fmt.Errorf("%s has logged nothing yet", part)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := skipToLast(f, lines); err != nil {
		return err
	}
	for {
		if _, err := io.Copy(w, f); err != nil {
			return err
		}
		if !follow {
			return nil
		}
		if sleep.For(ctx, 200*time.Millisecond) != nil {
			return nil
		}
		// Nomad rotates log files, and a new master has a new file.
		if now := c.logPath(part); now != path {
			next, err := os.Open(now)
			if err != nil {
				return err
			}
			f.Close()
			f, path = next, now
		}
	}
}

// skipToLast moves to the beginning of the last lines.
func skipToLast(f *os.File, lines int) error {
	if lines <= 0 {
		return nil
	}
	const most = 1 << 20 // bytes at the end of a log, enough for many lines
	info, err := f.Stat()
	if err != nil {
		return err
	}
	start := max(0, info.Size()-most)
	tail := make([]byte, info.Size()-start)
	if _, err := f.ReadAt(tail, start); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := len(tail)
	if at > 0 && tail[at-1] == '\n' {
		at--
	}
	for range lines {
		if at = strings.LastIndexByte(string(tail[:at]), '\n'); at < 0 {
			break
		}
	}
	_, err = f.Seek(start+int64(at)+1, io.SeekStart)
	return err
}

// logPath is the current log file of a part. The master's is the newest one of its newest allocation,
// in Nomad's folder; it can be read while Nomad does not run.
func (c *Cluster) logPath(part string) string {
	switch part {
	case partPostgres:
		return c.path(partPostgres, "postgres.log")
	case partMaster:
		found, _ := filepath.Glob(filepath.Join(c.allocDir(""), "*", "alloc", "logs", masterTask+".stderr.*"))
		if len(found) == 0 {
			return ""
		}
		return slices.MaxFunc(found, func(a, b string) int { return cmp.Or(modTime(a).Compare(modTime(b)), fileNumber(a)-fileNumber(b)) })
	default:
		return c.logFile(part)
	}
}

func modTime(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// fileNumber is the number at the end of a rotated log's name.
func fileNumber(path string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(path), "."))
	return n
}

// taskLogTail is the end of a task's log, or "" if it cannot be read.
func (c *Cluster) taskLogTail(ctx context.Context, client *api.Client, alloc *api.Allocation, task, kind string) string {
	const most = 2000
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	frames, failed := client.AllocFS().Logs(alloc, false, task, kind, "end", most, ctx.Done(), (&api.QueryOptions{}).WithContext(ctx))
	var b strings.Builder
	for {
		select {
		case frame, ok := <-frames:
			if !ok {
				return strings.TrimSpace(b.String())
			}
			b.Write(frame.Data)
		case <-failed: //nolint:errcheck // a log that cannot be read is treated as a short one
			return strings.TrimSpace(b.String())
		case <-ctx.Done():
			return strings.TrimSpace(b.String())
		}
	}
}
