package rig

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// Person is a user with Determined's unmodified Python package from PyPI, and a home folder.
type Person struct {
	R      *Rig
	Python string
	Home   string
}

// DeterminedPython returns the Python with the unmodified package.
func DeterminedPython(t testing.TB) string {
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

// Person signs a user in with Determined's client; the password may be blank.
func (r *Rig) Person(t testing.TB, name, password string) Person {
	t.Helper()
	u := Person{R: r, Python: DeterminedPython(t), Home: t.TempDir()}
	if _, stderr, code := u.Run(t, password+"\n", u.Client(), "user", "login", name); code != 0 {
		t.Fatalf("Determined's det user login %s: exit %d\n%s", name, code, stderr)
	}
	return u
}

// Client returns the path of the user's det.
func (u Person) Client() string { return filepath.Join(filepath.Dir(u.Python), "det") }

// Run runs a program as this user. It has no terminal, so it reads passwords from its
// standard input. Determined's client runs in a process of its own too, which a server has forked after the imports (detserver.go).
func (u Person) Run(t testing.TB, stdin, program string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	env := []string{"HOME=" + u.Home, "PATH=" + os.Getenv("PATH"), "DET_MASTER=" + u.R.MasterURL, "COLUMNS=200", "PYTHONUNBUFFERED=1"}
	if program == u.Client() {
		s, err := detServerOf(u.Python, u.R.MasterURL)
		if err == nil {
			stdout, stderr, code, err = s.run(ctx, u.Home, env, append([]string{program}, args...), stdin)
		}
		if err != nil {
			t.Fatalf("Determined's det %s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
		}
		return stdout, stderr, code
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = env, u.Home
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

// Det runs a command of Determined's client, which must succeed, and returns its output.
func (u Person) Det(t testing.TB, args ...string) string {
	t.Helper()
	stdout, stderr, code := u.Run(t, "", u.Client(), args...)
	if code != 0 {
		t.Fatalf("Determined's det %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// Table runs a command of Determined's client with --csv, and returns the rows by column.
func (u Person) Table(t testing.TB, args ...string) []map[string]string {
	t.Helper()
	out := u.Det(t, append(args, "--csv")...)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("Determined's det %s --csv printed no table: %v\n%s", strings.Join(args, " "), err, out)
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

// Experiment writes a configuration and a script into a folder of the user.
func (u Person) Experiment(t testing.TB, name, code string) (config, dir string) {
	t.Helper()
	dir = filepath.Join(u.Home, name)
	config = filepath.Join(u.Home, name+".yaml")
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

// config returns a configuration whose task uses Determined's package instead of ours.
func (u Person) config(name string) string {
	return fmt.Sprintf(`
name: %s  # a comment that is sent too
entrypoint: python3 train.py
hyperparameters: {lr: 0.5}
searcher: {name: single, metric: loss, max_length: {batches: 5}}
max_restarts: 0
environment:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin", "DET_USE_INSTALLED_HARNESS=1"]
`, name, filepath.Dir(u.Python))
}

// Create submits an experiment with Determined's client, and returns the experiment's number
// and the client's output.
func (u Person) Create(t testing.TB, name, code string, flags ...string) (int, string) {
	t.Helper()
	config, dir := u.Experiment(t, name, code)
	out := u.Det(t, append([]string{"experiment", "create", config, dir}, flags...)...)
	return First(t, `Created experiment (\d+)`, out), out
}
