package security

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
)

const attackedConfig = `
cluster_name: attacked
checkpoint_storage: {type: directory, container_path: %s}
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 128}
  - {name: jail, driver: exec, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 256, python: %s}
`

// TestTasksDoNotUseNomad: programs of tasks reach Nomad's API over the node's network, and find neither a token for it nor its socket.
// The same is tested for docker and podman in integration/containers, and with an identity for the object store in
// integration/storage.
func TestTasksDoNotUseNomad(t *testing.T) {
	t.Parallel()
	system, err := rig.FindSystemPython(t.Context())
	if err != nil {
		t.Skip(err)
	}
	r, dir := rig.NewOwn(t, "attacked")
	r.StartCluster(t, dir, local.Options{Name: "attacked", Chroot: system.Chroot,
		Master: local.Master{Config: fmt.Sprintf(attackedConfig, "/tmp", system.Path)}})
	for _, pool := range []string{"default", "jail"} {
		t.Run(pool, func(t *testing.T) {
			if a := r.AttackNomad(t, "127.0.0.1", "resources: {resource_pool: "+pool+"}\n"); a != (rig.Attack{Reached: 1, Rights: pool == "default"}) {
				t.Errorf("the task found %+v; want no token, no socket, and Nomad on the network, and rights only under raw_exec", a)
			}
		})
	}
}
