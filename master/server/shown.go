package server

import (
	"net"
	"strconv"

	"github.com/detent-ml/detent/master/store"
)

// hidden stands for a secret.
const hidden = "********"

// redacted is the configuration as it is shown to admins: with the keys of
// Determined's master.yaml, which clients index, defaults filled in and secrets
// hidden. What only Detent has keeps its own key beside them.
func (m *master) redacted() any { return m.cfg.shown() }

func (c Config) shown() map[string]any {
	manager := map[string]any{"type": "agent", "name": "default", "cluster_name": c.ClusterName, "metadata": map[string]any{},
		"default_compute_resource_pool": c.DefaultComputePool, "default_aux_resource_pool": c.DefaultAuxPool, "no_default_resource_pools": false,
		"require_authentication": false, "client_ca": "", "scheduler": scheduler()}
	shown := map[string]any{
		"resource_manager": manager, "additional_resource_managers": nil, "resource_pools": c.shownPools(),
		"checkpoint_storage": withoutKeys(c.CheckpointStorage), "task_container_defaults": withoutKeys(c.TaskContainerDefaults),
		"launch_error": false, // what asks for more slots than there are waits
		"cluster_name": c.ClusterName, "notebook_timeout": c.NotebookTimeout, "tensorboard_timeout": c.TensorboardTimeout,
		"log": map[string]any{"level": c.LogLevel, "color": false}, "logging": map[string]any{"type": "default"},
		"db": map[string]any{"url": store.Redact(c.Database), "max_open_conns": c.DatabaseConns}, "port": port(c.Listen), "root": "",
		"security": c.shownSecurity(), "feature_switches": []any{}, "reserved_ports": []any{}, "enable_cors": false, "ui_customization": nil,
		"telemetry":     map[string]any{"enabled": false, "segment_master_key": "", "segment_webui_key": "", "cluster_id": ""},
		"webhooks":      map[string]any{"base_url": c.PublicURL, "signing_key": ""},
		"scim":          map[string]any{"enabled": false},
		"saml":          map[string]any{"enabled": false},
		"oidc":          map[string]any{"enabled": false},
		"observability": map[string]any{"enable_prometheus": true},
		"cache":         map[string]any{"cache_dir": ""},
		// Logs are kept until somebody removes them.
		"retention_policy": map[string]any{"log_retention_days": nil, "schedule": nil},
		"integrations":     map[string]any{"pachyderm": map[string]any{"address": ""}},
		"__internal":       map[string]any{"audit_logging_enabled": false, "external_sessions": map[string]any{}, "proxied_servers": []any{}},
	}
	for key, value := range c.shownOwn() {
		shown[key] = value
	}
	return shown
}

// shownOwn are the keys that Determined does not have.
func (c Config) shownOwn() map[string]any {
	return map[string]any{"listen": c.Listen, "public_url": c.PublicURL, "task_urls": c.TaskURLs, "tasks_listen": c.TasksListen, "tasks_url": c.TasksURL,
		"tasks_domain": c.TasksDomain, "service_name": c.ServiceName, "blank_passwords": c.BlankPasswords, "shared_raw_exec": c.SharedRawExec,
		"s3_region": c.S3Region, "python": c.Python, "avoid_node_after": c.AvoidNodeAfter,
		"nomad":  map[string]any{"address": c.Nomad.Address, "namespace": c.Nomad.Namespace, "region": c.Nomad.Region, "datacenters": c.Nomad.Datacenters, "token": secret(c.Nomad.Token)},
		"consul": map[string]any{"address": c.Consul.Address, "token": secret(c.Consul.Token)},
		"vault":  map[string]any{"address": c.Vault.Address, "token": secret(c.Vault.Token)}}
}

func (c Config) shownPools() []any {
	pools := []any{}
	for _, p := range c.Pools {
		pools = append(pools, map[string]any{"pool_name": p.Name, "description": p.Description, "scheduler": scheduler(), "provider": nil,
			"max_aux_containers_per_agent": p.MaxAux, "task_container_defaults": withoutKeys(p.TaskContainerDefaults),
			"agent_reattach_enabled": true, "agent_reconnect_wait": "25s", "kubernetes_namespace": "", "max_cpu_containers_per_agent": 0,
			"node_pool": p.NodePool, "driver": p.Driver, "slots": p.Slots, "device": p.Device, "default_priority": p.Priority,
			"preemption": p.Preemption, "python": p.Python})
	}
	return pools
}

func (c Config) shownSecurity() map[string]any {
	return map[string]any{
		"default_task": map[string]any{"id": 0, "user_id": 0, "user": "root", "uid": 0, "group": "root", "gid": 0},
		"tls":          map[string]any{"cert": c.TLS.CertFile, "key": secret(c.TLS.KeyFile), "enabled": c.TLS.CertFile != ""},
		"ssh":          map[string]any{"key_type": "ED25519", "rsa_key_size": 0},
		"authz":        map[string]any{"type": "basic", "fallback": nil, "rbac_ui_enabled": nil, "workspace_creator_assign_role": nil, "strict_job_queue_control": false},
	}
}

// scheduler is ours in Determined's words: by priority, and by age within it.
func scheduler() map[string]any {
	return map[string]any{"type": "priority", "fitting_policy": "best", "default_priority": 42, "preemption": true, "allow_heterogeneous_fits": false}
}

func secret(s string) string {
	if s == "" {
		return ""
	}
	return hidden
}

// port is that of a listener's address.
func port(listen string) int {
	_, text, err := net.SplitHostPort(listen)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
