package server

import (
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// hidden replaces a secret.
const hidden = "********"

// redacted is the configuration that the API shows to admins: with the keys of Determined's
// master.yaml, which clients read, with defaults, and without secrets. Settings that only
// Detent has keep their own keys.
func (m *master) redacted() any {
	shown := m.cfg.shown()
	shown["log"] = m.shape.shown() // an administrator may have changed it
	return shown
}

func (c Config) shown() map[string]any {
	manager := map[string]any{"type": "agent", "name": "default", "cluster_name": c.ClusterName, "metadata": map[string]any{},
		"default_compute_resource_pool": c.DefaultComputePool, "default_aux_resource_pool": c.DefaultAuxPool, "no_default_resource_pools": false,
		"require_authentication": false, "client_ca": ""}
	for _, p := range c.Pools {
		if p.Name == c.DefaultComputePool {
			manager["scheduler"] = p.shownScheduler()
		}
	}
	shown := map[string]any{
		"resource_manager": manager, "additional_resource_managers": nil, "resource_pools": c.shownPools(),
		"checkpoint_storage": withoutKeys(c.CheckpointStorage), "task_container_defaults": withoutKeys(c.TaskContainerDefaults),
		"launch_error": c.LaunchError,
		"cluster_name": c.ClusterName, "notebook_timeout": c.NotebookTimeout, "tensorboard_timeout": c.TensorboardTimeout,
		"log": map[string]any{"level": c.LogLevel, "color": false}, "logging": map[string]any{"type": "default"},
		"db": map[string]any{"url": database.Redact(c.Database), "max_open_conns": c.DatabaseConns}, "port": port(c.Listen), "root": "",
		"security": c.shownSecurity(), "feature_switches": []any{}, "reserved_ports": []any{}, "enable_cors": false, "ui_customization": nil,
		"telemetry":        map[string]any{"enabled": false, "segment_master_key": "", "segment_webui_key": "", "cluster_id": ""},
		"scim":             ownKeys(reflect.ValueOf(c.SCIM)),
		"saml":             map[string]any{"enabled": false},
		"oidc":             map[string]any{"enabled": len(c.OIDC) > 0},
		"observability":    map[string]any{"enable_prometheus": true},
		"cache":            map[string]any{"cache_dir": ""},
		"retention_policy": map[string]any{"log_retention_days": c.Retention.LogDays, "schedule": c.Retention.Schedule},
		"integrations":     map[string]any{"pachyderm": map[string]any{"address": ""}},
		"__internal":       map[string]any{"audit_logging_enabled": true, "external_sessions": map[string]any{}, "proxied_servers": []any{}},
	}
	for key, value := range ownKeys(reflect.ValueOf(c)) {
		if _, there := shown[key]; !there { // keys of Determined have Determined's form
			shown[key] = value
		}
	}
	return shown
}

// ownKeys converts a section of the configuration to a map with the keys of the file, without
// secrets.
func ownKeys(part reflect.Value) map[string]any {
	shown := map[string]any{}
	for i := range part.NumField() {
		key, value := part.Type().Field(i).Tag.Get("yaml"), part.Field(i)
		shown[key] = ownValue(key, value)
	}
	return shown
}

// secretKeys are the last words of keys whose values are secrets.
var secretKeys = []string{"token", "password", "secret", "key"}

func ownValue(key string, value reflect.Value) any {
	words := strings.Split(key, "_")
	switch v := value.Interface().(type) {
	case Duration:
		return time.Duration(v).String()
	case string:
		switch key {
		case "database":
			return database.Redact(v)
		case "address":
			return withoutQuery(v)
		}
		if slices.Contains(secretKeys, words[len(words)-1]) {
			return secret(v)
		}
		return v
	}
	switch value.Kind() {
	case reflect.Struct:
		return ownKeys(value)
	case reflect.Slice:
		if value.Type().Elem().Kind() != reflect.Struct {
			return value.Interface()
		}
		list := make([]any, value.Len())
		for i := range list {
			list[i] = ownKeys(value.Index(i))
		}
		return list
	case reflect.Interface:
		return withoutKeys(value.Interface())
	}
	return value.Interface()
}

func (c Config) shownPools() []any {
	pools := []any{}
	for _, p := range c.Pools {
		shown := ownKeys(reflect.ValueOf(p))
		maps.Copy(shown, map[string]any{"pool_name": p.Name, "scheduler": p.shownScheduler(), "provider": nil,
			"agent_reattach_enabled": true, "agent_reconnect_wait": "25s", "kubernetes_namespace": "", "max_cpu_containers_per_agent": 0})
		pools = append(pools, shown)
	}
	return pools
}

func (c Config) shownSecurity() map[string]any {
	return map[string]any{
		"default_task": map[string]any{"id": 0, "user_id": 0, "user": "root", "uid": 0, "group": "root", "gid": 0},
		"tls":          map[string]any{"cert": c.TLS.CertFile, "key": secret(c.TLS.KeyFile), "enabled": c.TLS.CertFile != ""},
		"ssh":          map[string]any{"key_type": "ED25519", "rsa_key_size": 0},
		"authz":        map[string]any{"type": c.Security.Authz.Type, "fallback": nil, "rbac_ui_enabled": nil, "workspace_creator_assign_role": nil, "strict_job_queue_control": false},
	}
}

// withoutQuery is an address without its query, in which some receivers of log lines want a key.
func withoutQuery(address string) string {
	before, _, found := strings.Cut(address, "?")
	if !found {
		return address
	}
	return before + "?" + hidden
}

func secret(s string) string {
	if s == "" {
		return ""
	}
	return hidden
}

// port is the port of a listener's address.
func port(listen string) int {
	_, text, _ := net.SplitHostPort(listen)
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
