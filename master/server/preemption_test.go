package server

import "testing"

const signalPools = `
database: postgres://a/b
checkpoint_storage: {type: shared_fs, host_path: /mnt/checkpoints}
task_container_defaults: {preemption: {grace: 90s}}
resource_pools:
  - {name: slurm, driver: raw_exec, task_container_defaults: {preemption: {signal: SIGUSR1}}}
  - {name: plain, driver: raw_exec}
`

// TestPreemptionOfAPool: the cluster and a pool say how programs are preempted whose configurations do not.
func TestPreemptionOfAPool(t *testing.T) {
	cfg, err := load(t, signalPools, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ pool, more, want string }{
		{"slurm", "", "SIGUSR1 1m30s"},
		{"plain", "", " 1m30s"},
		{"slurm", "preemption: {grace: 5s}", "SIGUSR1 5s"},
		{"slurm", "preemption: {signal: SIGTERM}", "SIGTERM 1m30s"},
	} {
		e := attempt(t, cfg, c.pool, c.more).Experiment
		if got := e.PreemptionSignal() + " " + e.PreemptionGrace().String(); got != c.want {
			t.Errorf("%q in pool %s: %q, want %q", c.more, c.pool, got, c.want)
		}
	}
}
