package server

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/store"
)

// TestWhereFilesAreRemoved: in the pool for tasks without slots, unless that might not see them.
func TestWhereFilesAreRemoved(t *testing.T) {
	const shared, bucket = `{"type":"shared_fs","host_path":"/data"}`, `{"type":"s3","bucket":"b","prefix":"1"}`
	for _, c := range []struct{ aux, own, storage, want string }{
		{"raw_exec", "raw_exec", shared, "aux"}, {"raw_exec", "docker", shared, "aux"}, {"raw_exec", "exec", bucket, "aux"},
		{"exec", "raw_exec", shared, "gpu"}, {"exec", "docker", bucket, "aux"},
		{"docker", "raw_exec", shared, "gpu"}, {"docker", "docker", shared, "gpu"}, {"docker", "exec", bucket, "gpu"},
		{"docker", "", shared, "aux"}, // its pool is no more
	} {
		m := &master{cfg: Config{DefaultAuxPool: "aux", Pools: []PoolConfig{{Name: "other", Driver: "raw_exec"}, {Name: "aux", Driver: c.aux}}}}
		if c.own != "" {
			m.cfg.Pools = append(m.cfg.Pools, PoolConfig{Name: "gpu", Driver: c.own})
		}
		got, err := m.collectIn(store.Stored{Pool: "gpu", Config: fmt.Appendf(nil, `{"name":"x","reproducibility":{"experiment_seed":1},"checkpoint_storage":%s}`, c.storage)})
		if err != nil || got != c.want {
			t.Errorf("aux %s, its own %q, %s: %s %v, want %s", c.aux, c.own, c.storage, got, err, c.want)
		}
	}
}

// TestStorageOfARemoval: a task that removes files signs in to its experiment's storage as the trials do.
func TestStorageOfARemoval(t *testing.T) {
	config := []byte(`{"name":"x","reproducibility":{"experiment_seed":1},"checkpoint_storage":{"type":"s3","bucket":"b","prefix":"vision/12"}}`)
	for taskType, want := range map[string]int{jobspecs.CheckpointGC: 1, "COMMAND": 0} {
		list, err := storagesOf(store.ToSubmit{TaskType: taskType, Config: config})
		if err != nil || len(list) != want {
			t.Errorf("%s: %+v %v", taskType, list, err)
		}
	}
	a, err := asksOf(store.ToSubmit{TaskType: jobspecs.CheckpointGC, Config: []byte(`{"name":"x","reproducibility":{"experiment_seed":1},"checkpoint_storage":{"type":"shared_fs","host_path":"/data"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if mounts := containerMounts(a, nil); len(mounts) != 1 || mounts[0].Source != "/data" || mounts[0].Create {
		t.Errorf("in an image it sees %+v; a storage that is not there would be made", mounts)
	}
}
