package release

import (
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

// A Target is a platform that programs are built for.
type Target struct{ OS, Arch string }

func (t Target) String() string { return t.OS + "_" + t.Arch }

// Servers are the platforms of masters and nodes, Clients those of users' machines.
var (
	Servers = []Target{{"linux", "amd64"}, {"linux", "arm64"}}
	Clients = append([]Target{{"darwin", "amd64"}, {"darwin", "arm64"}}, Servers...)
)

// Options say what to make.
type Options struct {
	Root    string   // of the checkout
	Out     string   // the folder that receives the files; it may not hold others
	Servers []Target // platforms of det-master, det-runner, det-remover and det-gpu
	Clients []Target // platforms of det
	Python  string   // a Python with pip, which makes the wheel; "" makes none
	// ArchivesOnly leaves out what is no archive of programs: image, bill of materials and wheel. For tests.
	ArchivesOnly bool
	Log          io.Writer
}

// A builder makes one release.
type builder struct {
	Options
	version string
	time    time.Time // of the commit: every file carries it
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
	steps := []func(context.Context) error{b.programs, b.archives}
	if !o.ArchivesOnly {
		steps = append(steps, b.images, b.bom, b.wheel)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return b.checksums()
}

func (b *builder) say(format string, args ...any) { fmt.Fprintf(b.Log, format+"\n", args...) }

// emptyFolder makes the folder of a release. A folder with other files in it is refused: the
// checksums would name them as parts of the release.
func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty (it holds %s); name a new folder or remove it", dir, entries[0].Name())
	}
	return nil
}

// commitTime is when the commit that is checked out was made.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	cmd := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("git cannot name the commit of %s: %w", root, err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// program is where a built program lies.
func (b *builder) program(name string, t Target) string {
	return filepath.Join(b.work, t.String(), name)
}

// file is the path of a file of the release.
func (b *builder) file(format string, args ...any) string {
	return filepath.Join(b.Out, fmt.Sprintf(format, args...))
}
