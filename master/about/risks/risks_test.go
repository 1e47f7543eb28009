package risks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// safe is an installation without a risk.
func safe() Settings {
	return Settings{Listen: "0.0.0.0:8080", PublicURL: "https://detent.example.com", BlankPasswords: "loopback", DatabaseHost: "db.example.com", DatabaseIsSure: true,
		Roles: true, TasksDomain: "tasks.example.com", StorageKeys: true, Vault: true,
		Pools: []Pool{{Name: "gpus", Driver: "docker", Images: true, Network: "detent", SingleNode: true, HostPaths: []string{"/data", "/mnt/shared/*:rw"}, Devices: []string{"/dev/infiniband/*"}, Capabilities: []string{"IPC_LOCK"}}}}
}

func settings(found []Risk) (names []string) {
	for _, r := range found {
		names = append(names, r.Setting)
	}
	return names
}

func TestEachSettingWarns(t *testing.T) {
	if found := Of(safe()); len(found) != 0 {
		t.Fatalf("a safe installation: %v", found)
	}
	worse := map[string][]func(*Settings){
		"without_acl":           {func(s *Settings) { s.NomadOpen = true }, func(s *Settings) { s.ConsulOpen = true }, func(s *Settings) { s.NomadOpen, s.ConsulOpen = true, true }},
		"blank_passwords":       {func(s *Settings) { s.BlankPasswords = "always" }},
		"resource_pools.driver": {func(s *Settings) { s.Pools[0].Driver = "raw_exec" }},
		"resource_pools.docker": {
			func(s *Settings) { s.Pools[0].HostPaths = []string{"/"} }, func(s *Settings) { s.Pools[0].HostPaths = []string{"/*"} }, func(s *Settings) { s.Pools[0].HostPaths = []string{"/var"} }, func(s *Settings) { s.Pools[0].HostPaths = []string{"/var/*"} },
			func(s *Settings) { s.Pools[0].HostPaths = []string{"/data", "/etc/ssl:ro"} }, func(s *Settings) { s.Pools[0].HostPaths = []string{"/var/run/docker.sock"} }, func(s *Settings) { s.Pools[0].HostPaths = []string{"/data/../etc"} },
			func(s *Settings) { s.Pools[0].Devices = []string{"/dev/sda"} }, func(s *Settings) { s.Pools[0].Devices = []string{"/dev/*"} },
			func(s *Settings) { s.Pools[0].Capabilities = []string{"sys_admin"} }, func(s *Settings) { s.Pools[0].Capabilities = []string{"CAP_SYS_PTRACE"} }},
		"database":            {func(s *Settings) { s.DatabaseIsSure = false }},
		"public_url":          {func(s *Settings) { s.PublicURL = "http://10.0.0.1:8080" }},
		"checkpoint_storage":  {func(s *Settings) { s.Vault = false }},
		"security.authz.type": {func(s *Settings) { s.Roles = false }},
		"tasks_domain":        {func(s *Settings) { s.TasksDomain = "" }},
		"resource_pools.network_mode": {func(s *Settings) { s.Pools[0].Network = "" }, func(s *Settings) { s.Pools[0].Network = "host" },
			func(s *Settings) { s.Pools[0].Network = "bridge" }, func(s *Settings) { s.Pools[0].SingleNode = false }},
	}
	if len(worse) != len(checks) || len(checks) != 10 {
		t.Errorf("%d settings are tried of %d, and the page speaks of ten", len(worse), len(checks))
	}
	for setting, changes := range worse {
		for i, change := range changes {
			s := safe()
			change(&s)
			found := Of(s)
			if !slices.Equal(settings(found), []string{setting}) {
				t.Errorf("%s, change %d: %v", setting, i, found)
			}
			if len(s.Pools[0].Name) > 0 && strings.HasPrefix(setting, "resource_pools") && (len(found) == 0 || !strings.Contains(found[0].Warning, "pool gpus")) {
				t.Errorf("%s: the warning does not name the pool: %v", setting, found)
			}
		}
	}
}

// TestTheWarningNamesTheServer: whoever reads the warning finds the key that is set.
func TestTheWarningNamesTheServer(t *testing.T) {
	for _, c := range []struct{ nomad, consul bool }{{true, false}, {false, true}, {true, true}} {
		s := safe()
		s.NomadOpen, s.ConsulOpen = c.nomad, c.consul
		found := Of(s)
		if len(found) != 1 || strings.Contains(found[0].Warning, "nomad.without_acl") != c.nomad || strings.Contains(found[0].Warning, "consul.without_acl") != c.consul {
			t.Errorf("Nomad %v, Consul %v: %v", c.nomad, c.consul, found)
		}
	}
}

