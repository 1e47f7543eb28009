package server

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search/budget"
	"github.com/detent-ml/detent/master/spool"
)

// What a master accepts from clients: host names, source addresses, sizes.

// minPassword is the minimum length of the initial password.
const minPassword = 8

// SpoolConfig sets where the master stores request bodies while it receives them.
type SpoolConfig struct {
	// Folder on a disk, not in memory. By default the system's temporary folder.
	Folder string `yaml:"folder"`
	// Megabytes for all requests together. One request may use a quarter of them, and a user a
	// share of the free ones.
	MaxMB int `yaml:"max_mb"`
}

func (c *Config) checkEdge(k *checker) {
	for _, p := range c.TrustedProxies {
		if _, err := prefixOf(p); err != nil {
			k.fail("trusted_proxies", "expected addresses or networks such as 10.0.0.0/8, found %q", p)
		}
	}
	for _, name := range c.Hosts {
		if bare := strings.TrimPrefix(name, "*."); bare == "" || strings.ContainsAny(bare, "*/ ") {
			k.fail("hosts", "expected names such as detent.example.com or *.example.com, found %q", name)
		}
	}
	for _, root := range c.CheckpointRoots {
		if !filepath.IsAbs(root) {
			k.fail("checkpoint_roots", "expected absolute paths, found %q", root)
		}
	}
	for _, address := range c.CheckpointEndpoints {
		k.url("checkpoint_endpoints", address)
	}
	checkInitialPassword(k, c.InitialPassword)
	if c.Spool.MaxMB < 1024 {
		k.fail("spool.max_mb", "expected at least 1024, because one request may use only a quarter of it; found %d", c.Spool.MaxMB)
	}
	if c.Spool.Folder != "" && !filepath.IsAbs(c.Spool.Folder) {
		k.fail("spool.folder", "expected an absolute path, found %q", c.Spool.Folder)
	}
}

// checkInitialPassword rejects a password with which nobody could sign in. An empty password
// means none.
func checkInitialPassword(k *checker, p string) {
	switch {
	case p == "":
	case p != strings.TrimSpace(p):
		k.fail("initial_password", "begins or ends with a space or a line break; remove it")
	case len(p) < minPassword:
		k.fail("initial_password", "must have at least %d characters", minPassword)
	case len(p) > accounts.MaxPassword:
		k.fail("initial_password", "has %d bytes; at most %d are allowed", len(p), accounts.MaxPassword)
	}
}

func prefixOf(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Prefix(a.BitLen())
	}
	return netip.ParsePrefix(text)
}

// trusted are the networks of proxies whose X-Forwarded-For header the master trusts.
func (c *Config) trusted() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range c.TrustedProxies {
		if p, err := prefixOf(text); err == nil { // check has rejected all others
			list = append(list, p)
		}
	}
	return list
}

// hosts are the host names of the master: the configured ones, and those of its addresses and
// machine.
func (c *Config) hosts() []string {
	list := append([]string{}, c.Hosts...)
	for _, address := range append([]string{c.PublicURL, c.TasksURL, c.Ingress.AuthURL}, c.TaskURLs...) {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			list = append(list, u.Host)
		}
	}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil {
		list = append(list, host)
	}
	if name, err := os.Hostname(); err == nil {
		list = append(list, name)
	}
	if c.TasksDomain != "" {
		list = append(list, c.TasksDomain, "*."+c.TasksDomain)
	}
	return list
}

// checkpointRoots are the folders from which the master may read checkpoints: the configured
// ones, or else the cluster's own storage if it is a folder.
func (c *Config) checkpointRoots() ([]string, error) {
	if len(c.CheckpointRoots) > 0 {
		return c.CheckpointRoots, nil
	}
	s, err := c.storage()
	if err != nil {
		return nil, err
	}
	var list []string
	for _, folder := range []string{s.HostPath, optional.Value(s.ContainerPath)} {
		if filepath.IsAbs(folder) {
			list = append(list, folder)
		}
	}
	return list, nil
}

