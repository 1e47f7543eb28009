package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// wheel makes the wheel of the Python package from a copy, because the build leaves files in the
// source folder.
func (b *builder) wheel(ctx context.Context) error {
	if b.Python == "" {
		b.say("no Python was given: the release has no wheel")
		return nil
	}
	b.say("building the wheel of the Python package")
	copied := filepath.Join(b.work, "harness")
	files, err := b.harness()
	if err != nil {
		return err
	}
	for _, e := range files {
		content, err := os.ReadFile(e.path)
		if err != nil {
			return err
		}
		to := filepath.Join(b.work, filepath.FromSlash(e.name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, b.Python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", b.Out, copied)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(b.time.Unix(), 10))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the wheel: %w\n%s", err, out)
	}
	return nil
}
