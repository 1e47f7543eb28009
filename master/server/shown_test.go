package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
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
		t.Errorf("the configuration shows a secret: %s", text)
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

// marked sets each field below v to a different value, and returns the expected value for each key:
// the field's value, or the mask of a secret.
func marked(t *testing.T, v reflect.Value, at string, want map[string]string) {
	t.Helper()
	for i := range v.NumField() {
		key, f := strings.TrimPrefix(at+"."+v.Type().Field(i).Tag.Get("yaml"), "."), v.Field(i)
		text := fmt.Sprintf("sesame-%d", len(want))
		switch {
		case f.Type() == reflect.TypeFor[Duration]():
			f.SetInt(int64(time.Duration(len(want)+1) * time.Second))
			text = time.Duration(f.Int()).String()
		case f.Kind() == reflect.Struct:
			marked(t, f, key, want)
			continue
		case f.Kind() == reflect.String && key == "database":
			text = "postgres://me:sesame@host/db"
			f.SetString(text)
			text = "postgres://me:…@host/db"
		case f.Kind() == reflect.String:
			f.SetString(text)
			// Whoever adds a secret adds it here: these are all that the file can have.
			if slices.Contains([]string{"initial_password", "nomad.token", "nomad.regions.0.token", "consul.token", "vault.token", "webhooks.signing_key", "log_sinks.0.token", "identity_providers.0.client_secret", "scim.auth.token", "scim.auth.password"}, key) {
				text = hidden
			}
		case f.Kind() == reflect.Int:
			f.SetInt(int64(1000 + len(want)))
			text = fmt.Sprint(f.Int())
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
			text = "true"
		case f.Type() == reflect.TypeFor[[]string]():
			f.Set(reflect.ValueOf([]string{text}))
			text = "[" + text + "]"
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			marked(t, f.Index(0), key+".0", want)
			continue
		case f.Type() == reflect.TypeFor[map[string]float64]():
			f.Set(reflect.ValueOf(map[string]float64{text: 2}))
			text = fmt.Sprintf("map[%s:2]", text)
		case f.Type() == reflect.TypeFor[map[string]string]():
			f.Set(reflect.ValueOf(map[string]string{"a": text}))
			text = "map[a:" + text + "]"
		case f.Type() == reflect.TypeFor[*bool]():
			f.Set(reflect.ValueOf(new(bool)))
			text = "false"
		case f.Kind() == reflect.Interface:
			f.Set(reflect.ValueOf(map[string]any{"note": text, "password": "sesame"}))
			text = fmt.Sprint(map[string]any{"note": text, "password": hidden})
		default:
			t.Fatalf("%s is of a kind that this test does not know: %s", key, f.Type())
		}
		want[key] = text
	}
}

// TestTheWholeConfigurationIsShown: every key that the file can have is shown with its
// value, and secrets are hidden, in the pools as well.
func TestTheWholeConfigurationIsShown(t *testing.T) {
	var c Config
	want := map[string]string{}
	marked(t, reflect.ValueOf(&c).Elem(), "", want)
	text, err := json.Marshal(c.shown())
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var got any
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	for key, value := range want {
		part := got
		for word := range strings.SplitSeq(key, ".") {
			switch p := part.(type) {
			case map[string]any:
				part = p[word]
			case []any:
				part = p[0]
			}
		}
		if fmt.Sprint(part) != value {
			t.Errorf("%s is %v, want %s", key, part, value)
		}
	}
	if strings.Contains(string(text), `"sesame"`) || strings.Contains(string(text), ":sesame@") {
		t.Errorf("the configuration shows a secret: %s", text)
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
	if problems := strings.Join(c.check(), "\n"); !strings.Contains(problems, "python: expected the absolute path") {
		t.Errorf("problems: %s", problems)
	}
}
