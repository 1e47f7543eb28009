//go:build linux

package account

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// TestDo: what another account does in this process it does with its own rights, and with no more;
// the other threads keep theirs.
func TestDo(t *testing.T) {
	needRoot(t)
	a := &Account{UID: 1234, GID: 1235}
	dir, err := os.MkdirTemp("", "det-account-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	closed := filepath.Join(dir, "closed")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(closed, []byte("root's"), 0o600), os.Chown(closed, 0, 0)); err != nil {
		t.Fatal(err)
	}
	opened, own, err := a.Own(filepath.Join(dir, "closed above", "own"), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if err := os.Chmod(filepath.Join(dir, "closed above"), 0o700); err != nil {
		t.Fatal(err)
	}
	err = a.Do(func() error {
		if _, err := os.ReadFile(closed); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("it reads a file of root: %v", err)
		}
		if err := os.Chown(own, 0, 0); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("it gives a folder away: %v", err)
		}
		return os.WriteFile(filepath.Join(own, "file"), []byte("x"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "closed above", "own", "file"))
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 1234 || st.Gid != 1235 {
		t.Errorf("its file belongs to %+v", info.Sys())
	}
	for range 100 { // whichever threads these run on
		if text, err := os.ReadFile(closed); err != nil || string(text) != "root's" {
			t.Fatalf("this process has lost its rights: %q %v", text, err)
		}
	}
	if err := a.Do(func() error { return errors.New("its own error") }); err == nil || err.Error() != "its own error" {
		t.Errorf("%v", err)
	}
	var none *Account
	if err := none.Do(func() error { _, err := os.ReadFile(closed); return err }); err != nil {
		t.Errorf("no account: %v", err)
	}
}

func TestOf(t *testing.T) {
	own := v1.TaskAccount{UID: os.Geteuid(), GID: os.Getegid(), User: "me"}
	if a, err := Of(&own); a != nil || err != nil {
		t.Errorf("this process's own: %v, %v", a, err)
	}
	if a, err := Of(nil); a != nil || err != nil {
		t.Errorf("none: %v, %v", a, err)
	}
	for _, wrong := range []v1.TaskAccount{{UID: -1}, {GID: 1<<32 - 1}, {UID: 1 << 40}} {
		if _, err := Of(&wrong); err == nil || !strings.Contains(err.Error(), "numbers from 0 to 4294967294") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	needRoot(t)
	a, err := Of(&v1.TaskAccount{UID: 2000000000, GID: 7, User: "ada"})
	if err != nil || a.String() != "ada (2000000000:7)" {
		t.Errorf("%v, %v", a, err)
	}
}

func TestNames(t *testing.T) {
	const passwd, group = "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000::/home/ada:/bin/sh\n", "root:x:0:\nlab:x:1001:ada\n"
	for _, c := range []struct {
		a         Account
		user, its string
	}{
		{Account{UID: 1000, GID: 1001, User: "ada", Group: "lab"}, "", ""},
		{Account{UID: 1000, GID: 1001}, "", ""},
		{Account{UID: 1234, GID: 1001, User: "eve"}, "eve:x:1234:1001::/h:/s\n", ""},
		{Account{UID: 1000, GID: 9, User: "eve", Group: "lab"}, "eve:x:1000:9::/h:/s\n", "lab:x:9:\n"},
		{Account{UID: 1234, GID: 9, User: "eve:x:0:0", Group: "a\nroot"}, "", ""},
	} {
		if user, its := c.a.Names(passwd, group, "/h", "/s"); user != c.user || its != c.its {
			t.Errorf("%+v: %q %q, want %q %q", c.a, user, its, c.user, c.its)
		}
	}
}
