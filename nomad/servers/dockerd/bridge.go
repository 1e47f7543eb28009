package dockerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/nomad/servers/debian"
)

// firewall has the programs with which a daemon makes the rules of its bridges. They are not installed,
// so each is a script that sets the path of their libraries.
func firewall() debian.Set {
	return debian.Set{Name: "iptables", Title: "iptables", Programs: []string{"iptables", "ip6tables", "iptables-save", "iptables-restore"},
		Packages: []string{"iptables", "libip4tc2", "libip6tc2", "libxtables12", "libnftnl11", "libmnl0", "libnetfilter-conntrack3", "libnfnetlink0"},
		Finish:   wrapFirewall}
}

const firewallScript = `#!/bin/sh
usr=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
for lib in "$usr"/lib/*-linux-gnu*; do break; done
LD_LIBRARY_PATH=$lib XTABLES_LIBDIR=$lib/xtables exec "$usr/sbin/xtables-nft-multi" %s "$@"
`

func wrapFirewall(root string) error {
	var errs []error
	for _, name := range firewall().Programs {
		errs = append(errs, os.WriteFile(filepath.Join(root, "usr", "sbin", name), fmt.Appendf(nil, firewallScript, name), 0o755))
	}
	return errors.Join(errs...)
}

// Environment is the environment for programs such as Docker's command line, including the firewall's
// programs.
func (d *Docker) Environment(ctx context.Context) ([]string, error) {
	found, err := findDocker(ctx, true, nil)
	if err != nil {
		return nil, err
	}
	return append(environment(found.Path, rootHome), "DOCKER_HOST=unix://"+d.Socket), nil
}

// errShared is why a daemon gets no bridge.
var errShared = errors.New("a bridge changes the firewall's rules: start it in a network namespace other than the machine's")

// ownNetwork requires that this process is in another network namespace than one of its ancestors. The
// namespace of the machine's first process may not be readable.
func ownNetwork() error {
	mine, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	for pid := os.Getppid(); pid > 0; pid = parentOf(pid) {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err == nil && theirs != mine {
			return nil
		}
	}
	return errShared
}

// parentOf is the parent of a process; 0 for none.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(line, "PPid:"); ok {
			parent, _ := strconv.Atoi(strings.TrimSpace(number)) // not a number: no parent
			return parent
		}
	}
	return 0
}
