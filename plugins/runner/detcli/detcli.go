//go:build linux

// Package detcli is det inside tasks: it fetches the command line from the task's
// master at its first use, holds it to its checksum, and becomes it.
package detcli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	fetchFor = 5 * time.Minute
	largest  = 512 << 20
)

// Main becomes det, or returns why it cannot.
func Main(args []string) error {
	master, path := os.Getenv("DET_MASTER"), os.Getenv("DET_CLI_URL")
	sum, _, _ := strings.Cut(strings.TrimPrefix(path, "/cli/"), "/")
	if master == "" || len(sum) != sha256.Size*2 {
		return errors.New("det is downloaded from the task's master, and neither DET_MASTER nor DET_CLI_URL is set")
	}
	dir, err := folder()
	if err != nil {
		return fmt.Errorf("could not create the folder for det: %w", err)
	}
	file := filepath.Join(dir, ".det-"+sum)
	det, err := open(file, sum)
	if err != nil { // what lies there may be anybody's
		ctx, cancel := context.WithTimeout(context.Background(), fetchFor)
		defer cancel()
		if det, err = fetch(ctx, strings.TrimSuffix(master, "/")+path, sum, file); err != nil {
			return fmt.Errorf("det could not be fetched from the master: %w", err)
		}
	}
	// The interpreter of a script opens the path once more, when this program is gone.
	if _, err := unix.FcntlInt(det.Fd(), unix.F_SETFD, 0); err != nil {
		return fmt.Errorf("det could not be started: %w", err)
	}
	return fmt.Errorf("det could not be started: %w", syscall.Exec(through(det), append([]string{"det"}, args...), os.Environ()))
}

// through is a path that leads to an open file and to no other, whatever its name leads to
// meanwhile.
func through(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// folder is where det is kept: with the task, where its user may write there, else in
// one that only this user can enter.
func folder() (string, error) {
	dir := filepath.Join(os.Getenv("DET_RUN_DIR"), "bin")
	if f, err := os.CreateTemp(dir, ".probe-"); err == nil {
		_, _ = f.Close(), os.Remove(f.Name())
		return dir, nil
	}
	dir = filepath.Join(os.TempDir(), "det-"+strconv.Itoa(os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0 && isOurs(info) {
		return dir, nil
	}
	return os.MkdirTemp("", "det-") // somebody was there before
}

// isOurs tells whether nobody but this user and root could have made a file.
func isOurs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || st.Uid == 0)
}

// open opens det, if it is there. It stays what was checked: nobody else can write it,
// and it is started as it was opened, not by its name.
func open(file, sum string) (*os.File, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	if err := check(f, sum); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func check(f *os.File, sum string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || !isOurs(info) {
		return fmt.Errorf("others may write %s", f.Name())
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return fmt.Errorf("its checksum is %s, want %s", got, sum)
	}
	return nil
}

// fetch brings det, and opens what it brought.
func fetch(ctx context.Context, url, sum, file string) (*os.File, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the master answered %s", resp.Status)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".det-new-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, io.LimitReader(resp.Body, largest))
	if err = errors.Join(err, f.Chmod(0o755)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	det, err := open(through(f), sum) // a file that is open for writing cannot be started
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return det, os.Rename(f.Name(), file)
}
