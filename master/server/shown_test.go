package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestConfigurationHasDeterminedsKeys: clients of Determined index these.
func TestConfigurationHasDeterminedsKeys(t *testing.T) {
	c := Defaults()
	c.Database, c.Nomad.Token, c.Consul.Token, c.Vault.Token = "postgres://me:sesame1@host/db", "sesame2", "sesame3", "sesame4"
	c.CheckpointStorage = map[string]any{"type": "s3", "bucket": "b", "access_key": "sesame5", "secret_key": "sesame6"}
	c.TaskContainerDefaults = map[string]any{"startup_hook": "true", "registry_auth": map[string]any{"username": "u", "password": "sesame7"}}
	c.Pools = []PoolConfig{{Name: "a", TaskContainerDefaults: map[string]any{"environment_variables": []any{"A=b"}}}, {Name: "b"}}
	c.fill()
	text, err := json.Marshal(c.shown())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "sesame") {
		t.Errorf("it shows a secret: %s", text)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	lacks := func(what string, m map[string]any, keys string) {
		for _, key := range strings.Fields(keys) {
			if _, there := m[key]; !there {
				t.Errorf("%s has no key %s", what, key)
			}
		}
	}
	lacks("the configuration", got, `resource_manager additional_resource_managers resource_pools checkpoint_storage task_container_defaults
		launch_error feature_switches cluster_name tensorboard_timeout notebook_timeout log db security telemetry logging webhooks scim saml oidc
		retention_policy reserved_ports observability port root cache enable_cors ui_customization integrations __internal`)
	lacks("resource_manager", got["resource_manager"].(map[string]any), "type scheduler default_aux_resource_pool default_compute_resource_pool cluster_name")
	pools := got["resource_pools"].([]any)
	if len(pools) != 2 {
		t.Fatalf("%d pools", len(pools))
	}
	for _, p := range pools {
		lacks("a pool", p.(map[string]any), "pool_name description task_container_defaults scheduler max_aux_containers_per_agent agent_reattach_enabled agent_reconnect_wait")
	}
	if s := got["checkpoint_storage"].(map[string]any); s["type"] != "s3" || s["bucket"] != "b" || s["access_key"] != hidden {
		t.Errorf("checkpoint_storage: %v", s)
	}
	if pools[1].(map[string]any)["task_container_defaults"] != nil || got["port"] != 8080.0 || got["tensorboard_timeout"] != 300.0 {
		t.Errorf("%s", text)
	}
	for key := range got {
		if strings.ToLower(key) != key || slices.Contains([]string{"pools"}, key) {
			t.Errorf("key %s is Go's", key)
		}
	}
}

func TestPythonOfPools(t *testing.T) {
	c := Defaults()
	c.Python = "/py/bin/python3"
	c.Pools = []PoolConfig{{Name: "a"}, {Name: "b", Python: "/own/python3"}, {Name: "c", Driver: "docker"}}
	c.fill()
	if c.Pools[0].Python != "/py/bin/python3" || c.Pools[1].Python != "/own/python3" || c.Pools[2].Python != "" {
		t.Errorf("%+v", c.Pools)
	}
	c.Python = "python3"
	if problems := strings.Join(c.check(), "\n"); !strings.Contains(problems, "python: expected the whole path") {
		t.Errorf("problems: %s", problems)
	}
}
