package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Unpack unpacks a pack into a new folder, and returns what a Python is to run.
func Unpack(ctx context.Context, pack, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "tar", "xJf", pack, "-C", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack %s: %w\n%s", pack, err, out)
	}
	return filepath.Join(dir, folder), nil
}

// Run unpacks a pack into a folder of its own, and makes its checks on this machine. An error says that not all of them passed.
func Run(ctx context.Context, pack, python string, args []string, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "gpu-check-pack-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL may run as another user
		return err
	}
	start, err := Unpack(ctx, pack, dir)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, append([]string{start}, args...)...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the checks: %w", err)
	}
	return nil
}
