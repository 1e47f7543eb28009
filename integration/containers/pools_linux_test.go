package containers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// poolJobs are the jobs of the test's pools: one mounts a host volume into tasks, one offers a host volume that only some nodes have, and
// one runs tasks, also with several members, on Docker's bridge.
var poolJobs = map[string]string{
	"volume": `
job "volume" {
  constraint {
    attribute = "${meta.disk}"
    value     = "fast"
  }
  group "g" {
    volume "work" {
      type   = "host"
      source = "shared"
    }
    volume "offered" {
      type      = "host"
      source    = "shared"
      read_only = true
    }
    task "t" {
      driver = "docker"
      config {
        network_mode = "host"
        ulimit { nofile = "1234" }
      }
      env { FROM_THE_POOL = "yes" }
      volume_mount {
        volume      = "work"
        destination = "/scratch"
      }
      resources {
        cpu    = 200
        memory = 128
      }
      kill_timeout = "25s"
    }
  }
}`,
	"claims": `
job "claims" {
  group "g" {
    volume "dataset" {
      type   = "host"
      source = "dataset"
    }
    task "t" {
      driver = "docker"
      config { network_mode = "host" }
      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}`,
	"bridged": `
job "bridged" {
  group "g" {
    task "t" {
      driver = "docker"
      config { network_mode = "bridge" }
      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}`,
}

const poolJobsConfig = `
cluster_name: pool-jobs
blank_passwords: always
checkpoint_storage: {type: shared_fs, host_path: %[1]s/checkpoints}
resource_pools:
  - {name: volume, job: %[1]s/volume.nomad.hcl, max_slots_per_node: 4, task_container_defaults: {image: detent-test/python:1}, docker: {allowed_host_paths: [%[2]s, %[1]s/open]}}
  - {name: claims, job: %[1]s/claims.nomad.hcl, max_slots_per_node: 2, task_container_defaults: {image: detent-test/python:1}, docker: {allowed_host_paths: [%[2]s]}}
  - {name: bridged, job: %[1]s/bridged.nomad.hcl, max_slots_per_node: 2, task_container_defaults: {image: detent-test/python:1}, docker: {allowed_host_paths: [%[2]s]}}
`

// TestPoolJobs tests pools with jobs that operators wrote, on nodes with host volumes and without.
func TestPoolJobs(t *testing.T) {
	if !inOwnNetwork(t, findDocker) {
		return
	}
	var dir string
	d := onBridges(t, func(in string) local.Options {
		dir = in
		for name, job := range poolJobs {
			rig.Write(t, dir, name+".nomad.hcl", job)
		}
		for _, sub := range []string{"shared", "open", "dataset"} {
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, sub), 0o755), os.Chmod(filepath.Join(dir, sub), 0o777)); err != nil {
				t.Fatal(err)
			}
		}
		return local.Options{Name: "pool-jobs", Master: local.Master{Config: fmt.Sprintf(poolJobsConfig, dir, filepath.Dir(rig.PythonOf(t, "notebook")))},
			ExtraNomad: fmt.Sprintf("client {\n  host_volume \"shared\" {\n    path = %q\n  }\n  meta {\n    disk = \"fast\"\n  }\n}", filepath.Join(dir, "shared"))}
	})
	t.Run("a host volume", func(t *testing.T) { d.onAHostVolume(t, dir) })
	t.Run("what a pool does not offer", d.notOffered)
	t.Run("two bridged members", d.twoBridged)
	t.Run("a claim on two nodes", func(t *testing.T) { d.claimOnTwoNodes(t, dir) })
}

// onAHostVolume runs a trial with three mounts: a volume of its pool's job, and another volume
// and a folder of its environment.nomad.
func (d *inContainers) onAHostVolume(t *testing.T, dir string) {
	d.mayMount(t, "shared")
	rig.Write(t, filepath.Join(dir, "shared"), "given", "by the operators")
	id := d.Submit(t, rig.Config(fmt.Sprintf(`
resources: {resource_pool: volume, slots_per_trial: 1}
environment:
  nomad:
    constraints: [{attribute: "${attr.kernel.name}", value: linux}]
    meta: {team: vision}
    volumes: [{name: offered, container_path: /offered}]
    host_paths: [{host_path: %s/open, container_path: /open, read_only: true}]
`, dir)), rig.Script(`
import os, resource
from determined import core
assert open("/offered/given").read() == "by the operators"
open("/scratch/taken", "w").write("by the trial")
for path in ("/offered/x", "/open/x"):
    try:
        open(path, "w")
        raise SystemExit(path + " could be written")
    except OSError as e:
        print(path, e.strerror, flush=True)
print("limit", resource.getrlimit(resource.RLIMIT_NOFILE)[0], os.environ["FROM_THE_POOL"], flush=True)
with core.init() as context:
    context.train.report_validation_metrics(1, {"loss": 1.0})
`))
	d.WaitState(t, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "its log", d.Log(t, id), "/offered/x Read-only file system", "/open/x Read-only file system", "limit 1234 yes")
	if left, err := os.ReadFile(filepath.Join(dir, "shared", "taken")); err != nil || string(left) != "by the trial" {
		t.Errorf("on the node the volume holds %q: %v", left, err)
	}
}

