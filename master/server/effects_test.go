package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/api"
	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/oidc"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/secrets"
	"github.com/detent-ml/detent/master/webhook/sender"
)

// What the parts of a master get from a configuration.
type reached struct {
	m        *master
	cfg      *Config
	api      api.Config
	loop     control.Config
	pool     pool.Pool
	vault    secrets.Config
	sender   sender.Config
	provider oidc.Config // the first
}

func reach(t *testing.T, text string) reached {
	t.Helper()
	m := configured(t, "database: postgres://x\n"+text)
	m.log = slog.New(slog.DiscardHandler)
	r := reached{m: m, cfg: &m.cfg, pool: m.pools[0]}
	var err error
	if r.api, err = m.apiConfig(); err != nil {
		t.Fatal(err)
	}
	r.loop, r.vault = m.loopConfig(), m.vaultConfig()
	if r.sender, err = m.cfg.senderConfig(); err != nil {
		t.Fatal(err)
	}
	if r.api.SignIn != nil {
		r.provider = r.api.SignIn.List()[0]
	}
	return r
}

// A reachOf says what a key changes in the part of the master that has its effect.
type reachOf struct {
	key, text string
	see       func(r reached) any
	want      string
}

const (
	anyPool     = "resource_pools: [{name: a%s}]\n"
	anyProvider = "identity_providers: [{name: corp, issuer: 'https://login.example', client_id: d%s}]\n"
	anyVault    = "vault: {address: 'http://v', token: t%s}\n"
)

