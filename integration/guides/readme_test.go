package guides

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
)

// checkout runs commands in the checkout, with a folder of its own for the state.
type checkout struct {
	root, state string
}

func (c checkout) run(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	out, err := c.command(ctx, script)
	if err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return out
}

func (c checkout) command(ctx context.Context, script string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = c.root
	cmd.Env = append(os.Environ(), "DETENT_STATE="+c.state, "XDG_CONFIG_HOME="+filepath.Join(c.state, "config"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func newCheckout(t *testing.T) checkout {
	t.Helper()
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.MkdirTemp("", "detent-readme-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(state, 0o755); err != nil {
		t.Fatal(err)
	}
	c := checkout{root: root, state: state}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if out, err := c.command(ctx, "test ! -x bin/det || test ! -e $DETENT_STATE/local || bin/det deploy local reset"); err != nil {
			t.Errorf("the cluster could not be removed: %v\n%s", err, out)
			return
		}
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestReadmeDemo runs the first block. The block also runs all tests, of which this is one: it only
// checks that the recipe exists.
func TestReadmeDemo(t *testing.T) {
	c := newCheckout(t)
	block := fencedBlocks(t, filepath.Join(c.root, "README.md"))[0]
	if !strings.Contains(block, "./justw test ") {
		t.Fatalf("the README's block has changed; adapt this test:\n%s", block)
	}
	out := c.run(t, strings.Replace(block, "./justw test ", "./justw --dry-run test ", 1))
	rig.Holds(t, "the demo", out, "Its best checkpoint", "COMPLETED", "-before build,test-servers", "integration", "package-tests")
}

// TestReadmeCommands runs the second block unchanged except for the master's port, and then starts a
// notebook and a TensorBoard.
func TestReadmeCommands(t *testing.T) {
	c := newCheckout(t)
	blocks := fencedBlocks(t, filepath.Join(c.root, "README.md"))
	if len(blocks) != 2 {
		t.Fatalf("the README has %d blocks of commands; this file tests 2", len(blocks))
	}
	port := freePort(t)
	block := strings.ReplaceAll(blocks[1], "127.0.0.1:8080", fmt.Sprintf("127.0.0.1:%d", port))
	before, after, ok := strings.Cut(block, "./justw down")
	if !ok || !strings.Contains(before, "./justw up ") {
		t.Fatalf("the README's block has changed; adapt this test:\n%s", block)
	}
	out := c.run(t, strings.Replace(before, "./justw up ", fmt.Sprintf("./justw up --master-port %d ", port), 1))
	rig.Holds(t, "the block", out, "COMPLETED", "digits")
	master := fmt.Sprintf("export DET_MASTER=http://127.0.0.1:%d\n", port)
	for _, start := range []struct{ command, path, page string }{
		{"notebook start --no-browser", "/lab", "JupyterLab"},
		{"tensorboard start 1 --no-browser", "/", "TensorBoard"},
	} {
		id := rig.Started(t, c.run(t, master+"bin/det "+start.command))
		user, err := client.New(client.Options{Master: fmt.Sprintf("http://127.0.0.1:%d", port)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := user.Login(t.Context(), "determined", ""); err != nil {
			t.Fatal(err)
		}
		r := &rig.Rig{Root: c.root}
		r.MasterURL = fmt.Sprintf("http://127.0.0.1:%d", port)
		if code, body := r.Page(t, user, "/proxy/"+id+start.path); code != 200 || !strings.Contains(body, start.page) {
			t.Errorf("%s: %d %.300s", start.command, code, body)
		}
	}
	c.run(t, master+"./justw down"+after)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestBenchKeepsItsArguments: just bench passes its arguments to go test unchanged.
func TestBenchKeepsItsArguments(t *testing.T) {
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(root, "justfile"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"justfile": string(text), "webui/build.sh": "true\n", "plugins/harness/reference/__main__.py": "",
		"path/go": "#!/bin/sh\nif [ \"$1\" = test ]; then printf '<%s>' \"$@\"; fi\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	just := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(root, "justw"), append([]string{"--justfile", filepath.Join(dir, "justfile"), "--working-directory", dir}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "path")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("just %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	rig.Holds(t, "just bench", just("bench", "-bench", "Reports|Logs and more"), "<-bench><Reports|Logs and more>")
	rig.Holds(t, "just bench", just("bench"), "<-timeout><60m>")
}
