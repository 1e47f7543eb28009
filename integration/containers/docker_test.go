package containers

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/ssh"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// TestTasksInContainers runs tasks with Nomad's docker driver, on a Docker daemon that the
// test starts.
func TestTasksInContainers(t *testing.T) {
	d := startDocker(t)
	t.Run("trial", d.trialIsComplete)
	t.Run("files go", d.filesAreRemoved)
	t.Run("environment", d.taskEnvironment)
	t.Run("requests of the configuration", d.taskRequests)
	t.Run("account", d.account)
	t.Run("bare image", d.bareImage)
	t.Run("working directory", d.workingDirectory)
	t.Run("limits", d.limits)
	t.Run("links in what tasks mount", d.linksInMounts)
	t.Run("shell", d.shell)
	t.Run("homes", d.homes)
	t.Run("notebook", d.notebook)
	t.Run("registry", d.registry)
	t.Run("secrets of users", d.userSecrets)
	t.Run("out of memory", func(t *testing.T) {
		runsOutOfMemory(t, d.Rig, "[tail, /dev/zero]", "because it used more than 128", "resources: {resource_pool: tight}\n")
	})
	t.Run("Nomad's API", d.nomadsAPI)
	t.Run("an image that covers the runner", d.trap)
	t.Run("notices of clouds", d.cloudNotices)
	t.Run("kill", d.kill)
	t.Run("kill while an image is pulled", d.killWhilePulling)
	t.Run("runner is killed", d.runnerIsKilled)
	t.Run("master is killed", d.masterIsKilled)
}

// nomadsAPI tests that a program in a container can do nothing in Nomad: on the node's network, and with a health check
// of its image that would collect the identity of the task.
func (d *inContainers) nomadsAPI(t *testing.T) {
	err := d.docker.Import(t.Context(), "detent-test/checked", "1", bytes.NewReader(d.python), "ENV PATH=/usr/local/bin:/usr/bin:/bin",
		`HEALTHCHECK --interval=50ms CMD cat /proc/self/environ >/local/health`)
	if err != nil {
		t.Fatal(err)
	}
	if a := d.AttackNomad(t, "127.0.0.1", "  image: detent-test/checked:1\n"); a != (rig.Attack{Reached: 1, Rights: true}) {
		t.Errorf("the task found %+v; want no token, no socket, and Nomad on the network", a)
	}
}

// trap tests an image with a link to the folder of the allocation, and a volume behind the link, which Docker fills from the image: the image's
// program is not in the place of the runner.
func (d *inContainers) trap(t *testing.T) {
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	const evil = "#!/bin/sh\nsleep 1000\n"
	for _, h := range []tar.Header{{Name: "alloc/bin/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "x/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "x/y", Typeflag: tar.TypeSymlink, Linkname: "/alloc"}, {Name: "alloc/bin/det-runner", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(evil))}} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(evil)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); err != nil { // the other image's archive follows, with its end
		t.Fatal(err)
	}
	image.Write(d.python)
	if err := d.docker.Import(t.Context(), "detent-test/trap", "1", &image, "ENV PATH=/usr/local/bin:/usr/bin:/bin", "VOLUME /x/y/bin", "ENV DET_MASTERS_FILE=/etc/masters"); err != nil {
		t.Fatal(err)
	}
	if s := d.look(t, "environment: {image: detent-test/trap:1}\n"); !strings.HasPrefix(s.First, "/det-") {
		t.Errorf("the first process is %s", s.First)
	}
}

// trialIsComplete tests that all reports of a training in a container are stored exactly once,
// and that its checkpoints are in the node's folder.
func (d *inContainers) trialIsComplete(t *testing.T) {
	k := d.Train(t, d.training())
	k.Advance(t, 12)
	k.Finish(t)
	k.CheckWhole(t)
	list, err := client.List(t.Context(), k.Client, v1.ListTrialCheckpoints, client.Page{}, nil, k.TrialID)
	if err != nil || len(list) < 2 {
		t.Fatalf("%d checkpoints: %v", len(list), err)
	}
	for _, c := range list {
		if _, err := os.Stat(filepath.Join(d.dir, "checkpoints", c.UUID, "state")); err != nil {
			t.Errorf("checkpoint %s: %v", c.UUID, err)
		}
	}
	d.waitUntilEmpty(t)
}

