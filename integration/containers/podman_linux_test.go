package containers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
)

// podmanJob is the job of a pool with Podman. It sets resource limits, because containers
// without own limits fail to start on a machine that may not raise them.
const podmanJob = `
job "podman" {
  constraint {
    attribute = "${attr.driver.podman.version}"
    operator  = "version"
    value     = ">= 4.0"
  }
  group "g" {
    volume "work" {
      type   = "host"
      source = "shared"
    }
    task "t" {
      driver = "podman"
      config {
        network_mode = "host"
        ulimit {
          nofile = "1234:4096"
          nproc  = "4096:4096"
        }
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
}`

const podmanConfig = `
cluster_name: podman
checkpoint_storage: {type: shared_fs, host_path: %[1]s/checkpoints}
resource_pools:
  - {name: default, job: %[1]s/podman.nomad.hcl, max_slots_per_node: 4, homes: %[1]s/homes, task_container_defaults: {image: detent-test/python:1},
     docker: {allowed_host_paths: ['%[1]s/open:rw', '%[1]s/teams/*:rw'], allowed_devices: [/dev/full], allowed_capabilities: [SYS_PTRACE]}}
`

// TestTasksUnderPodman runs tasks with Nomad's driver for Podman, on a Podman service that the
// test starts.
func TestTasksUnderPodman(t *testing.T) {
	rig.Long(t)
	d := startPodman(t)
	t.Run("trial", d.underPodman)
	t.Run("Nomad's API", d.nomadUnderPodman)
	t.Run("account", d.accountUnderPodman)
	t.Run("command", d.commandUnderPodman)
	t.Run("homes", d.homesUnderPodman)
	t.Run("out of memory", func(t *testing.T) {
		runsOutOfMemory(t, d.Rig, "[tail, /dev/zero]", "because it used more than 128", "")
		d.waitUntilEmpty(t)
	})
	t.Run("kill", d.kill)
	t.Run("agent is killed", d.agentIsKilled)
}

