package servers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// postgresState is stored in the folder between starts.
type postgresState struct {
	Port     int    `json:"port"`
	Database string `json:"database"`
}

func passwordFile(dir string) string { return filepath.Join(dir, "password") }

func dataDir(dir string) string { return filepath.Join(dir, "data") }

func stateFile(dir string) string { return filepath.Join(dir, "server.json") }

// prepareDir creates the server's folder for the server's account, and checks that the account can
// enter it.
func prepareDir(dir string, who account) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("this system does not report the owner of a folder")
	}
	if !who.other() {
		if int(st.Uid) != os.Geteuid() {
			return fmt.Errorf("the folder belongs to user id %d, and this program runs as %d; use another folder, or that user", st.Uid, os.Geteuid())
		}
		return os.Chmod(dir, 0o700)
	}
	if err := os.Chown(dir, int(who.uid), int(who.gid)); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	closed, err := reachable(dir, who)
	if err != nil {
		return err
	}
	if closed != "" {
		return fmt.Errorf("PostgreSQL does not run as root and would run as %q, who may not enter %s; choose a folder that others may enter, such as one below /var/lib", who.name, closed)
	}
	return nil
}

// initData creates the server's data the first time, and returns the superuser's password.
func initData(ctx context.Context, opts PostgresOptions, bins pgBinaries, who account) (password string, err error) {
	data := dataDir(opts.Dir)
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err == nil {
		text, err := os.ReadFile(passwordFile(opts.Dir))
		return strings.TrimSpace(string(text)), err
	}
	opts.Progress("creating PostgreSQL's data in " + data)
	// The port is open to all users of the machine, and a superuser of PostgreSQL can run programs:
	// therefore there is a password even on loopback.
	password = rand.Text()
	if err := writeFor(who, passwordFile(opts.Dir), password+"\n"); err != nil {
		return "", err
	}
	// Created under another name and renamed, so that an interrupted start leaves no incomplete data.
	fresh := data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return "", err
	}
	args := []string{
		"--pgdata=" + fresh, "--username=" + postgresUser, "--pwfile=" + passwordFile(opts.Dir),
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-instructions",
	}
	if opts.Ephemeral {
		args = append(args, "--no-sync")
	} else {
		args = append(args, "--data-checksums")
	}
	out, err := bins.run(ctx, who, opts.Dir, "initdb", append(args, "--locale=C.UTF-8")...)
	if err != nil && strings.Contains(out, "invalid locale name") {
		// Not every system has this locale. The locale C sorts text in the same way; only upper and
		// lower case beyond ASCII differ.
		out, err = bins.run(ctx, who, opts.Dir, "initdb", append(args, "--locale=C")...)
	}
	if err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := os.RemoveAll(data); err != nil {
		return "", err
	}
	return password, os.Rename(fresh, data)
}

// writeFor writes a private file for an account.
func writeFor(who account, path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if !who.other() {
		return nil
	}
	return os.Chown(path, int(who.uid), int(who.gid))
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// fileContains searches a text in a file after an offset.
func fileContains(path string, after int64, text string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if _, err := f.Seek(after, io.SeekStart); err != nil {
		return false
	}
	written, err := io.ReadAll(f)
	return err == nil && strings.Contains(string(written), text)
}

// postmasterFile reads the lines of the file with which a running postmaster claims its data: pid, data
// folder, start time, port, and so on.
func postmasterFile(dir string) (lines []string, err error) {
	text, err := os.ReadFile(filepath.Join(dataDir(dir), "postmaster.pid"))
	if err != nil {
		return nil, err
	}
	return strings.Split(string(text), "\n"), nil
}

// runningPostmaster finds the running server of a folder's data. The pid file alone is not enough:
// after a crash its pid may belong to another program.
func runningPostmaster(dir string) (proc.ID, bool) {
	lines, err := postmasterFile(dir)
	if err != nil {
		return proc.ID{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return proc.ID{}, false
	}
	id, err := proc.Of(pid)
	if err != nil || !strings.Contains(proc.Command(pid), dataDir(dir)) {
		return proc.ID{}, false
	}
	return id, true
}

func postmasterPort(dir string) (int, error) {
	lines, err := postmasterFile(dir)
	if err != nil {
		return 0, err
	}
	const port = 3
	if len(lines) <= port {
		return 0, errors.New("the server's postmaster.pid contains no port")
	}
	return strconv.Atoi(strings.TrimSpace(lines[port]))
}

// dropStalePidFile removes a pid file whose pid belongs to another program. PostgreSQL itself respects
// any living process of its account with that pid, and would never start again.
func dropStalePidFile(dir string) error {
	if _, running := runningPostmaster(dir); running {
		return nil
	}
	err := os.Remove(filepath.Join(dataDir(dir), "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// dataMajor is the version that created the data ("15"), or "" without data.
func dataMajor(dir string) string {
	text, err := os.ReadFile(filepath.Join(dataDir(dir), "PG_VERSION"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func rememberedPort(dir string) int {
	state, err := readState(dir)
	if err != nil {
		return 0
	}
	return state.Port
}

func readState(dir string) (postgresState, error) {
	var state postgresState
	text, err := os.ReadFile(stateFile(dir))
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return state, fmt.Errorf("%s: %w", stateFile(dir), err)
	}
	return state, nil
}

func writeState(dir string, state postgresState) error {
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return ReplaceFile(stateFile(dir), append(text, '\n'))
}
