package integration

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// theirs is somebody with Determined's own package, as it is on PyPI, and a home
// of their own.
type theirs struct {
	r      *rig
	python string
	home   string
}

// determinedPython is the Python that has the unmodified package.
func determinedPython(t testing.TB) string {
	t.Helper()
	if python := os.Getenv("DETENT_COMPAT_PYTHON"); python != "" {
		return python
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	python, err := pyenv.Named(ctx, "compat", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// person signs a user in by their own client, with a password or a blank one.
func (r *rig) person(t testing.TB, name, password string) theirs {
	t.Helper()
	u := theirs{r: r, python: determinedPython(t), home: t.TempDir()}
	if _, stderr, code := u.run(t, password+"\n", u.client(), "user", "login", name); code != 0 {
		t.Fatalf("their det user login %s: exit %d\n%s", name, code, stderr)
	}
	return u
}

func (u theirs) client() string { return filepath.Join(filepath.Dir(u.python), "det") }

// run runs a program of theirs. It has no terminal, so it reads passwords from
// its input.
func (u theirs) run(t testing.TB, stdin, program string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + u.home, "PATH=" + os.Getenv("PATH"), "DET_MASTER=" + u.r.MasterURL, "COLUMNS=200", "PYTHONUNBUFFERED=1"}
	cmd.Dir = u.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// det runs a command of their client, which must succeed, and returns what it printed.
func (u theirs) det(t testing.TB, args ...string) string {
	t.Helper()
	stdout, stderr, code := u.run(t, "", u.client(), args...)
	if code != 0 {
		t.Fatalf("their det %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// table reads what a command of their client prints with --csv, by column.
func (u theirs) table(t testing.TB, args ...string) []map[string]string {
	t.Helper()
	out := u.det(t, append(args, "--csv")...)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("their det %s --csv printed no table: %v\n%s", strings.Join(args, " "), err, out)
	}
	var list []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		list = append(list, m)
	}
	return list
}

// experiment writes a configuration and a script into a folder of theirs.
func (u theirs) experiment(t testing.TB, name, code string) (config, dir string) {
	t.Helper()
	dir = filepath.Join(u.home, name)
	config = filepath.Join(u.home, name+".yaml")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{config: u.config(name), filepath.Join(dir, "train.py"): code} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return config, dir
}

// config is an experiment whose task has their package and not ours.
func (u theirs) config(name string) string {
	return fmt.Sprintf(`
name: %s  # a comment that is sent too
entrypoint: python3 train.py
hyperparameters: {lr: 0.5}
searcher: {name: single, metric: loss, max_length: {batches: 5}}
max_restarts: 0
environment:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin", "DET_USE_INSTALLED_HARNESS=1"]
`, name, filepath.Dir(u.python))
}

// create submits with their client and returns the experiment's number and all
// that the client printed.
func (u theirs) create(t testing.TB, name, code string, flags ...string) (int, string) {
	t.Helper()
	config, dir := u.experiment(t, name, code)
	out := u.det(t, append([]string{"experiment", "create", config, dir}, flags...)...)
	return first(t, `Created experiment (\d+)`, out), out
}

// first finds a number in a text.
func first(t testing.TB, pattern, text string) (n int) {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in:\n%s", pattern, text)
	}
	if _, err := fmt.Sscan(m[1], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// holds fails unless a text has all the parts.
func holds(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}
