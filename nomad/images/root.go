package images

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/debian"
)

// finish installs the wheels in a root file system, and lists Debian's packages in it.
//
//go:embed finish.sh
var finish string

// needless are files of Debian's packages that no task reads.
var needless = []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/lintian/*"}

// bootstrapper is the program that makes root file systems of Debian's packages.
func bootstrapper() debian.Set {
	return debian.Set{Name: "mmdebstrap", Title: "mmdebstrap", Programs: []string{"mmdebstrap"}, Packages: []string{"mmdebstrap"}, Folders: []string{"usr/bin"}}
}

// writeRoot writes the root file system as a tar. work is a folder with the wheels in work/wheels; the list of Debian's
// packages is written there too.
func (r Recipe) writeRoot(ctx context.Context, out io.Writer, work string, lock Lock, report *servers.Reporter) error {
	tool, err := bootstrapper().Find(ctx, debian.MachinePath(), report)
	if err != nil {
		return err
	}
	script := filepath.Join(work, "finish.sh")
	if err := os.WriteFile(script, []byte(finish), 0o755); err != nil {
		return err
	}
	args := []string{tool.Programs["mmdebstrap"], "--quiet", "--variant=minbase", "--architectures=" + runtime.GOARCH, "--include=" + strings.Join(r.Debian, ",")}
	for _, path := range needless {
		args = append(args, "--dpkgopt=path-exclude="+path)
	}
	args = append(args, "--dpkgopt=path-include=/usr/share/doc/*/copyright", "--customize-hook="+script+` "$1"`, release, "-")
	cmd := exec.CommandContext(ctx, "perl", args...)
	cmd.Env = append(os.Environ(), "PATH="+tool.Path, "TMPDIR="+work, "SOURCE_DATE_EPOCH="+strconv.FormatInt(lock.Made.Unix(), 10),
		"IMAGE_WORK="+work, "IMAGE_REMOVE="+strings.Join(r.Remove, " "))
	said := &tail{}
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mmdebstrap cannot make the root file system of %s: %w\n%s", r.Name, err, said)
	}
	return nil
}

// A tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if n := len(t.text); n > maxSaid {
		t.text = t.text[n-maxSaid:]
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.text)) }
