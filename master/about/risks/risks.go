// Package risks names what weakens the security of an installation: the ten settings that matter, in the
// order of what they prevent (docs/operate/security.md has the same list).
//
// It is pure: server describes the configuration and what it sees of the cluster, and shows the result in
// its log when it starts, to administrators in /health, and in the pages.
package risks

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Settings is what an installation is like.
type Settings struct {
	Listen         string // host:port; a master on loopback serves one person
	PublicURL      string
	TLS            bool // the master itself ends TLS
	NomadOpen      bool // the master does not check that Nomad has ACLs
	ConsulOpen     bool // nor that Consul has
	BlankPasswords string
	DatabaseHost   string // or the folder of its socket
	DatabaseIsSure bool   // the master checks the database's certificate
	Roles          bool   // security.authz.type is rbac
	TasksDomain    string
	StorageKeys    bool // checkpoint_storage contains credentials
	Vault          bool // which makes credentials for each task
	Pools          []Pool
}

// A Pool is what the tasks of a pool may do on their nodes.
type Pool struct {
	Name, Driver                     string
	Images                           bool // its tasks run in containers of images
	Network                          string
	SingleNode                       bool // no task of it is on several nodes
	HostPaths, Devices, Capabilities []string
}

// A Risk is a setting that weakens security.
type Risk struct {
	Setting string `json:"setting"` // its key, such as tls.cert_file
	Warning string `json:"warning"` // what can happen, and what to do
}

// check is one of the ten settings. It returns a warning, or "".
type check struct {
	setting string
	warn    func(Settings) string
}

// checks are in the order of what the settings prevent.
var checks = []check{
	{"without_acl", withoutACL},
	{"blank_passwords", blankPasswords},
	{"resource_pools.driver", drivers},
	{"resource_pools.docker", nodeRights},
	{"database", database},
	{"public_url", plainHTTP},
	{"checkpoint_storage", storageKeys},
	{"security.authz.type", everybody},
	{"tasks_domain", tasksDomain},
	{"resource_pools.network_mode", networks},
}

// Of returns the risks of an installation, the greatest first. A master that only its own machine reaches
// serves one person, from whom nothing here protects.
func Of(s Settings) (found []Risk) {
	if onLoopback(s.Listen) {
		return nil
	}
	for _, c := range checks {
		if warning := c.warn(s); warning != "" {
			found = append(found, Risk{c.setting, warning})
		}
	}
	return found
}

func withoutACL(s Settings) string {
	const nomad = "nomad.without_acl is set: the master does not check that Nomad has access control. Without it every program that reaches Nomad, tasks among them, can read all jobs with their secrets and run jobs as root on every node. " +
		"Enable ACLs in Nomad (docs/operate/acl.md), and remove the setting"
	const consul = "consul.without_acl is set: the master does not check that Consul has access control. Without it every program that reaches Consul, tasks among them, can register services with the names of masters and tasks, and remove theirs. " +
		"Enable ACLs in Consul (docs/operate/acl.md), and remove the setting"
	switch {
	case s.NomadOpen && s.ConsulOpen:
		return nomad + ". " + consul
	case s.NomadOpen:
		return nomad
	case s.ConsulOpen:
		return consul
	}
	return ""
}

func blankPasswords(s Settings) string {
	if s.BlankPasswords != "always" {
		return ""
	}
	return "Blank passwords are accepted from every machine: whoever knows the name of a user without a password, such as admin, signs in as that user. Set blank_passwords to loopback or never"
}

func drivers(s Settings) string {
	names := s.named(func(p Pool) bool { return p.Driver == "raw_exec" })
	if names == "" {
		return ""
	}
	return fmt.Sprintf("Tasks of %s run with raw_exec: a program of a user who is linked to no account runs as the account of Nomad's client, usually root, and reads the secrets of all other tasks of its node. "+
		"Use docker, podman or exec", names)
}

// rootCapabilities make a container's root the node's.
var rootCapabilities = []string{"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO", "DAC_READ_SEARCH", "BPF"}

// systemFolders contain folders of a node's own programs. All that lies in systemTrees belongs to the node.
var (
	systemFolders = []string{"/", "/opt", "/usr", "/var", "/var/lib"}
	systemTrees   = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/usr/sbin", "/var/lib/docker", "/var/lib/nomad", "/var/run", "/opt/nomad"}
)

func nodeRights(s Settings) string {
	names := s.named(func(p Pool) bool {
		return slices.ContainsFunc(p.HostPaths, system) || slices.ContainsFunc(p.Devices, disk) || slices.ContainsFunc(p.Capabilities, func(name string) bool {
			return slices.Contains(rootCapabilities, strings.TrimPrefix(strings.ToUpper(name), "CAP_"))
		})
	})
	if names == "" {
		return ""
	}
	return fmt.Sprintf("Tasks of %s may request folders, devices or capabilities with which a container's root becomes root of its node. Remove system folders from allowed_host_paths, "+
		"memory and disks from allowed_devices, and %s from allowed_capabilities", names, strings.Join(rootCapabilities, ", "))
}