// checkpointEndpoint looks up an address among those of the stores from which the master reads
// checkpoints, and returns it as the operators wrote it; "" for AWS, and for an unknown store.
// own reports whether the address is the cluster's store, or AWS.
func (c *Config) checkpointEndpoint(address string) (endpoint string, own bool, err error) {
	if address == "" {
		return "", true, nil
	}
	s, err := c.storage()
	if err != nil {
		return "", false, err
	}
	if s.EndpointURL != nil && sameStore(*s.EndpointURL, address) {
		return *s.EndpointURL, true, nil
	}
	for _, known := range c.CheckpointEndpoints {
		if sameStore(known, address) {
			return known, false, nil
		}
	}
	return "", false, nil
}

// sameStore compares two addresses, ignoring differences in notation.
func sameStore(a, b string) bool {
	plain := func(s string) string { return strings.ToLower(strings.TrimRight(s, "/")) }
	return plain(a) == plain(b)
}

func (c *Config) receiving() rest.Receiving {
	return rest.Receiving{Spool: spool.New(c.spoolFolder(), int64(c.Spool.MaxMB)<<20)}
}

func (c *Config) spoolFolder() string {
	return cmp.Or(c.Spool.Folder, os.TempDir())
}

// checkSpool warns if received requests would be stored in memory.
func (m *master) checkSpool() {
	folder := m.cfg.spoolFolder()
	switch memory, err := spool.InMemory(folder); {
	case err != nil:
		m.log.Warn("the folder for request bodies cannot be used; set spool.folder", "folder", folder, "error", err)
	case memory:
		m.log.Warn("request bodies are stored in memory, because spool.folder is on a tmpfs; the kernel may kill the master when memory runs out; set spool.folder to a folder on a disk, or lower spool.max_mb",
			"folder", folder, "max_mb", m.cfg.Spool.MaxMB)
	}
}

// initialPassword sets the password of the users admin and determined once, when the first master of a cluster
// starts for the first time. Without an initial password nobody can sign in from other
// machines, so the log explains what to do.
func (m *master) initialPassword(ctx context.Context) error {
	needed, err := accounts.NeedsFirstPassword(ctx, m.db)
	if err != nil || !needed {
		return err
	}
	if m.cfg.InitialPassword == "" {
		if host, _, err := net.SplitHostPort(m.cfg.Listen); err == nil && !m.blankLogin(host, host) {
			m.log.Warn("user admin has no password, and this master's address does not accept a blank one: nobody can sign in as admin. "+
				"Set initial_password in the Nomad variable of the master's job; Nomad then restarts the master", "listen", m.cfg.Listen)
		}
		return nil
	}
	done, err := accounts.SetFirstPassword(ctx, m.db, accounts.StoredPassword(m.cfg.InitialPassword))
	if done {
		m.log.Info("the users admin and determined now have the initial password; change each with det user change-password")
	}
	return err
}

// limitMemory sets the memory limit of Go's garbage collector to the memory that Nomad gave the
// master, so that the kernel does not kill the process.
func limitMemory(environ func(string) string) {
	mb, err := strconv.ParseInt(environ("NOMAD_MEMORY_LIMIT"), 10, 64)
	if err == nil && mb > 0 && environ("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(mb << 20 / 10 * 8)
	}
}

// The default memory for searches: a part of the memory that Nomad gave the master, or so many
// MB.
const (
	searchPart      = 5
	searchMemory    = 256
	maxSearchMemory = 1 << 20
)

// searchBudget is the memory limit of the searches of all experiments.
func searchBudget(cfg Config, environ func(string) string) budget.Budget {
	if cfg.SearchMemory > 0 {
		return budget.Budget{Bytes: int64(cfg.SearchMemory) << 20}
	}
	mb, err := strconv.ParseInt(environ("NOMAD_MEMORY_LIMIT"), 10, 64)
	if err != nil || mb <= 0 {
		return budget.Budget{Bytes: searchMemory << 20}
	}
	return budget.Budget{Bytes: mb << 20 / searchPart}
}
