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
	"strings"
	"syscall"
	"time"
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
		return errors.New("det is fetched from the master of a task, and DET_MASTER and DET_CLI_URL do not name one")
	}
	file := filepath.Join(folder(), ".det-"+sum)
	if have, err := sumOf(file); err != nil || have != sum { // what lies there may be anybody's
		ctx, cancel := context.WithTimeout(context.Background(), fetchFor)
		defer cancel()
		if err := fetch(ctx, strings.TrimSuffix(master, "/")+path, sum, file); err != nil {
			return fmt.Errorf("det could not be fetched from the master: %w", err)
		}
	}
	return fmt.Errorf("det could not be started: %w", syscall.Exec(file, append([]string{"det"}, args...), os.Environ()))
}

// folder is where det is kept: with the task, where its user may write there.
func folder() string {
	dir := filepath.Join(os.Getenv("DET_RUN_DIR"), "bin")
	if f, err := os.CreateTemp(dir, ".probe-"); err == nil {
		_, _ = f.Close(), os.Remove(f.Name())
		return dir
	}
	return os.TempDir()
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), err
}

func fetch(ctx context.Context, url, sum, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the master answered %s", resp.Status)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".det-new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, hash), io.LimitReader(resp.Body, largest))
	if err = errors.Join(err, f.Chmod(0o755), f.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return fmt.Errorf("its checksum is %s, want %s", got, sum)
	}
	return os.Rename(f.Name(), file)
}
