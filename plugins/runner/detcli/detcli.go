//go:build linux

// Package detcli is det inside tasks: it fetches the command line from the task's master at its
// first use, verifies its checksum, and executes it.
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

// Main executes det, or returns why it cannot.
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
	if err != nil { // another user may have written the file
		ctx, cancel := context.WithTimeout(context.Background(), fetchFor)
		defer cancel()
		if det, err = fetch(ctx, strings.TrimSuffix(master, "/")+path, sum, file); err != nil {
			return fmt.Errorf("cannot fetch det from the master: %w", err)
		}
	}
	// The interpreter of a script opens the path again after this program has been replaced.
	if _, err := unix.FcntlInt(det.Fd(), unix.F_SETFD, 0); err != nil {
		return fmt.Errorf("cannot start det: %w", err)
	}
	return fmt.Errorf("cannot start det: %w", syscall.Exec(through(det), append([]string{"det"}, args...), os.Environ()))
}

// through is a path that always leads to an open file, even if the file is renamed or
// removed.
func through(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// folder is where det is stored: in the task's folder if its user may write there, or else in a
// folder that only this user can enter.
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
	return os.MkdirTemp("", "det-") // another user has created it
}

// isOurs reports whether only this user and root could have made a file.
func isOurs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || st.Uid == 0)
}

// open opens det, if it exists. The file cannot change after the check: no other user can write
// it, and it is executed through its descriptor, not its name.
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
		return fmt.Errorf("other users may write %s", f.Name())
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return fmt.Errorf("its checksum is %s, expected %s", got, sum)
	}
	return nil
}

// fetch downloads det, and opens the downloaded file.
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
	det, err := open(through(f), sum) // a file that is open for writing cannot be executed
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return det, os.Rename(f.Name(), file)
}