// training returns options with a folder for the record that the container and the test share.
func (d *inContainers) training() rig.TrainOptions {
	open := filepath.Join(d.dir, "open")
	return rig.TrainOptions{Folder: open, More: fmt.Sprintf("bind_mounts: [{host_path: %[1]s, container_path: %[1]s}]\n", open)}
}

// waitUntilEmpty waits until no container is running.
func (d *inContainers) waitUntilEmpty(t *testing.T) {
	t.Helper()
	rig.Eventually(t, "all containers end", func() (bool, error) {
		list, err := d.docker.Containers(t.Context(), false)
		return len(list) == 0 && err == nil, errors.Join(fmt.Errorf("%v", list), err)
	})
}

// onlyContainer returns the container of the training that runs. The containers of tasks that ended before, or of
// the removal of their checkpoints, may take a moment to end.
func (d *inContainers) onlyContainer(t *testing.T) (only dockerd.Container) {
	t.Helper()
	rig.Eventually(t, "one container runs", func() (bool, error) {
		list, err := d.docker.Containers(t.Context(), false)
		if len(list) == 1 {
			only = list[0]
		}
		return len(list) == 1 && err == nil, errors.Join(fmt.Errorf("%v", list), err)
	})
	return only
}

func (d *inContainers) taskEnvironment(t *testing.T) {
	s := d.look(t, "")
	if s.UID != 0 || s.Cwd != "/run/determined/workdir" || s.Home != "/root" || s.Name != "root" {
		t.Errorf("the program runs as %d (%s) at home in %s, in %s", s.UID, s.Name, s.Home, s.Cwd)
	}
	if s.Shm != 96<<20 {
		t.Errorf("the task's /dev/shm has %d bytes, want those of the cluster's defaults", s.Shm)
	}
	if !strings.HasSuffix(s.First, "/det-runner") || s.Processes > 8 {
		t.Errorf("the first of %d processes is %s", s.Processes, s.First)
	}
	if s.Env["COLOUR"] != "blue" || s.Env["NOMAD_TOKEN"] != "" || s.Env["DET_RUN_DIR"] != "/run/determined" {
		t.Errorf("the task's environment has %v", s.Env)
	}
	if s.Env["NVIDIA_VISIBLE_DEVICES"] != "void" {
		t.Errorf("a task without GPUs gets the GPUs that its image requests: %q", s.Env["NVIDIA_VISIBLE_DEVICES"])
	}
	if !slices.Equal(s.Files, []string{"facts.py"}) {
		t.Errorf("the working directory contains %v", s.Files)
	}
	if s.Caps>>21&1 != 0 || s.Caps>>19&1 != 0 || s.Caps == 0 {
		t.Errorf("the program's capabilities are %x; want some, without SYS_ADMIN and SYS_PTRACE", s.Caps)
	}
	_, uuid, found := strings.Cut(s.log, "CHECKPOINT ")
	if !found {
		t.Fatalf("no checkpoint in the log:\n%s", s.log)
	}
	uuid, _, _ = strings.Cut(uuid, "\n")
	if text, err := os.ReadFile(filepath.Join(d.dir, "checkpoints", uuid, "state")); err != nil || string(text) != "one" {
		t.Errorf("the checkpoint contains %q: %v", text, err)
	}
}