// TestKeysReachTheirParts: the part that has the effect of a key gets its value, and another one without the key.
// integration/house names the tests of these parts.
func TestKeysReachTheirParts(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of the file, long\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	det := filepath.Join(t.TempDir(), "det")
	if err := os.WriteFile(det, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []reachOf{
		{"cluster_name", "cluster_name: lab", func(r reached) any { return r.api.ClusterName + r.api.Site.ClusterName }, "lablab"},
		{"public_url", "public_url: http://m.example", func(r reached) any { return r.api.PublicURL + " " + r.api.Site.PublicURL }, "http://m.example http://m.example"},
		{"task_urls", "task_urls: ['http://10.0.0.1:8080']", func(r reached) any { return r.api.Site.TaskURLs }, "[http://10.0.0.1:8080]"},
		{"service_name", "service_name: masters", func(r reached) any { return r.api.Site.ServiceName }, "masters"},
		{"tasks_url", "tasks_url: http://tasks.example", func(r reached) any { o, _ := r.m.listenForTasks(t.Context()); return r.cfg.origins(o.url).URL }, "http://tasks.example"},
		{"tasks_domain", "tasks_domain: tasks.example", func(r reached) any { return r.cfg.origins("").Domain }, "tasks.example"},
		{"ingress.kind", "tasks_domain: tasks.example\ningress: {kind: traefik}", func(r reached) any { return r.cfg.proxyRules().Ingress }, "true"},
		{"unauthenticated_ports", "unauthenticated_ports: true", func(r reached) any {
			return fmt.Sprint(r.cfg.proxyRules().OpenPorts, r.api.Site.Capabilities.OpenPorts)
		}, "true true"},
		{"blank_passwords", "blank_passwords: never", func(r reached) any { return r.api.BlankLogin("127.0.0.1", "localhost") }, "false"},
		{"blank_passwords", "blank_passwords: always", func(r reached) any { return r.api.BlankLogin("192.0.2.7", "m.example") }, "true"},
		{"tokens.max_days", "tokens: {max_days: 90}", func(r reached) any { return r.api.Tokens.Max }, "2160h0m0s"},
		{"tokens.default_days", "tokens: {default_days: 7}", func(r reached) any { return r.api.Tokens.Default }, "168h0m0s"},
		{"job_sign_in", "job_sign_in: [{namespace: ci, job: build, user: robot}]", func(r reached) any {
			if r.api.JobSignIn == nil {
				return nil
			}
			return r.api.JobSignIn.Jobs
		}, "[{ci build robot}]"},
		{"scim.auth.token_file", "scim: {enabled: true, auth: {token_file: FILE}}", func(r reached) any {
			return r.api.SCIM != nil && r.api.SCIM.Tokens[0] == scim.HashSecret("of the file, long")
		}, "true"},
		{"scim.auth.password_file", "scim: {enabled: true, auth: {type: basic, username: idp, password_file: FILE}}", func(r reached) any {
			return r.api.SCIM != nil && r.api.SCIM.Logins[0] == scim.HashSecret("idp:of the file, long")
		}, "true"},
		{"hosts", "hosts: [m.example]", func(r reached) any { return strings.Contains(fmt.Sprint(r.api.Hosts), "m.example") }, "true"},
		{"trusted_proxies", "trusted_proxies: [10.0.0.0/8]", func(r reached) any { return r.api.TrustedProxies }, "[10.0.0.0/8]"},
		{"checkpoint_roots", "checkpoint_roots: [/a]", func(r reached) any { return r.api.CheckpointRoots }, "[/a]"},
		{"checkpoint_storage", "checkpoint_storage: {type: shared_fs, host_path: /ck}", func(r reached) any { return r.api.CheckpointStorage.HostPath }, "/ck"},
		{"checkpoint_sweep", "checkpoint_sweep: off", func(r reached) any { return r.loop.Sweeps }, "off"},
		{"task_container_defaults", "task_container_defaults: {startup_hook: x}", func(r reached) any { h := r.api.Site.Defaults.StartupHook; return h != nil && *h == "x" }, "true"},
		{"search_memory_mb", "search_memory_mb: 64", func(r reached) any { return r.loop.Memory.Bytes + r.api.Memory.Bytes }, "134217728"},
		{"database_limits.user_mb", "database_limits: {user_mb: 3}", func(r reached) any { return r.api.Stored.Owner }, "3145728"},
		{"database_limits.task_log_mb", "database_limits: {task_log_mb: 3}", func(r reached) any { return r.cfg.logSettings().MaxBytes }, "3145728"},
		{"database_limits.trial_metrics_mb", "database_limits: {trial_metrics_mb: 3}", func(r reached) any { return r.api.Stored.Metrics }, "3145728"},
		{"spool.max_mb", "spool: {max_mb: 1024}", func(r reached) any {
			_, err := r.api.Receiving.Spool.Reserve(t.Context(), "somebody", 257<<20)
			return fault.Is(err, fault.TooLarge)
		}, "true"},
		{"security.authz.type", "security: {authz: {type: rbac}}", func(r reached) any { return r.api.Roles && r.loop.Roles }, "true"},
		{"spool.folder", "spool: {folder: /s}", func(r reached) any { return r.api.Receiving.Spool.Path() }, "/s"},
		{"nomad.ui", "nomad: {ui: 'https://n.example'}", func(r reached) any { return r.api.NomadUI }, "https://n.example"},
		{"nomad.region", "nomad: {region: east}", func(r reached) any { return r.loop.Region }, "east"},
		{"nomad.regions.ui", "nomad: {region: east, regions: [{name: west, address: 'http://w', ui: 'https://w.example'}]}", func(r reached) any { return r.api.RegionUIs["west"] }, "https://w.example"},
		{"nomad.namespace", "nomad: {namespace: ml}", func(r reached) any { return r.pool.Namespace + r.api.Namespaces[0] }, "mlml"},
		{"nomad.datacenters", "nomad: {datacenters: [north]}", func(r reached) any { return r.pool.Datacenters }, "[north]"},
		{"consul.address", "consul: {address: 'http://c'}", func(r reached) any { return r.api.Site.Services }, "consul"},
		{"web_identity.role_arn", "web_identity: {role_arn: 'arn:x'}", func(r reached) any { return r.api.Site.SignIn.WebIdentity.RoleARN }, "arn:x"},
		{"web_identity.audience", "web_identity: {role_arn: 'arn:x', audience: them}", func(r reached) any { return r.api.Site.SignIn.WebIdentity.Audience }, "them"},
		{"web_identity.sts_endpoint", "web_identity: {role_arn: 'arn:x', sts_endpoint: 'https://sts.example'}", func(r reached) any { return r.api.Site.SignIn.WebIdentity.STSEndpoint }, "https://sts.example"},
		{"s3_region", "s3_region: eu-1", func(r reached) any { return r.api.Site.SignIn.Region }, "eu-1"},
		{"retention_policy.log_retention_days", "retention_policy: {log_retention_days: 9}", func(r reached) any { return fmt.Sprint(r.api.Logs.Days, r.loop.Retention.Days) }, "9 9"},
		{"retention_policy.schedule", "retention_policy: {schedule: '0 3 * * *'}", func(r reached) any {
			if r.loop.Retention.Next == nil {
				return nil
			}
			return r.loop.Retention.Next(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)).Format(time.DateTime)
		}, "2026-01-02 03:00:00"},
		{"queue_recording.days", "queue_recording: {days: 9}", func(r reached) any { return r.loop.Recording.Days }, "9"},
		{"queue_recording.max_mb", "queue_recording: {max_mb: 7}", func(r reached) any { return r.loop.Recording.MaxMB }, "7"},
		{"webhooks.base_url", "webhooks: {base_url: 'https://m.example'}", func(r reached) any { return r.sender.BaseURL }, "https://m.example"},
		{"webhooks.signing_key", "webhooks: {signing_key: k}", func(r reached) any { return r.sender.SigningKey }, "k"},
		{"webhooks.allow", "webhooks: {allow: [10.1.0.0/16]}", func(r reached) any { return r.sender.Allow }, "[10.1.0.0/16 127.0.0.0/8 ::1/128]"},
		{"default_compute_resource_pool", "resource_pools: [{name: a}, {name: b}]\ndefault_compute_resource_pool: b", func(r reached) any { return r.pool.Compute }, "false"},
		{"default_aux_resource_pool", "resource_pools: [{name: a}, {name: b}]\ndefault_aux_resource_pool: b", func(r reached) any { return r.pool.Aux }, "false"},
		{"det_path", "det_path: DET", func(r reached) any { return r.api.DetPath == det }, "true"},
		{"harness_path", "harness_path: /h", func(r reached) any { return r.api.HarnessDir }, "/h"},
		{"runner_path", "runner_path: /programs/det-runner", func(r reached) any { return r.api.RunnerDir }, "/programs"},
		{"stop_after", "stop_after: 45s", func(r reached) any { return fmt.Sprint(r.loop.Timing.StopAfter, r.api.Site.StopAfter) }, "45s 45s"},
		{"place_timeout", "place_timeout: 3m", func(r reached) any { return r.loop.Timing.Place }, "3m0s"},
		{"pull_timeout", "pull_timeout: 3m", func(r reached) any { return fmt.Sprint(r.loop.Timing.Pull, r.api.Site.PullTimeout) }, "3m0s 3m0s"},
		{"launch_error", "launch_error: false", func(r reached) any { return fmt.Sprint(r.loop.LaunchError, r.api.LaunchError) }, "false false"},
		{"python", "python: /p/python3", func(r reached) any { return r.pool.Python }, "/p/python3"},
	} {
		c.check(t, secret, det)
	}
}

