//go:build linux

package guides

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// atTerminal runs a program at a terminal of its own, answers its questions, and returns the text
// on the screen.
func atTerminal(t *testing.T, cmd *exec.Cmd, answers [][2]string) (string, error) {
	t.Helper()
	ours, theirs := openTerminal(t)
	defer ours.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err := cmd.Start()
	theirs.Close() // the program has its own; with it the terminal ends
	if err != nil {
		t.Fatal(err)
	}
	said := answering(t, ours, answers)
	return said, cmd.Wait()
}

// answering reads a screen to its end. It answers a line that ends with a question; a repeated
// question for a password gets the last answer.
func answering(t *testing.T, terminal *os.File, answers [][2]string) string {
	t.Helper()
	var said strings.Builder
	last, seen := "", 0 // what is before seen was answered
	answer := func(text string) {
		if _, err := terminal.WriteString(text + "\n"); err != nil {
			t.Errorf("at the terminal: %v", err)
		}
		last, seen = text, said.Len()
	}
	buffer := make([]byte, 4096)
	for {
		n, err := terminal.Read(buffer)
		said.Write(buffer[:n])
		if err != nil { // EIO when the last program has left it
			if !errors.Is(err, syscall.EIO) && n == 0 {
				t.Errorf("at the terminal: %v", err)
			}
			return strings.ReplaceAll(said.String(), "\r\n", "\n")
		}
		fresh := said.String()[seen:]
		for _, a := range answers {
			if strings.HasSuffix(fresh, a[0]) {
				answer(a[1])
			}
		}
		if strings.HasSuffix(fresh, "Confirm password: ") {
			answer(last)
		}
	}
}

// openTerminal makes a pseudo-terminal: our end, and that of programs.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	number := 0
	control, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = control.Control(func(fd uintptr) {
		failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		if failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if failed == nil {
			failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: 160, Row: 50})
		}
	})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}