func (d *inContainers) taskRequests(t *testing.T) {
	if err := os.WriteFile(filepath.Join(d.dir, "teams", "data", "words"), []byte("read me"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := d.look(t, fmt.Sprintf(`
resources: {shm_size: 48m, devices: [{host_path: /dev/full, container_path: /dev/overflow}]}
bind_mounts:
  - {host_path: %[1]s/teams/data, container_path: /data, read_only: true}
  - {host_path: %[1]s/teams/data, container_path: inputs/data}
environment:
  image: {cpu: detent-test/python:1, cuda: detent-test/nonesuch:1}
  environment_variables: ["SHAPE=round one", "WRITE=/data/new inputs/data/new /dev/overflow", "READ=/data/words inputs/data/words"]
  add_capabilities: [CAP_SYS_PTRACE]
  drop_capabilities: [NET_RAW, chown]
`, d.dir))
	if s.Shm != 48<<20 || s.Env["SHAPE"] != "round one" || s.Env["COLOUR"] != "blue" {
		t.Errorf("the task's /dev/shm has %d bytes, and its environment is %v", s.Shm, s.Env)
	}
	for what, want := range map[string]string{
		"read /data/words": "read me", "read inputs/data/words": "read me",
		"write /data/new": "Read-only file system", "write inputs/data/new": "", "write /dev/overflow": "",
	} {
		if got := s.tried(what); got != want {
			t.Errorf("%s gives %q, want %q", what, got, want)
		}
	}
	if s.Caps>>19&1 != 1 || s.Bound>>13&1 != 0 || s.Bound>>0&1 != 0 || s.Caps>>21&1 != 0 {
		t.Errorf("the program's capabilities are %x of %x; want SYS_PTRACE, and neither NET_RAW nor CHOWN", s.Caps, s.Bound)
	}
}

// asLinked signs in as a new user, who is linked to the account 1234:1235 on the nodes.
func (d *inContainers) asLinked(t *testing.T) *inContainers {
	t.Helper()
	owner := d.NewUser(t, "linked", "Passw0rd-of-linked")
	if out, err := d.detAs(t, "admin", "user", "link-with-agent-user", "--agent-uid", "1234", "--agent-gid", "1235",
		"--agent-user", "linked", "--agent-group", "lab", "linked"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	theirs := *d
	theirs.Rig = &rig.Rig{Cluster: d.Cluster, Description: d.Description, Client: owner, Dir: d.Dir, Bin: d.Bin, Root: d.Root}
	return &theirs
}

// account tests that tasks run under the account that their owner is linked to.
func (d *inContainers) account(t *testing.T) {
	theirs := d.asLinked(t)
	s := theirs.look(t, fmt.Sprintf(`
bind_mounts: [{host_path: %s/teams/data, container_path: inputs/data}]
environment: {environment_variables: ["WRITE=/usr/new /run/determined/new", "READ=inputs/data/words"]}
`, d.dir))
	if s.UID != 1234 || s.GID != 1235 || s.Name != "linked" || s.Home != s.Cwd || s.Caps != 0 || s.Closed != 1 {
		t.Errorf("the program runs as %d:%d (%s) at home in %s with capabilities %x, and may get no others: %d", s.UID, s.GID, s.Name, s.Home, s.Caps, s.Closed)
	}
	if s.tried("write /usr/new") == "" || s.tried("write /run/determined/new") != "" || s.tried("read inputs/data/words") != "read me" {
		t.Errorf("the program could read and write %v", s.raw)
	}
	_, uuid, _ := strings.Cut(s.log, "CHECKPOINT ")
	uuid, _, _ = strings.Cut(uuid, "\n")
	info, err := os.Stat(filepath.Join(d.dir, "checkpoints", uuid, "state"))
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 1234 || st.Gid != 1235 {
		t.Errorf("the checkpoint belongs to %+v", info.Sys())
	}
}

// bareImage tests that a task needs nothing of its image except its entrypoint's program.
func (d *inContainers) bareImage(t *testing.T) {
	s := d.look(t, "environment: {image: detent-test/bare:1}\n")
	if s.UID != 4321 || s.Cwd != "/run/determined/workdir" || s.Home != s.Cwd {
		t.Errorf("the program runs as %d at home in %s, in %s", s.UID, s.Home, s.Cwd)
	}
	id := d.Submit(t, "name: no shell\nentrypoint: python3 facts.py\nenvironment: {image: detent-test/bare:1}\nmax_restarts: 0\n"+
		"searcher: {name: single, metric: loss, max_length: {batches: 1}}\n", map[string]string{"facts.py": facts})
	d.fails(t, id)
	if log := d.Log(t, id); !strings.Contains(log, "/bin/sh does not exist") || !strings.Contains(log, "list of words") {
		t.Errorf("the log does not explain that the image has no shell:\n%s", log)
	}
}

// fails waits until an experiment has failed.
func (d *inContainers) fails(t *testing.T, id int) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("experiment %d fails", id), func() (bool, error) {
		e, err := client.Call(t.Context(), d.Client, v1.GetExperiment, id)
		if err != nil {
			return false, err
		}
		if s := e.Experiment.State; rig.Terminal(s) && s != v1.ExperimentStateError {
			t.Fatalf("experiment %d ended in %s", id, s)
		}
		return e.Experiment.State == v1.ExperimentStateError, fmt.Errorf("the experiment is in %s; attempts: %s", e.Experiment.State, d.attempts(t, id))
	})
}

// attempts describes an experiment's attempts, for messages of tests.
func (d *inContainers) attempts(t testing.TB, id int) string {
	return (&rig.Training{Rig: d.Rig, Experiment: id}).Attempts(t)
}

// workingDirectory tests that a command starts in its configured folder, with its code.
func (d *inContainers) workingDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "facts.py"), []byte(facts), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := d.Det(t, "command", "run", "--config", "work_dir=/srv/here", "--config", "resources.slots=0", "-c", dir, "python3", "facts.py")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i := strings.Index(out, "FACTS ")
	if i < 0 {
		t.Fatalf("no facts in\n%s", out)
	}
	if s := parseFacts(t, out[i:]); s.Cwd != "/srv/here" || !slices.Equal(s.Files, []string{"facts.py"}) {
		t.Errorf("the program starts in %s with %v", s.Cwd, s.Files)
	}
}