// TestTheFirstLevelOfTheLog: a master that starts logs what log_level says.
func TestTheFirstLevelOfTheLog(t *testing.T) {
	for key, want := range map[string]string{"": "an error, some news, ", "log_level: error": "an error, ", "log_level: debug": "an error, some news, details, "} {
		m := configured(t, "database: postgres://x\n"+key)
		var wrote bytes.Buffer
		_, log := m.cfg.newLog(&wrote)
		log.Error("an error")
		log.Info("some news")
		log.Debug("details")
		got := ""
		for _, line := range []string{"an error", "some news", "details"} {
			if strings.Contains(wrote.String(), line) {
				got += line + ", "
			}
		}
		if got != want {
			t.Errorf("%q logs %q, want %q", key, got, want)
		}
	}
}

// TestKeysOfPoolsReachThem: the same for the keys of pools.
func TestKeysOfPoolsReachThem(t *testing.T) {
	for _, c := range []reachOf{
		{"name", "", func(r reached) any { return r.pool.Name }, "a"},
		{"description", "description: d", func(r reached) any { return r.pool.Description }, "d"},
		{"node_pool", "node_pool: fast", func(r reached) any { return r.pool.NodePool }, "fast"},
		{"driver", "driver: exec", func(r reached) any { return r.pool.Driver }, "exec"},
		{"slots", "slots: device, device: nvidia/gpu", func(r reached) any { return r.pool.Slots.Kind }, "device"},
		{"device", "slots: device, device: nvidia/gpu", func(r reached) any { return r.pool.Slots.Device }, "nvidia/gpu"},
		{"cores_per_slot", "cores_per_slot: 4", func(r reached) any { return r.pool.Slots.CoresPerSlot }, "4"},
		{"memory_mb_per_slot", "memory_mb_per_slot: 300", func(r reached) any { return r.pool.Slots.MemoryMBPerSlot }, "300"},
		{"max_slots_per_node", "max_slots_per_node: 3", func(r reached) any { return r.pool.Slots.MaxPerNode }, "3"},
		{"slots_per_node", "slots_per_node: 5", func(r reached) any { return r.pool.Slots.PerNode }, "5"},
		{"max_aux_containers_per_agent", "max_aux_containers_per_agent: 7", func(r reached) any { return r.pool.MaxAux }, "7"},
		{"aux_memory_mb", "aux_memory_mb: 99", func(r reached) any { return r.pool.AuxMemoryMB }, "99"},
		{"homes", "homes: /mnt/homes", func(r reached) any { return r.pool.Homes }, "/mnt/homes"},
		{"single_node", "single_node: true", func(r reached) any { return r.pool.SingleNode }, "true"},
		{"scheduler.equal_parts", "scheduler: {equal_parts: true}", func(r reached) any { return r.pool.Scheduler.EqualParts }, "true"},
		{"trusted_network", "trusted_network: true", func(r reached) any { return r.pool.TrustedNetwork }, "true"},
		{"aux_on_spot", "spot: true, aux_on_spot: true", func(r reached) any { return r.pool.AuxOnSpot }, "true"},
		{"node_classes", "node_classes: [{class: big, slots: 2, attributes: {attr.cpu.arch: arm64}, max: 3}]", func(r reached) any { return r.pool.Classes }, "[{big 2  map[] map[attr.cpu.arch:arm64] 3}]"},
		{"pod_labels", "slots: device, device: x/y, pod_labels: [{label: l, value: v, attribute: '${meta.a}', is: z}]", func(r reached) any {
			if len(r.pool.PodLabels) == 0 {
				return nil
			}
			p := r.pool.PodLabels[0]
			return p.Label + p.Value + p.Attribute + p.Is
		}, "lv${meta.a}z"},
		{"docker.allowed_devices", "driver: docker, docker: {allowed_devices: [/dev/fuse]}", func(r reached) any { return r.pool.Limits != nil && fmt.Sprint(r.pool.Limits.Devices) == "[/dev/fuse]" }, "true"},
		{"docker.allowed_capabilities", "driver: docker, docker: {allowed_capabilities: [SYS_PTRACE]}", func(r reached) any {
			return r.pool.Limits != nil && fmt.Sprint(r.pool.Limits.Capabilities) == "[SYS_PTRACE]"
		}, "true"},
		{"docker.cloud_metadata", "driver: docker, docker: {cloud_metadata: true}", func(r reached) any { return len(r.pool.Containers.Hosts) }, "0"},
		{"docker.registry_auth", "driver: docker, docker: {registry_auth: {vault_path: p, vault_engine: kv, vault_role: r, server: s}}", func(r reached) any { return r.pool.Containers.Registry }, "{p kv r s}"},
	} {
		if c.text != "" {
			c.text = ", " + c.text
		}
		c.key, c.text = "resource_pools."+c.key, fmt.Sprintf(anyPool, c.text)
		c.check(t, "", "")
	}
}