// TestNetworksOfSeveralNodes: trials on several nodes use the networks of their nodes, unless a network of CNI plugins connects them.
func TestNetworksOfSeveralNodes(t *testing.T) {
	const one, several = "Containers of pool", "Trials on several nodes of pool"
	for _, c := range []struct {
		network        string
		single, images bool
		want           []string
	}{
		{"detent", true, true, nil},
		{"detent", false, true, []string{several}},
		{"cni/machines", false, true, nil},
		{"bridge", false, true, []string{one}}, // its advice is single_node, too
		{"bridge", true, true, []string{one}},
		{"", false, false, nil}, // the warning is about containers
	} {
		s := safe()
		s.Pools[0].Network, s.Pools[0].SingleNode, s.Pools[0].Images = c.network, c.single, c.images
		warning := ""
		if found := Of(s); len(found) > 0 {
			warning = found[0].Warning
		}
		for _, text := range []string{one, several} {
			if got := strings.Contains(warning, text); got != slices.Contains(c.want, text) {
				t.Errorf("network %q, single_node %v: %q", c.network, c.single, warning)
			}
		}
	}
	s := safe()
	s.Pools = append(s.Pools, Pool{Name: "other", Driver: "docker", Images: true, Network: "host", SingleNode: true})
	s.Pools[0].SingleNode = false
	if found := Of(s); len(found) != 1 || !strings.Contains(found[0].Warning, one+" other") || !strings.Contains(found[0].Warning, several+" gpus") {
		t.Errorf("two pools: %v", found)
	}
}

// TestTasksBesideThePlainMaster: over plain HTTP a page of a task can set a cookie for each domain that its host and the
// master's share.
func TestTasksBesideThePlainMaster(t *testing.T) {
	for _, c := range []struct {
		public, tasks string
		tls, warns    bool
	}{
		{"http://det.example.com", "tasks.example.com", false, true},
		{"http://DET.example.com:8080", "tasks.example.com:8081", false, true},
		{"http://det.example.com", "tasks.det.example.com", false, true},
		{"http://det.example.com", "example.com", false, true},
		{"http://det.example.com.", "tasks.example.com", false, true},
		{"http://det.example.com", "tasks.example.org", false, false},
		{"http://det.example.com", "tasks.notexample.com", false, false},
		{"http://detent", "tasks.detent", false, false}, // browsers accept no cookie for a name of one part
		{"http://10.0.0.1:8080", "10.0.0.1.nip.io", false, false},
		{"https://det.example.com", "tasks.example.com", false, false},
		{"http://det.example.com", "tasks.example.com", true, false},
	} {
		s := safe()
		s.PublicURL, s.TasksDomain, s.TLS = c.public, c.tasks, c.tls
		if got := slices.Contains(settings(Of(s)), "tasks_domain"); got != c.warns {
			t.Errorf("a master at %s with tasks at %s: a warning %v", c.public, c.tasks, got)
		}
	}
}

func TestTheGreatestRiskIsFirst(t *testing.T) {
	s := Settings{Listen: "[::]:8080", PublicURL: "http://detent", NomadOpen: true, BlankPasswords: "always", DatabaseHost: "db", StorageKeys: true,
		Pools: []Pool{{Name: "a", Driver: "raw_exec"}, {Name: "b", Driver: "docker", Images: true, HostPaths: []string{"/"}}}}
	var all []string
	for _, c := range checks {
		all = append(all, c.setting)
	}
	if found := settings(Of(s)); !slices.Equal(found, all) {
		t.Errorf("found %v, want %v", found, all)
	}
	for _, listen := range []string{"127.0.0.1:8080", "localhost:8080", "[::1]:8080"} {
		s.Listen = listen
		if found := Of(s); found != nil {
			t.Errorf("a master on %s, which serves one person: %v", listen, found)
		}
	}
}

func TestWhatStaysOnThisMachineIsNoRisk(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1", "localhost", "/run/postgresql"} {
		s := safe()
		if s.DatabaseHost, s.DatabaseIsSure = host, false; len(Of(s)) != 0 {
			t.Errorf("%s: %v", host, Of(s))
		}
	}
	s := safe()
	if s.PublicURL, s.TLS = "http://detent.example.com", true; len(Of(s)) != 0 {
		t.Errorf("TLS of the master itself: %v", Of(s))
	}
}

// TestThePageHasTheTen: the page for operators lists the same settings in the same order.
func TestThePageHasTheTen(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operate", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## The ten settings that matter\n")
	if !found {
		t.Fatal("docs/operate/security.md has no section on the ten settings")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for line := range strings.Lines(section) {
		if _, rest, is := strings.Cut(line, ". `"); is && line[0] >= '0' && line[0] <= '9' {
			name, _, _ := strings.Cut(rest, "`")
			name, _, _ = strings.Cut(name, ":") // and the value to choose
			listed = append(listed, name)
		}
	}
	var all []string
	for _, c := range checks {
		all = append(all, c.setting)
	}
	if !slices.Equal(listed, all) {
		t.Errorf("the page lists %v, want %v", listed, all)
	}
}
