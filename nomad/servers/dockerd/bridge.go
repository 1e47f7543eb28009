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

// firewall is what a daemon makes the rules of its bridges with. Its programs were not
// installed, so each is a script that says where their libraries are.
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

// Environment is for programs of Docker's, such as its command line, that speak with the
// daemon: it has those of its firewall too.
func (d *Docker) Environment(ctx context.Context) ([]string, error) {
	found, err := findDocker(ctx, true, nil)
	if err != nil {
		return nil, err
	}
	return append(environment(found.Path, rootHome), "DOCKER_HOST=unix://"+d.Socket), nil
}

// errShared says why a daemon gets no bridge.
var errShared = errors.New("a bridge changes the firewall's rules: start it in a network namespace other than the machine's")

// ownNetwork wants this process to be in another network namespace than those it comes
// from. Which the machine's is cannot be asked: its first process need not be ours to look at.
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

// parentOf is the process that a process comes from; 0 for none.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(line, "PPid:"); ok {
			parent, _ := strconv.Atoi(strings.TrimSpace(number)) // what is no number is none
			return parent
		}
	}
	return 0
}