// notOffered tests that the master rejects volumes and folders that the pool does not allow,
// and that a trial whose constraints no node meets waits, with the reason.
func (d *inContainers) notOffered(t *testing.T) {
	for overlay, want := range map[string]string{
		"volumes: [{name: secrets, container_path: /s}]":        "secrets is not a volume of this resource pool",
		"host_paths: [{host_path: /etc, container_path: /etc}]": "/etc is not allowed in this resource pool",
	} {
		text := rig.Config("resources: {resource_pool: volume}\nenvironment: {nomad: {" + overlay + "}}")
		if _, err := d.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &text}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", overlay, err, want)
		}
	}
	id := d.Submit(t, rig.Config(`resources: {resource_pool: volume}
environment: {nomad: {constraints: [{attribute: "${meta.disk}", value: slow}]}}`), rig.Script(""))
	rig.Eventually(t, "the reason why it waits", func() (bool, error) {
		why := d.Trial(t, id).WaitingReason
		return strings.Contains(why, "where environment.nomad.constraints are not met"), fmt.Errorf("the waiting reason is %q", why)
	})
	if out, err := d.Det(t, "experiment", "kill", strconv.Itoa(id)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d.WaitState(t, id, v1.ExperimentStateCanceled)
}

// twoBridged tests that two members of one attempt, on bridges of two nodes on one machine,
// can reach each other.
func (d *inContainers) twoBridged(t *testing.T) {
	if err := d.AddClient(t.Context(), local.Client{Name: "second"}); err != nil {
		t.Fatal(err)
	}
	id := d.Submit(t, rig.Config("resources: {resource_pool: bridged, slots_per_trial: 4}"), rig.Script(`
import socket
import determined
from determined import core

info = determined.get_cluster_info()
rank, size = info.container_rank, len(info.container_addrs)
distributed = core.DistributedContext(
    rank=rank, size=size, local_rank=0, local_size=1, cross_rank=rank, cross_size=size, chief_ip=info.container_addrs[0])
with core.init(distributed=distributed) as ctx:
    everybody = sorted(distributed.allgather((rank, socket.gethostbyname(socket.gethostname()))))
    print("rank", rank, "hears", everybody, flush=True)
    if rank == 0:
        ctx.train.report_validation_metrics(1, {"loss": float(len(everybody))})
`))
	d.WaitState(t, id, v1.ExperimentStateCompleted)
	said := regexp.MustCompile(`rank (\d) hears \[\(0, '([0-9.]+)'\), \(1, '([0-9.]+)'\)\]`).FindAllStringSubmatch(d.Log(t, id), -1)
	if len(said) != 2 || said[0][1] == said[1][1] || said[0][2] == said[0][3] || said[0][2] == nodeFour || said[0][3] == nodeFour {
		t.Fatalf("not both were heard, each from an address of its own on a bridge:\n%s", d.Log(t, id))
	}
}

// claimOnTwoNodes tests the claim of a pod_spec: its trial runs on the two nodes that have the volume, although others have slots too, and
// all members read and write it.
func (d *inContainers) claimOnTwoNodes(t *testing.T, dir string) {
	d.mayMount(t, "dataset")
	rig.Write(t, filepath.Join(dir, "dataset"), "given", "by the operators")
	for _, name := range []string{"one", "two"} {
		if err := d.AddClient(t.Context(), local.Client{Name: name, Volumes: map[string]string{"dataset": filepath.Join(dir, "dataset")}}); err != nil {
			t.Fatal(err)
		}
	}
	id := d.Submit(t, rig.Config(`
resources: {resource_pool: claims, slots_per_trial: 4}
environment:
  pod_spec:
    spec:
      volumes:
        - name: data
          persistentVolumeClaim:
            claimName: dataset
      containers:
        - name: determined-container
          volumeMounts:
            - mountPath: "/data"
              name: data
`), rig.Script(`
import determined
from determined import core

info = determined.get_cluster_info()
rank, size = info.container_rank, len(info.container_addrs)
assert open("/data/given").read() == "by the operators"
open(f"/data/rank-{rank}", "w").write(info.agent_id)
distributed = core.DistributedContext(
    rank=rank, size=size, local_rank=0, local_size=1, cross_rank=rank, cross_size=size, chief_ip=info.container_addrs[0])
with core.init(distributed=distributed) as ctx:
    distributed.allgather(rank)
    print("rank", rank, "reads", open(f"/data/rank-{1 - rank}").read(), flush=True)
    if rank == 0:
        ctx.train.report_validation_metrics(1, {"loss": 1.0})
`))
	d.WaitState(t, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "its log", d.Log(t, id), "rank 0 reads pool-jobs-", "rank 1 reads pool-jobs-")
	wrote := map[string]bool{}
	for _, name := range []string{"rank-0", "rank-1"} {
		node, err := os.ReadFile(filepath.Join(dir, "dataset", name))
		if err != nil {
			t.Error(err)
		}
		wrote[string(node)] = true
	}
	if !wrote["pool-jobs-one"] || !wrote["pool-jobs-two"] {
		t.Errorf("the volume has files of %v, want both nodes", wrote)
	}
}
