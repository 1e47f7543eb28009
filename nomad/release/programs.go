package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// sources are the packages of the programs.
var sources = map[string]string{
	"det-master":  "./master",
	"det-runner":  "./plugins/runner",
	"det-remover": "./plugins/remover",
	"det-notice":  "./plugins/notice",
	"det":         "./cli",
	"det-gpu":     "./plugins/gpu",
	"det-scaler":  ".",
}

// modules are the folders of programs that are modules of their own.
var modules = map[string]string{"det-scaler": "nomad/autoscaler"}

// programs builds the programs for the archives.
func (b *builder) programs(ctx context.Context) error {
	for _, t := range b.Servers {
		for _, name := range []string{"det-master", "det-runner", "det-remover", "det-notice", "det", "det-scaler"} {
			if err := b.compile(ctx, name, t, ""); err != nil {
				return err
			}
		}
		if compiler := compilerFor(t); compiler == "" {
			b.say("no C compiler for %s: the release has no det-gpu for this platform (Debian: apt-get install gcc-%s-linux-gnu)", t, gnuArch[t.Arch])
		} else if err := b.compile(ctx, "det-gpu", t, compiler); err != nil {
			return err
		}
	}
	for _, t := range b.Clients {
		if slices.Contains(b.Servers, t) {
			continue
		}
		if err := b.compile(ctx, "det", t, ""); err != nil {
			return err
		}
	}
	return nil
}

// compile builds one program. Only det-gpu needs C: it loads NVIDIA's library at run time.
func (b *builder) compile(ctx context.Context, name string, t Target, compiler string) error {
	b.say("building %s for %s", name, t)
	path := b.program(name, t)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// The flags are those of `just build`, so both use the same build cache.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, sources[name])
	cmd.Dir = filepath.Join(b.Root, modules[name])
	cmd.Env = append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0")
	if compiler != "" {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1", "CC="+compiler)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s for %s: %w\n%s", name, t, err, out)
	}
	return nil
}

// gnuArch is GNU's name of an architecture.
var gnuArch = map[string]string{"amd64": "x86-64", "arm64": "aarch64"}

// compilerFor finds a C compiler for a platform; "" for none.
func compilerFor(t Target) string {
	candidates := []string{map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.Arch] + "-linux-gnu-gcc"}
	if t.OS == runtime.GOOS && t.Arch == runtime.GOARCH {
		candidates = append([]string{"cc", "gcc"}, candidates...)
	}
	for _, name := range candidates {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