// TestKeysOfVaultAndProvidersReachThem: the same for Vault and for identity providers.
func TestKeysOfVaultAndProvidersReachThem(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const clouds = "gcs_path: secret/data/gcs, azure_path: secret/data/az, "
	for _, c := range []reachOf{
		{"namespace", clouds + "namespace: n", func(r reached) any { return r.vault.Namespace + r.api.Site.SignIn.Vault.Namespace }, "nn"},
		{"auth_path", clouds + "auth_path: jwt", func(r reached) any { return r.vault.AuthPath }, "jwt"},
		{"auth_role", clouds + "auth_role: master", func(r reached) any { return r.vault.AuthRole }, "master"},
		{"task_role", clouds + "task_role: tasks", func(r reached) any { return r.api.Site.SignIn.Vault.Role }, "tasks"},
		{"aws_path", "role_arn: 'arn:x', aws_path: mine", func(r reached) any { return r.vault.Engine + r.api.Site.SignIn.Vault.Engine }, "minemine"},
		{"role_arn", "role_arn: 'arn:x'", func(r reached) any { return r.vault.RoleARN }, "arn:x"},
		{"reader_role", "role_arn: 'arn:x', reader_role: reads", func(r reached) any { return r.vault.ReaderRole }, "reads"},
		{"ttl", clouds + "ttl: 2h", func(r reached) any { return r.vault.TTL }, "2h0m0s"},
		{"remove_entities", clouds + "remove_entities: true", func(r reached) any { return r.vault.RemoveEntities }, "true"},
	} {
		c.key, c.text = "vault."+c.key, fmt.Sprintf(anyVault, ", "+c.text)
		c.check(t, "", "")
	}
	for _, c := range []reachOf{
		{"name", "", func(r reached) any { return r.provider.Name }, "corp"},
		{"client_id", "", func(r reached) any { return r.provider.ClientID }, "d"},
		{"client_secret", "client_secret: s", func(r reached) any { return r.provider.ClientSecret }, "s"},
		{"client_secret_file", "client_secret_file: FILE", func(r reached) any { return r.provider.ClientSecret }, "of the file"},
		{"scopes", "scopes: [groups]", func(r reached) any { return r.provider.Scopes }, "[groups]"},
		{"username_claim", "username_claim: email", func(r reached) any { return r.provider.UsernameClaim }, "email"},
		{"display_name_claim", "display_name_claim: nick", func(r reached) any { return r.provider.DisplayNameClaim }, "nick"},
		{"admin_groups", "groups_claim: g, admin_groups: [ops]", func(r reached) any { return r.provider.AdminGroups }, "[ops]"},
		{"known_users_only", "known_users_only: true", func(r reached) any { return r.provider.Name != "" && !r.provider.CreateUsers }, "true"},
		{"always_redirect", "always_redirect: true", func(r reached) any { return r.provider.AlwaysRedirect }, "true"},
		{"session_hours", "session_hours: 2", func(r reached) any { return r.provider.SessionLife }, "2h0m0s"},
		{"offline_access", "offline_access: consent", func(r reached) any { return r.provider.Offline }, "consent"},
	} {
		if c.text != "" {
			c.text = ", " + c.text
		}
		c.key, c.text = "identity_providers."+c.key, fmt.Sprintf(anyProvider, c.text)
		c.check(t, secret, "")
	}
}

func (c reachOf) check(t *testing.T, secret, det string) {
	t.Helper()
	text := strings.NewReplacer("FILE", secret, "DET", det).Replace(c.text)
	if got := fmt.Sprint(c.see(reach(t, text))); got != c.want {
		t.Errorf("%s: %s gives %q, want %q", c.key, text, got, c.want)
	}
	if got := fmt.Sprint(c.see(reach(t, ""))); got == c.want {
		t.Errorf("%s: %q is also there without %s", c.key, got, text)
	}
}