// limits tests that the master rejects requests that the pool does not allow, with a message
// about what is allowed.
func (d *inContainers) limits(t *testing.T) {
	for more, says := range map[string]string{
		"bind_mounts: [{host_path: /etc, container_path: /host}]":                                          d.dir + "/teams/*",
		"bind_mounts: [{host_path: " + d.dir + "/teams/../cluster, container_path: /host}]":                "not allowed",
		"bind_mounts: [{host_path: " + d.dir + ", container_path: /alloc/bin}]":                            "/alloc",
		"resources: {devices: [{host_path: /dev/kmsg, container_path: /dev/kmsg}]}":                        "/dev/full",
		"environment: {add_capabilities: [SYS_ADMIN]}":                                                     "SYS_PTRACE",
		"checkpoint_storage: {type: shared_fs, host_path: /root}":                                          "allowed_host_paths|not allowed",
		"environment: {registry_auth: {identitytoken: abc}}":                                               "username and password",
		"environment: {registry_auth: {auth: '!'}}":                                                        "base64",
		"bind_mounts: [{host_path: " + d.dir + "/cluster, container_path: /x}]\nresources: {shm_size: 1m}": "not allowed",
	} {
		why := d.refusedWith(t, more+"\n")
		if !slices.ContainsFunc(strings.Split(says, "|"), func(s string) bool { return strings.Contains(why, s) }) {
			t.Errorf("%s is rejected with %q, want one of %q in the message", more, why, says)
		}
	}
}

// linksInMounts tests that a link which a task makes in a mounted folder leads no other task out of its container,
// and that tasks only read what the pool does not open for writing.
func (d *inContainers) linksInMounts(t *testing.T) {
	rig.Write(t, d.dir, "of-the-node", "no task may read me")
	team := filepath.Join(d.dir, "teams", "data")
	program := `
import os
import determined
from determined import core

for name, target in (("all", "/"), ("up", "../.."), ("file", "` + d.dir + `/of-the-node")):
    if not os.path.lexists("/team/" + name):
        os.symlink(target, "/team/" + name)
for path in ("/team/all` + d.dir + `/of-the-node", "/team/up/of-the-node", "/team/file"):
    print("LINK", path, os.path.exists(path), flush=True)
for folder in ("/team", "/sets"):
    try:
        open(folder + "/new", "w").close()
        print("WROTE", folder, flush=True)
    except OSError as e:
        print("NOT WRITTEN", folder, e.strerror, flush=True)
with core.init() as context:
    context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 1.0})
`
	config := fmt.Sprintf("name: links\nentrypoint: [python3, links.py]\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\nmax_restarts: 0\n"+
		"bind_mounts: [{host_path: %s, container_path: /team}, {host_path: %s/sets/words, container_path: /sets}]\n", team, d.dir)
	for range 2 { // the second task finds the links of the first one
		id := d.Submit(t, config, map[string]string{"links.py": program})
		d.WaitState(t, id, v1.ExperimentStateCompleted)
		log := d.Log(t, id)
		rig.Holds(t, "its log", log, "WROTE /team", "NOT WRITTEN /sets Read-only file system", "LINK /team/all"+d.dir+"/of-the-node False", "LINK /team/up/of-the-node False", "LINK /team/file False")
	}
	if to, err := os.Readlink(filepath.Join(team, "all")); err != nil || to != "/" {
		t.Fatalf("the task's link leads to %q: %v", to, err)
	}
	for _, mount := range []string{
		"bind_mounts: [{host_path: %s/all, container_path: /host}]",
		"bind_mounts: [{host_path: %s/up, container_path: /host, read_only: true}]",
		"environment: {nomad: {host_paths: [{host_path: %s/all/etc, container_path: /host}]}}",
		"checkpoint_storage: {type: shared_fs, host_path: %s/all}",
	} {
		if why := d.refusedWith(t, fmt.Sprintf(mount, team)+"\n"); !strings.Contains(why, "mount "+team+", and use ") {
			t.Errorf("%s is rejected with %q", mount, why)
		}
	}
}