// system reports whether an allowed path opens a folder of the node's system.
func system(allowed string) bool {
	allowed, _ = strings.CutSuffix(allowed, ":rw")
	allowed, _ = strings.CutSuffix(allowed, ":ro")
	folder := path.Clean(strings.TrimRight(allowed, "*"))
	return slices.Contains(systemFolders, folder) ||
		slices.ContainsFunc(systemTrees, func(tree string) bool { return folder == tree || strings.HasPrefix(folder, tree+"/") })
}

// disk reports whether an allowed device is the node's memory or a disk.
func disk(allowed string) bool {
	return slices.ContainsFunc([]string{"/dev/mem", "/dev/kmem", "/dev/port", "/dev/sd", "/dev/nvme", "/dev/vd", "/dev/xvd", "/dev/dm-", "/dev/mapper", "/dev/loop", "/dev/*"}, func(of string) bool {
		return strings.HasPrefix(allowed, of)
	})
}

func database(s Settings) string {
	if s.DatabaseIsSure || local(s.DatabaseHost) {
		return ""
	}
	return "The connection to the database does not check the database's certificate: whoever is on the network between them can read or change all that is stored. Add sslmode=verify-full to the address of the database"
}

func plainHTTP(s Settings) string {
	u, err := url.Parse(s.PublicURL)
	if err != nil || s.TLS || u.Scheme == "https" || local(u.Hostname()) {
		return ""
	}
	return "Users reach this master by plain HTTP: whoever is on the network reads passwords and sessions. Set tls.cert_file and tls.key_file, or put a proxy with TLS before the master, and begin public_url with https"
}

func storageKeys(s Settings) string {
	if !s.StorageKeys || s.Vault {
		return ""
	}
	return "checkpoint_storage contains credentials, which every task receives: each user can read and delete the checkpoints of all others. Use vault or web_identity, which give each attempt credentials of its own"
}

func everybody(s Settings) string {
	if s.Roles {
		return ""
	}
	return "All users see all experiments, code, logs and models, because roles are not in use. Set security.authz.type to rbac if users should not see each other's work"
}

func tasksDomain(s Settings) string {
	if s.TasksDomain != "" {
		return besideTheMaster(s)
	}
	return "The pages of all tasks have one origin: the page of one notebook reaches a page of another task that is open in the same browser. Set tasks_domain to a domain whose names all lead to the master"
}

// besideTheMaster warns of pages of tasks that can set a cookie for the master's host. With HTTPS the cookies of sessions have
// names that no other host can set.
func besideTheMaster(s Settings) string {
	u, err := url.Parse(s.PublicURL)
	if err != nil || s.TLS || u.Scheme == "https" {
		return ""
	}
	domain := sharedDomain(u.Hostname(), s.TasksDomain)
	if domain == "" {
		return ""
	}
	return fmt.Sprintf("Users reach this master by plain HTTP, and the pages of tasks are in the same domain, %s: such a page can set a cookie for the domain, and sign in a visitor who is not signed in as another user. "+
		"Use HTTPS, or set tasks_domain to a domain outside %s", domain, domain)
}

// sharedDomain returns the smallest domain that contains the master's host and all hosts of tasks; "" if it has fewer than two parts,
// because browsers accept no cookie for such a domain.
func sharedDomain(host, tasks string) string {
	tasks, _, _ = strings.Cut(tasks, ":") // its port
	a, b := partsOf(host), partsOf(tasks)
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	if n < 2 {
		return ""
	}
	return strings.Join(a[len(a)-n:], ".")
}

func partsOf(host string) []string {
	return strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
}

func networks(s Settings) string {
	var warnings []string
	open := func(p Pool) bool { return p.Images && slices.Contains([]string{"", "host", "bridge"}, p.Network) }
	if names := s.named(open); names != "" {
		warnings = append(warnings, fmt.Sprintf("Containers of %s reach the metadata server of a cloud, and ports of other containers or of the node. "+
			"Set network_mode to a network that nomad/docker/network.sh creates, and single_node: true", names))
	}
	// A network of CNI plugins may connect machines; every other one connects the containers of one node.
	if names := s.named(func(p Pool) bool {
		return p.Images && !open(p) && !p.SingleNode && !strings.HasPrefix(p.Network, "cni/")
	}); names != "" {
		warnings = append(warnings, fmt.Sprintf("Trials on several nodes of %s use the networks of their nodes, regardless of network_mode: there they reach the metadata server of a cloud, "+
			"servers of the node and ports of other tasks. Set single_node: true", names))
	}
	return strings.Join(warnings, ". ")
}

// named names the pools of which something is so; "" if there is none.
func (s Settings) named(so func(Pool) bool) string {
	var names []string
	for _, p := range s.Pools {
		if so(p) {
			names = append(names, p.Name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "pool " + names[0]
	}
	return "pools " + strings.Join(names, ", ")
}

// onLoopback reports whether only the master's own machine reaches host:port.
func onLoopback(listen string) bool {
	i := strings.LastIndexByte(listen, ':')
	return i > 0 && local(strings.Trim(listen[:i], "[]"))
}

// local reports whether a host, or the folder of a socket, is on this machine.
func local(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "/") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
