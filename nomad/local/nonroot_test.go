package local

import (
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/nomad/servers"
)

// The variable that names the stand-in of the master to the test below, when it runs as another user.
const fakeMasterVariable = "DETENT_TEST_FAKE_MASTER"

// TestClusterWithoutRoot brings a cluster up as a user without any rights. Run by root, it runs itself
// again as the user nobody, with a home and copies of what root's home closes to that user.
func TestClusterWithoutRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		runAsNobody(t, t.Name())
		return
	}
	ctx, opts := t.Context(), testOptions(t)
	if opts.Master.Binary = os.Getenv(fakeMasterVariable); opts.Master.Binary == "" {
		opts.Master.Binary = fakeMaster(t)
	}
	var said strings.Builder
	c, err := Up(ctx, opts, servers.NewReporter(io.MultiWriter(&said, testWriter{t})))
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Describe(ctx); !d.Up() {
		t.Errorf("after Up: %+v", d.Parts)
	}
	if want := "Without root Nomad has no exec driver"; !strings.Contains(said.String(), want) {
		t.Errorf("the output does not contain %q", want)
	}
	if err := part(t, c, "master").Kill9(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Down(ctx, testReport(t)); err != nil {
		t.Fatal(err)
	}
	if c, err = Up(ctx, opts, testReport(t)); err != nil {
		t.Fatal(err)
	}
	if d := c.Describe(ctx); !d.Up() {
		t.Errorf("after Down and Up: %+v", d.Parts)
	}
}

func runAsNobody(t *testing.T, test string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts Nomad, Consul and PostgreSQL")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("this system has no user nobody")
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.Atoi(nobody.Gid)
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("/var/tmp", "detent-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	bin := filepath.Join(home, "bin")
	for _, dir := range []string{home, bin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(home, uid, gid); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyProgram(t, self, filepath.Join(bin, "test"))
	copyProgram(t, fakeMaster(t), filepath.Join(bin, "det-master"))
	for _, name := range []string{"nomad", "consul"} {
		server, err := servers.Ensure(t.Context(), name, testReport(t))
		if err != nil {
			t.Fatal(err)
		}
		copyProgram(t, server.Path, filepath.Join(bin, name))
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "test"), "-test.v", "-test.run=^"+test+"$")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin", fakeMasterVariable + "=" + filepath.Join(bin, "det-master")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}
