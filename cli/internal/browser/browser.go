// Package browser shows a page to the person at the keyboard.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// errNone is the error where there is nobody to show a page to.
var errNone = errors.New("no browser found: set BROWSER, or open the address yourself")

// Open shows an address in the browser that BROWSER names, or in the desktop's.
// It does not wait for the person to close it.
func Open(ctx context.Context, getenv func(string) string, address string) error {
	argv, err := command(runtime.GOOS, getenv, exec.LookPath, address)
	if err != nil {
		return err
	}
	// A browser outlives the command that opened it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
	}
	return cmd.Process.Release()
}

// command is the program to start. BROWSER holds names of programs between
// colons, the first that is there wins; %s in one stands for the address.
func command(system string, getenv func(string) string, look func(string) (string, error), address string) ([]string, error) {
	for entry := range strings.SplitSeq(getenv("BROWSER"), ":") {
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		program, err := look(words[0])
		if err != nil {
			continue
		}
		argv := append([]string{program}, words[1:]...)
		if !strings.Contains(entry, "%s") {
			return append(argv, address), nil
		}
		for i := range argv[1:] {
			argv[i+1] = strings.ReplaceAll(argv[i+1], "%s", address)
		}
		return argv, nil
	}
	var argv []string
	switch system {
	case "darwin":
		argv = []string{"open"}
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
			return nil, errNone
		}
		argv = []string{"xdg-open"}
	}
	program, err := look(argv[0])
	if err != nil {
		return nil, errNone
	}
	argv[0] = program
	return append(argv, address), nil
}
