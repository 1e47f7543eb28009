package server

import (
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/store"
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
		t.Errorf("the API is told %+v, %+v", a.Idle, a.Pools)
	}
	_, err = load(t, "tensorboard_timeout: -1\nresource_pools: [{name: a, python: python3}]\n", env, nil)
	for _, want := range []string{"tensorboard_timeout", "resource_pools[0].python: expected the whole path"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

// What shows pages needs more memory than a small program.
func TestMemoryOfTasks(t *testing.T) {
	cfg, err := load(t, "resource_pools: [{name: a, aux_memory_mb: 300, memory_mb_per_slot: 400}]", []string{"DETENT_DATABASE=postgres://a/b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &master{cfg: cfg, pools: poolsOf(t, cfg)}
	for _, c := range []struct {
		kind        string
		slots, want int
	}{{"COMMAND", 0, 300}, {"SHELL", 0, 300}, {"NOTEBOOK", 0, 1024}, {"TENSORBOARD", 0, 1024}, {"NOTEBOOK", 1, 1024}, {"NOTEBOOK", 4, 1600}, {"TRIAL", 1, 400}} {
		got, err := m.member(&m.pools[0], store.ToSubmit{TaskType: c.kind}, store.LiveMember{SlotIDs: make([]int32, c.slots)})
		if err != nil || got.MemoryMB != c.want {
			t.Errorf("a %s of %d slots gets %d MB, want %d", c.kind, c.slots, got.MemoryMB, c.want)
		}
	}
}
