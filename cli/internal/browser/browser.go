// Package browser opens a page in the user's browser.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// errNone is the error if there is no browser.
var errNone = errors.New("no browser found: set BROWSER, or open the address yourself")

// Open opens an address in the browser in BROWSER, or in the desktop's default browser. It does
// not wait until the browser is closed.
func Open(ctx context.Context, getenv func(string) string, address string) error {
	address, err := page(address)
	if err != nil {
		return err
	}
	argv, err := command(runtime.GOOS, getenv, exec.LookPath, address)
	if err != nil {
		return err
	}
	// The browser continues to run after the command has ended.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
	}
	return cmd.Process.Release()
}

// page is the address of a web page, as it is given to a browser. Addresses come from the master, which det does not trust with this
// computer: another scheme, or an option in place of an address, can start programs.
func page(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", fmt.Errorf("the master's address %s is not one of a web page", strconv.Quote(fault.Clip(address)))
	}
	return u.String(), nil
}

// command is the program to start. BROWSER contains names of programs, separated by colons, of
// which the first existing one is used; %s in a name is replaced by the address.
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
