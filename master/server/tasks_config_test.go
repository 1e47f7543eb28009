package server

import (
	"strings"
	"testing"
	"time"
)

func TestSettingsOfInteractiveTasks(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	cfg, err := load(t, "notebook_timeout: 3600\nresource_pools:\n  - {name: a, python: /opt/py/bin/python3, aux_memory_mb: 512}\n  - {name: b}\n", env,
		[]string{"tensorboard_timeout=60"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.NotebookTimeout != 3600 || cfg.TensorboardTimeout != 60 || cfg.Pools[0].Python != "/opt/py/bin/python3" || cfg.Pools[0].AuxMemoryMB != 512 ||
		cfg.Pools[1].AuxMemoryMB != 256 || Defaults().TensorboardTimeout != 300 || Defaults().NotebookTimeout != 0 {
		t.Errorf("%+v", cfg)
	}
	m := &master{cfg: cfg, pools: poolsOf(t, cfg)}
	a, err := m.apiConfig()
	if err != nil {
		t.Fatal(err)
	}
	if a.Idle.Notebook != time.Hour || a.Idle.Tensorboard != time.Minute || a.Pools[0].Python != "/opt/py/bin/python3" || a.Pools[1].Python != "" {
		t.Errorf("the API's settings are %+v, %+v", a.Idle, a.Pools)
	}
	_, err = load(t, "tensorboard_timeout: -1\nresource_pools: [{name: a, python: python3}]\n", env, nil)
	for _, want := range []string{"tensorboard_timeout", "resource_pools[0].python: expected the absolute path"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}
