//go:build linux

package attempt

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/plugins/runner/account"
	"github.com/detent-ml/detent/plugins/runner/gateway"
)

// TestTheRunnerDialsAsTheProgram: a program that puts a link to a socket of root in the place of its own
// does not get the runner to connect to it.
func TestTheRunnerDialsAsTheProgram(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir, err := os.MkdirTemp("", "det-dial-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	ln, err := net.Listen("unix", root)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := os.Chmod(root, 0o600); err != nil {
		t.Fatal(err)
	}
	tk := &task{layout: layout{account: &account.Account{UID: 1234, GID: 1235}}}
	opened, own, err := tk.layout.account.Own(filepath.Join(dir, "run"), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	err = tk.layout.account.Do(func() (err error) {
		tk.socket, err = gateway.MakeSocket(filepath.Join(own, "gate"), "/run/determined/gate")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tk.socket.Close()
	if err := os.Symlink(root, filepath.Join(dir, "run", "gate", "s")); err != nil {
		t.Fatal(err)
	}
	if conn, err := tk.socket.Dial(t.Context()); err != nil {
		t.Errorf("as root: %v", err) // so that the next step shows something
	} else {
		_ = conn.Close()
	}
	if _, err := tk.dialer()(t.Context()); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("as the program: %v", err)
	}
}