// registry tests images from registries: no output shows their credentials, and an image
// that cannot be pulled ends the experiment with the reason.
func (d *inContainers) registry(t *testing.T) {
	config := map[string]any{"Env": []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}
	open, private := newRegistry(t, nil, d.python, config), newRegistry(t, d.private, d.python, config)

	t.Run("open", func(t *testing.T) {
		image := open.host() + "/team/python:1"
		d.look(t, "environment: {image: '"+image+"'}\n")
		d.look(t, "environment: {image: '"+image+"'}\n")
		first := open.count("team/python")
		d.look(t, "environment: {image: '"+image+"', force_pull_image: true}\n")
		if forced := open.count("team/python"); forced <= first || first == 0 {
			t.Errorf("the registry got %d requests for the image, and %d more with force_pull_image", first, forced-first)
		}
	})
	t.Run("private", func(t *testing.T) { d.privateImage(t, private) })
	t.Run("the pool's credentials", func(t *testing.T) {
		d.poolsCredentials(t, private)
		d.look(t, "environment: {image: '"+open.host()+"/team/by-vault:1'}\nresources: {resource_pool: by-vault}\n")
		if open.count("team/by-vault") == 0 || open.told() {
			t.Errorf("another registry was asked %d times, and got credentials: %v", open.count("team/by-vault"), open.told())
		}
	})
	t.Run("wrong password", func(t *testing.T) {
		why := d.neverRuns(t, private.host()+"/team/other:1", fmt.Sprintf(", registry_auth: {username: %s, password: wrong}", private.name), "")
		if !strings.Contains(why, "nauthorized") && !strings.Contains(why, "authentication required") && !strings.Contains(why, "no basic auth") {
			t.Errorf("a wrong password ends the attempt with %q", why)
		}
	})
	t.Run("no such image", func(t *testing.T) {
		if why := d.neverRuns(t, open.host()+"/none/such:1", "", ""); !strings.Contains(why, "Failed to pull") || !strings.Contains(why, "manifest unknown") {
			t.Errorf("an image that does not exist ends the attempt with %q", why)
		}
	})
}

// neverRuns runs an experiment whose image cannot be pulled: it must end after one attempt,
// with the reason.
func (d *inContainers) neverRuns(t *testing.T, image, environment, more string) string {
	t.Helper()
	id := d.Submit(t, fmt.Sprintf("name: never runs\nentrypoint: [python3, facts.py]\nmax_restarts: 3\nenvironment: {image: '%s'%s}\n%s", image, environment, more)+
		"searcher: {name: single, metric: loss, max_length: {batches: 1}}\n", map[string]string{"facts.py": facts})
	d.fails(t, id)
	reasons, err := rig.Query(t, d.Rig, pgx.RowTo[string], `SELECT exit_reason FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1`, id)
	if err != nil || len(reasons) != 1 {
		t.Fatalf("attempts ended with %q, %v; want one", reasons, err)
	}
	rig.Eventually(t, "the log says why", func() (bool, error) {
		log := d.Log(t, id)
		return strings.Contains(log, "attempt 1 did not start: ") && strings.Contains(log, reasons[0]), errors.New(log)
	})
	return reasons[0]
}