// startPodman starts a cluster whose nodes have Podman. Without Podman, the test is skipped.
func startPodman(t *testing.T) *inContainers {
	t.Helper()
	dir, err := os.MkdirTemp("", "detent-podman-")
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"", "open", "teams", "teams/data", "shared", "checkpoints", "homes", "homes/2"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, sub), 0o755), os.Chmod(filepath.Join(dir, sub), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	podman, err := dockerd.Start(t.Context(), dockerd.Options{Dir: filepath.Join(dir, "cluster", "podman"), Podman: true, Reporter: servers.NewReporter(os.Stderr)})
	if errors.Is(err, dockerd.ErrNone) {
		t.Skip(errors.Join(err, os.RemoveAll(dir)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), rig.Patience)
		defer cancel()
		if err := podman.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	r := &rig.Rig{Root: root, Dir: dir, Bin: rig.Programs(t)}
	rig.Write(t, dir, "podman.nomad.hcl", podmanJob)
	r.StartCluster(t, dir, local.Options{Name: "podman", ConsulACL: true, Podman: &local.Containers{Socket: podman.Socket, Stop: podman.Stop}, Master: local.Master{Config: fmt.Sprintf(podmanConfig, dir)},
		ExtraNomad: fmt.Sprintf("client {\n  host_volume \"shared\" {\n    path = %q\n  }\n}", filepath.Join(dir, "shared"))})
	d := &inContainers{Rig: r, dir: dir, docker: podman}
	d.mayMount(t, "shared")
	d.images(t)
	return d
}

// mayMount gives the master the right to start jobs with a host volume, as operators do.
func (d *inContainers) mayMount(t *testing.T, volume string) {
	t.Helper()
	nomad, err := d.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	_, err = nomad.ACLPolicies().Upsert(&api.ACLPolicy{
		Name: "volumes", Rules: fmt.Sprintf(`host_volume %q { capabilities = ["mount-readwrite"] }`, volume),
		JobACL: &api.JobACL{Namespace: api.DefaultNamespace, JobID: "det-master"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// underPodman tests that a training finds the volumes and variables of its pool and its
// configuration, and that its reports and its checkpoint are stored.
func (d *inContainers) underPodman(t *testing.T) {
	if err := os.WriteFile(filepath.Join(d.dir, "teams", "data", "words"), []byte("read me"), 0o644); err != nil {
		t.Fatal(err)
	}
	id := d.Submit(t, rig.Config(fmt.Sprintf(`
resources: {devices: [{host_path: /dev/full, container_path: /dev/overflow}]}
bind_mounts: [{host_path: %[1]s/teams/data, container_path: /data, read_only: true}]
environment:
  add_capabilities: [SYS_PTRACE]
  environment_variables: ["WRITE=/data/new /scratch/taken /dev/overflow /alloc/bin/new", "READ=/data/words"]
`, d.dir)), rig.Script(facts+`
import resource
print("limits", resource.getrlimit(resource.RLIMIT_NOFILE), os.environ["FROM_THE_POOL"], flush=True)
`))
	d.WaitState(t, id, v1.ExperimentStateCompleted)
	s := parseFacts(t, d.Log(t, id))
	rig.Holds(t, "its log", s.log, "limits (1234, 4096) yes")
	if s.UID != 0 || s.Cwd != "/run/determined/workdir" || s.Home != "/root" || !strings.HasSuffix(s.First, "/det-runner") || s.Processes > 8 {
		t.Errorf("the program runs as %d at home in %s, in %s, beside %d processes of which the first is %s", s.UID, s.Home, s.Cwd, s.Processes, s.First)
	}
	if s.Env["NOMAD_TOKEN"] != "" || s.Env["NVIDIA_VISIBLE_DEVICES"] != "void" {
		t.Errorf("the task's environment has %v", s.Env)
	}
	for what, want := range map[string]string{"read /data/words": "read me", "write /data/new": "Read-only file system", "write /scratch/taken": "",
		"write /dev/overflow": "", "write /alloc/bin/new": "Read-only file system"} {
		if got := s.tried(what); got != want {
			t.Errorf("%s gives %q, want %q", what, got, want)
		}
	}
	if s.Caps>>19&1 != 1 || s.Caps>>21&1 != 0 {
		t.Errorf("the program's capabilities are %x; want SYS_PTRACE without SYS_ADMIN", s.Caps)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "shared", "taken")); err != nil {
		t.Errorf("what it wrote to the host volume: %v", err)
	}
	list, err := client.List(t.Context(), d.Client, v1.ListTrialCheckpoints, client.Page{}, nil, d.Trial(t, id).ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d checkpoints: %v", len(list), err)
	}
	if text, err := os.ReadFile(filepath.Join(d.dir, "checkpoints", list[0].UUID, "state")); err != nil || string(text) != "one" {
		t.Errorf("the checkpoint contains %q: %v", text, err)
	}
	d.waitUntilEmpty(t)
}

// nomadUnderPodman tests that a program in a container can do nothing in Nomad.
func (d *inContainers) nomadUnderPodman(t *testing.T) {
	if a := d.AttackNomad(t, "127.0.0.1", ""); a != (rig.Attack{Reached: 1, Rights: true}) {
		t.Errorf("the task found %+v; want no token, no socket, and Nomad on the network", a)
	}
}

// accountUnderPodman tests that tasks run under the account that their owner is linked to.
func (d *inContainers) accountUnderPodman(t *testing.T) {
	s := d.asLinked(t).look(t, "")
	if s.UID != 1234 || s.GID != 1235 || s.Name != "linked" || s.Home != s.Cwd || s.Caps != 0 {
		t.Errorf("the program runs as %d:%d (%s) at home in %s with capabilities %x", s.UID, s.GID, s.Name, s.Home, s.Caps)
	}
}

// commandUnderPodman tests the output and the exit status of a command.
func (d *inContainers) commandUnderPodman(t *testing.T) {
	out, err := d.Det(t, "cmd", "run", "--config", "resources.slots=0", "sh", "-c", `echo in $DET_TASK_TYPE on podman; exit 7`)
	if err == nil {
		t.Error("a command that failed is a success")
	}
	rig.Holds(t, "what it says", out, "in COMMAND on podman", "ended with status 7")
	d.waitUntilEmpty(t)
}

// agentIsKilled tests that a training continues while the Nomad agent of its node is killed,
// and that the restarted agent reports its end.
func (d *inContainers) agentIsKilled(t *testing.T) {
	k := d.Train(t, d.training())
	d.Kill9(t, "client")
	d.StartPart(t, "client")
	k.Advance(t, 5)
	k.Finish(t)
	k.CheckWhole(t)
	d.waitUntilEmpty(t)
}
