// Package topology is resources.prefer_gpu_topology, a field of the public fork of Determined (0.42). It is pure. Detent chooses linked GPUs for every task
// (docs/scheduling.md, link groups), which is what the fork's soft asks for; it has no counterpart for strong, which waits for GPUs of one NUMA node.
package topology

import "fmt"

// Problem says what is wrong with the value of a task with so many slots; message is "" if nothing is.
func Problem(v any, slots int) (message, hint string) {
	switch v {
	case nil, false, "soft":
		return "", ""
	case "strong":
		if slots < 2 {
			return "", ""
		}
		return "strong is not supported: a task gets GPUs of one link group where one has enough that are free, and does not wait for that",
			"soft is what every task here has"
	}
	return fmt.Sprintf(`expected false, "soft" or "strong", found %.40v`, v), ""
}

// Unknown explains a key of the fork's agents in the resources of a configuration.
func Unknown(name string) (message, hint string, ok bool) {
	if name != "exclude_gpus" {
		return "", "", false
	}
	return "is a key of an agent in Determined's public fork", "ignored_gpu_ids of det-gpu on the node excludes GPUs (docs/gpu.md)", true
}