// privateImage tests that registry credentials in a task's configuration reach the node, and
// that no job, no answer of the API and no environment contains them.
func (d *inContainers) privateImage(t *testing.T, g *registry) {
	config := fmt.Sprintf("name: private\nentrypoint: [python3, wait.py]\nmax_restarts: 0\nenvironment: {image: '%s/team/python:1', registry_auth: {username: %s, password: %s}}\n",
		g.host(), g.name, g.password) + "searcher: {name: single, metric: loss, max_length: {batches: 1}}\n"
	id := d.Submit(t, config, map[string]string{"wait.py": rig.Waiting})
	rig.Eventually(t, "it begins", func() (bool, error) {
		if e, err := client.Call(t.Context(), d.Client, v1.GetExperiment, id); err != nil || rig.Terminal(e.Experiment.State) {
			t.Fatalf("the experiment ended: %v; %s", err, d.attempts(t, id))
		}
		return strings.Contains(d.Log(t, id), "begins"), errors.New(d.attempts(t, id))
	})
	nomad, err := d.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	attempt := d.Allocation(t, id)
	job, _, err := nomad.Jobs().Info(jobspecs.JobID(attempt), nil)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := nomad.Variables().Read(jobspecs.VariablePath(attempt), nil)
	if err != nil || v.Items["password"] != g.password {
		t.Errorf("the Nomad variable of the job is %v: %v", v, err)
	}
	e, err := client.Call(t.Context(), d.NewUser(t, "reader", "Passw0rd-of-reader"), v1.GetExperiment, id) // not as the owner, who may see the credentials
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]any{"the job": job, "the API's answer to others": e}
	only := d.onlyContainer(t)
	if seen["the container"], err = d.docker.Inspect(t.Context(), only.ID); err != nil {
		t.Fatal(err)
	}
	for what, v := range seen {
		if text, err := json.Marshal(v); err != nil || strings.Contains(string(text), g.password) {
			t.Errorf("the password is in %s, or it cannot be encoded: %v", what, err)
		}
	}
	d.End(t, id)
	if strings.Contains(d.Log(t, id), g.password) {
		t.Error("the password is in the log")
	}
	d.otherJobsMayNot(t, nomad, attempt)
}

