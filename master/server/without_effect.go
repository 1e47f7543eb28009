package server

import "fmt"

// withoutEffect names the keys of Determined that a configuration may have although nothing here reads them, each with what has its effect.
func (c *Config) withoutEffect() []string {
	out := idleDefaults("task_container_defaults", c.TaskContainerDefaults)
	for i, p := range c.Pools {
		out = append(out, idleDefaults(fmt.Sprintf("resource_pools[%d].task_container_defaults", i), p.TaskContainerDefaults)...)
	}
	return out
}

func idleDefaults(at string, section any) (out []string) {
	d, err := parseTaskDefaults(section)
	if err != nil {
		return nil // check says so
	}
	say := func(key string, set bool, instead string) {
		if set {
			out = append(out, fmt.Sprintf("%s.%s has no effect: %s", at, key, instead))
		}
	}
	const (
		pods  = "no task is a pod of Kubernetes. The job of a pool has volumes, mounts and limits (docs/operate/pools.md), and pod_labels and pod_limits translate environment.pod_spec of users"
		batch = "no task is a job of Slurm or PBS. environment.nomad has constraints and affinities"
		ports = "the libraries choose free ports of the node themselves"
	)
	say("cpu_pod_spec", d.CPUPodSpec != nil, pods)
	say("gpu_pod_spec", d.GPUPodSpec != nil, pods)
	say("checkpoint_gc_pod_spec", d.CheckpointGCPodSpec != nil, pods)
	say("slurm", d.Slurm != nil, batch)
	say("pbs", d.PBS != nil, batch)
	say("nccl_port_range", d.NCCLPortRange != nil, ports)
	say("gloo_port_range", d.GlooPortRange != nil, ports)
	return out
}
