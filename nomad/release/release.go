package release

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/v1"
)

// A Target is a platform for which programs are built.
type Target struct{ OS, Arch string }

func (t Target) String() string { return t.OS + "_" + t.Arch }

// Servers are the platforms of masters and nodes, Clients those of users' machines.
var (
	Servers = []Target{{"linux", "amd64"}, {"linux", "arm64"}}
	Clients = append([]Target{{"darwin", "amd64"}, {"darwin", "arm64"}}, Servers...)
)

// Options select what to make.
type Options struct {
	Root    string   // of the checkout
	Out     string   // the target folder, which must be empty
	Servers []Target // platforms of det-master, det-runner, det-remover, det-notice, det-gpu and det-scaler
	Clients []Target // platforms of det
	Python  string   // a Python with pip, which makes the wheel; "": no wheel
	// ArchivesOnly omits the bill of materials and the wheel, and compresses fast. For tests.
	ArchivesOnly bool
	Log          io.Writer
}

// A builder makes one release.
type builder struct {
	Options
	version string
	time    time.Time // of the commit; the time of every file
	work    string    // programs before they are packed
}

// Build makes a release and returns the paths of its files.
func Build(ctx context.Context, o Options) ([]string, error) {
	if err := emptyFolder(o.Out); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "detent-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	b := &builder{Options: o, version: v1.Version, work: work}
	if b.time, err = commitTime(ctx, o.Root); err != nil {
		return nil, err
	}
	steps := []func(context.Context) error{b.programs, b.wheel, b.archives, b.images, b.bom} // the wheel goes into an archive too
	if o.ArchivesOnly {
		steps = []func(context.Context) error{b.programs, b.archives, b.images}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return b.checksums()
}

// level is the compression of the archives.
func (b *builder) level() int {
	if b.ArchivesOnly {
		return gzip.BestSpeed
	}
	return gzip.BestCompression
}

func (b *builder) say(format string, args ...any) { fmt.Fprintf(b.Log, format+"\n", args...) }

// emptyFolder makes the folder of a release. It rejects a folder with other files, because the
// checksums would include them.
func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty (it contains %s); choose a new folder or remove this one", dir, entries[0].Name())
	}
	return nil
}

// commitTime is the time of the checked-out commit.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	cmd := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("git cannot read the commit of %s: %w", root, err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// program is the path of a built program.
func (b *builder) program(name string, t Target) string {
	return filepath.Join(b.work, t.String(), name)
}

// file is the path of a file of the release.
func (b *builder) file(format string, args ...any) string {
	return filepath.Join(b.Out, fmt.Sprintf(format, args...))
}