// otherJobsMayNot tests that no other job may read the variable with the credentials.
func (d *inContainers) otherJobsMayNot(t *testing.T, nomad *api.Client, attempt string) {
	t.Helper()
	token, _, err := nomad.ACLTokens().Create(&api.ACLToken{Name: "nobody", Type: "client", Policies: []string{"none"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	config := *api.DefaultConfig()
	config.Address, config.SecretID = d.NomadURL, token.SecretID
	stranger, err := api.NewClient(&config)
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := stranger.Variables().Read(jobspecs.VariablePath(attempt), nil); err == nil {
		t.Errorf("a token without rights reads the variable of an attempt: %v", v.Path)
	}
}

// shell tests a shell in a container: its SSH server is the runner's, and the image has none.
func (d *inContainers) shell(t *testing.T) {
	made, err := client.Send(t.Context(), d.Client, v1.CreateShell, v1.LaunchShellRequest{Config: v1.Struct(`{"resources":{"slots":0}}`)})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Shell.ID
	rig.Eventually(t, "the shell is ready", func() (bool, error) {
		task, err := d.Client.Task(t.Context(), id)
		return err == nil && slices.ContainsFunc(task.Allocations, func(a v1.Allocation) bool { return a.IsReady }), err
	})
	key, err := ssh.ParsePrivateKey([]byte(made.Shell.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.Client.DialTask(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c, channels, requests, err := ssh.NewClientConn(conn, id, &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	login := ssh.NewClient(c, channels, requests)
	defer login.Close()
	session, err := login.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.CombinedOutput("python3 -c 'import os; print(os.getuid(), os.readlink(\"/proc/self/exe\"), os.environ[\"COLOUR\"])'")
	if err != nil || !strings.HasPrefix(string(out), "0 /usr/local/bin/python3") || !strings.HasSuffix(strings.TrimSpace(string(out)), " blue") {
		t.Errorf("a command in the shell prints %q: %v", out, err)
	}
	if err := client.Act(t.Context(), d.Client, v1.KillShell, id); err != nil {
		t.Error(err)
	}
	d.waitUntilEmpty(t)
}

func (d *inContainers) kill(t *testing.T) {
	k := d.Train(t, d.training())
	d.onlyContainer(t)
	d.End(t, k.Experiment)
	d.waitUntilEmpty(t)
	checkLogOrder(t, k)
}

// runnerIsKilled tests that all processes of a container end with its first, the runner, and
// that the master reads the rest of the log on the node.
func (d *inContainers) runnerIsKilled(t *testing.T) {
	k := d.Train(t, d.training())
	only := d.onlyContainer(t)
	var c struct{ State struct{ Pid int } }
	raw, err := d.docker.Inspect(t.Context(), only.ID)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(c.State.Pid)
	if err == nil {
		err = id.Kill(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	d.fails(t, k.Experiment)
	d.waitUntilEmpty(t)
	if log := d.Log(t, k.Experiment); !strings.Contains(log, "ended without a report") {
		t.Errorf("the trial's log ends with\n%s", log[max(0, len(log)-500):])
	}
	checkLogOrder(t, k)
}

// masterIsKilled tests that a training continues and loses no reports.
func (d *inContainers) masterIsKilled(t *testing.T) {
	k := d.Train(t, d.training())
	d.Kill9(t, "master")
	k.Advance(t, 20)
	d.Healthy(t)
	k.Finish(t)
	k.CheckWhole(t)
	d.waitUntilEmpty(t)
}

// checkLogOrder checks that the numbered log lines of a killed training are complete up to the
// last one, and in order.
func checkLogOrder(t *testing.T, k *rig.Training) {
	t.Helper()
	next := 1
	for line := range strings.Lines(k.Log(t, k.Experiment)) {
		var run, step int
		_, text, _ := strings.Cut(line, "|| ")
		if n, _ := fmt.Sscanf(text, "run %d step %d\n", &run, &step); n != 2 {
			continue
		}
		if step != next {
			t.Fatalf("step %d follows step %d in its log", step, next-1)
		}
		next++
	}
	if next < 3 {
		t.Errorf("the trial's log has %d steps", next-1)
	}
}

// detAs runs det as a user with a blank password.
func (d *inContainers) detAs(t *testing.T, user string, args ...string) (string, error) {
	t.Helper()
	out, errs, code := d.Run(t, []string{"DET_MASTER=" + d.MasterURL, "DET_USER=" + user, "DET_PASS="}, args...)
	if code != 0 {
		return out + errs, fmt.Errorf("exit code %d", code)
	}
	return out, nil
}

// filesAreRemoved tests the removal of checkpoint files by a task in an image, under the account that
// wrote the files.
func (d *inContainers) filesAreRemoved(t *testing.T) {
	id := d.Submit(t, rig.Collecting, rig.CollectingFiles(t))
	d.WaitState(t, id, v1.ExperimentStateCompleted)
	uuids := d.Become(t, id, "1 DELETED, 2 COMPLETED, 3 COMPLETED, 4 COMPLETED")
	for steps, gone := range map[int]bool{1: true, 2: false} {
		if _, err := os.Stat(filepath.Join(d.dir, "checkpoints", uuids[steps])); os.IsNotExist(err) != gone {
			t.Errorf("checkpoint %d: %v", steps, err)
		}
	}
	if err := client.Act(t.Context(), d.Client, v1.DeleteExperiment, id); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "the end of the experiment", func() (bool, error) {
		e, err := client.Call(t.Context(), d.Client, v1.GetExperiment, id)
		if err == nil {
			err = fmt.Errorf("the experiment is %s: %s", e.Experiment.State, e.Experiment.Error)
		}
		return fault.Is(err, fault.NotFound), err
	})
	if _, err := os.Stat(filepath.Join(d.dir, "checkpoints", uuids[2])); !os.IsNotExist(err) {
		t.Errorf("the best checkpoint: %v", err)
	}
	d.waitUntilEmpty(t)
}
