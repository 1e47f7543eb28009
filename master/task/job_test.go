package task

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

const checkpoint = "0190b5a5-0000-4000-8000-000000000001"

// TestCredentialsInAJob: a task that reads or writes object storage gets a Vault role, which
// allows only what such a task does.
func TestCredentialsInAJob(t *testing.T) {
	s3, folder := stored(t, "{type: s3, bucket: b, prefix: '7'}"), stored(t, "{type: shared_fs, host_path: /x}")
	keys := stored(t, "{type: s3, bucket: c, prefix: '1', access_key: a, secret_key: s}")
	other := stored(t, "{type: s3, bucket: c, prefix: '1'}")
	warm := checkpoint
	own := []Location{{"b", "7"}}
	source := []Location{{"c", "1/" + checkpoint}}
	for name, c := range map[string]struct {
		row    Row
		grants Grants
	}{
		"trial in S3":                  {Row{TrialID: 1, Config: s3}, Grants{Write: own}},
		"trial in a folder":            {Row{TrialID: 1, Config: folder}, Grants{}},
		"command":                      {Row{Type: "COMMAND"}, Grants{}},
		"TensorBoard of both":          {Row{Type: Tensorboard, Shows: []ShownTrial{{ExperimentID: 1, Config: folder}, {ExperimentID: 2, Config: s3}, {ExperimentID: 2, Config: s3}}}, Grants{Read: own}},
		"TensorBoard of the folder":    {Row{Type: Tensorboard, Shows: []ShownTrial{{ExperimentID: 1, Config: folder}}}, Grants{}},
		"removal":                      {Row{Type: Removal, Config: s3}, Grants{Delete: own}},
		"source in S3":                 {Row{TrialID: 1, Config: folder, WarmStart: &warm, WarmConfig: other}, Grants{Read: source}},
		"both in S3":                   {Row{TrialID: 1, Config: s3, WarmStart: &warm, WarmConfig: other}, Grants{Write: own, Read: source}},
		"source with keys of its own":  {Row{TrialID: 1, Config: folder, WarmStart: &warm, WarmConfig: keys}, Grants{}},
		"warm start of the same place": {Row{TrialID: 1, Config: s3, WarmStart: &warm}, Grants{Write: own}},
	} {
		s := site()
		job, err := s.Job(read(t, c.row), nil, processes())
		if err != nil {
			t.Fatal(name, err)
		}
		if !reflect.DeepEqual(job.Grants, c.grants) {
			t.Errorf("%s: its role allows %+v, want %+v", name, job.Grants, c.grants)
		}
		needs := !reflect.DeepEqual(c.grants, Grants{})
		if got := job.Credentials; (got != nil) != needs || needs && (got.Role != "det-task" || got.Engine != "aws") {
			t.Errorf("%s: it signs in with %+v", name, got)
		}
		s.SignIn = SignIn{WebIdentity: WebIdentity{RoleARN: "arn:x", Audience: "sts"}}
		if job, err = s.Job(read(t, c.row), nil, processes()); err != nil || (job.Credentials != nil) != needs || needs && job.Credentials.Audience != "sts" {
			t.Errorf("%s: with an identity it signs in with %+v: %v", name, job.Credentials, err)
		}
	}
}

// TestIngressOfAJob: an ingress reaches tasks that offer HTTP to users, and no others.
func TestIngressOfAJob(t *testing.T) {
	ports := func(list string) string {
		return `{"description": "d", "entrypoint": ["true"], "environment": {"proxy_ports": ` + list + `}}`
	}
	for name, c := range map[string]struct {
		kind, config string
		want         bool
	}{
		"notebook": {Notebook, anyCommand, true}, "TensorBoard": {Tensorboard, anyCommand, true}, "shell": {Shell, anyCommand, false}, "command": {"COMMAND", anyCommand, false},
		"command with a page":     {"COMMAND", ports(`[{"proxy_port": 80, "proxy_tcp": true}, {"proxy_port": 81}]`), true},
		"command with bytes":      {"COMMAND", ports(`[{"proxy_port": 80, "proxy_tcp": true}]`), false},
		"what removes has no own": {Removal, "", false},
	} {
		row := Row{Type: c.kind, TaskID: "1.Abc"}
		if c.config == "" {
			row.Config = stored(t, "{type: shared_fs, host_path: /x}")
		} else {
			row.TaskConfig = []byte(c.config)
		}
		s := site()
		s.Ingress = &Ingress{Ingress: jobspecs.Ingress{AuthURL: "http://m/ingress"}, Host: func(id string) string { return strings.ToLower(id) + ".example.com" }}
		job, err := s.Job(read(t, row), nil, processes())
		if err != nil {
			t.Fatal(name, err)
		}
		if (job.Ingress != nil) != c.want || c.want && (job.Ingress.Host != "1.abc.example.com" || job.Ingress.AuthURL != "http://m/ingress") {
			t.Errorf("%s: %+v", name, job.Ingress)
		}
		if s.Ingress = nil; c.want {
			if job, err = s.Job(read(t, row), nil, processes()); err != nil || job.Ingress != nil {
				t.Errorf("%s, without an ingress: %+v %v", name, job.Ingress, err)
			}
		}
	}
}

// TestSecretsInAJob: a task that reads or writes Google's or Azure's storage may read the secret
// for it in Vault, in addition to a role for S3 if it needs one.
func TestSecretsInAJob(t *testing.T) {
	s3, gcs := stored(t, "{type: s3, bucket: b, prefix: '7'}"), stored(t, "{type: gcs, bucket: b}")
	azure := stored(t, "{type: azure, container: c, account_url: 'https://u'}")
	keyed := stored(t, "{type: azure, container: c, connection_string: AccountName=x}")
	all := []ShownTrial{{ExperimentID: 1, Config: s3}, {ExperimentID: 2, Config: gcs}, {ExperimentID: 3, Config: azure}}
	for name, c := range map[string]struct {
		row  Row
		want *jobspecs.Credentials
	}{
		"trial with Google":           {Row{TrialID: 1, Config: gcs}, &jobspecs.Credentials{Role: "det-task", GCSSecret: "kv/data/gcs"}},
		"removal with Azure":          {Row{Type: Removal, Config: azure}, &jobspecs.Credentials{Role: "det-task", AzureSecret: "kv/data/azure"}},
		"trial with a key of its own": {Row{TrialID: 1, Config: keyed}, nil},
		"TensorBoard of all":          {Row{Type: Tensorboard, Shows: all}, &jobspecs.Credentials{Role: "det-task", Engine: "aws", GCSSecret: "kv/data/gcs", AzureSecret: "kv/data/azure"}},
	} {
		s := site()
		s.SignIn.Vault.GCSSecret, s.SignIn.Vault.AzureSecret = "kv/data/gcs", "kv/data/azure"
		job, err := s.Job(read(t, c.row), nil, processes())
		if err != nil {
			t.Fatal(name, err)
		}
		if !reflect.DeepEqual(job.Credentials, c.want) {
			t.Errorf("%s: it signs in with %+v, want %+v", name, job.Credentials, c.want)
		}
		if n := len(job.Grants.Write) + len(job.Grants.Delete); n > 0 {
			t.Errorf("%s: a role in S3 allows %+v", name, job.Grants)
		}
	}
}

// TestWhatCannotBeRead: the error names the object whose configuration is damaged.
func TestWhatCannotBeRead(t *testing.T) {
	warm := checkpoint
	for want, row := range map[string]Row{
		"the configuration of experiment 7: ":               {ExperimentID: 7, TrialID: 1, Config: []byte("{")},
		"the configuration of task c: ":                     {TaskID: "c", Type: "COMMAND", TaskConfig: []byte("{")},
		"the experiment of checkpoint " + checkpoint + ": ": {TrialID: 1, Config: completed(t, ""), WarmStart: &warm, WarmConfig: []byte("{")},
		"the configuration of experiment 3: ":               {Type: Tensorboard, TaskConfig: []byte(anyCommand), Shows: []ShownTrial{{ExperimentID: 3, Config: []byte("{")}}},
	} {
		if _, err := Read(row); err == nil || len(err.Error()) <= len(want) || err.Error()[:len(want)] != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestSlotShare: a job requests the part of the node that its slots need, and all slots fit.
func TestSlotShare(t *testing.T) {
	gpu := pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu", CoresPerSlot: 4}
	own := gpu
	own.MemoryMBPerSlot = 500
	machine := func(slots int) Node {
		return Node{Cores: 16, MHz: 40000, FreeMHz: 40000, FreeMemoryMB: 128000, FreeSlots: slots}
	}
	busy := machine(1)
	busy.FreeMemoryMB, busy.FreeMHz = 64000, 8000
	for name, c := range map[string]struct {
		pool        pool.Slots
		node        Node
		memory, mhz int
	}{
		"GPUs share the node":      {gpu, machine(2), 56000, 10000},
		"others hold a part":       {gpu, busy, 56000, 7000},
		"the pool says how much":   {own, machine(2), 500, 10000},
		"cores":                    {pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 4, MemoryMBPerSlot: 2000}, machine(4), 2000, 8750},
		"few cores of many":        {pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 32000}, machine(4), 32000, 2500},
		"as many as the pool says": {pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 512, PerNode: 4}, machine(4), 512, 100},
		"more than the node has":   {pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 512, PerNode: 500}, machine(500), 512, 70},
		"a node that is not known": {gpu, Node{}, 1024, 400},
	} {
		t.Run(name, func(t *testing.T) {
			memory, mhz := slotShare(c.pool, c.node)
			if memory != c.memory || mhz != c.mhz {
				t.Errorf("a slot is %d MB and %d MHz, want %d and %d", memory, mhz, c.memory, c.mhz)
			}
		})
	}
}

// TestMemoryThatATaskAsksFor: resources.memory applies on each node.
func TestMemoryThatATaskAsksFor(t *testing.T) {
	of := processes()
	of.Slots = pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu"}
	on := Placed{SlotIDs: []int{0}, Node: Node{Cores: 16, MHz: 40000, FreeMHz: 40000, FreeMemoryMB: 128000, FreeSlots: 2}}
	for more, want := range map[string]int{"": 56000, "resources: {memory: 100GiB}": 100 << 10, "resources: {memory: 67108865}": 65} {
		s := site()
		job, err := s.Job(read(t, Row{TrialID: 1, Config: completed(t, more)}), []Placed{on, on}, of)
		if err != nil || len(job.Members) != 2 || job.Members[1].MemoryMB != want {
			t.Errorf("with %q the job has %+v, want %d MB: %v", more, job.Members, want, err)
		}
	}
}

// TestProcessorsThatATaskAsksFor: resources.cpus applies on each node: as MHz of its cores, and as whole cores where the
// pool gives those.
func TestProcessorsThatATaskAsksFor(t *testing.T) {
	node := Node{Cores: 16, MHz: 40000, FreeMHz: 40000, FreeMemoryMB: 128000, FreeSlots: 2}
	for _, c := range []struct {
		more       string
		slots      int
		whole      bool
		mhz, cores int
	}{{"", 2, false, 5000, 0}, {"resources: {cpus: 3}", 2, false, 7500, 0}, {"resources: {cpus: 0.5}", 1, false, 1250, 0}, {"resources: {cpus: 0.5}", 0, false, 1250, 0},
		{"", 2, true, 5000, 2}, {"resources: {cpus: 2.5}", 1, true, 7500, 3}} {
		of := processes()
		of.Slots = pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 400, WholeCores: c.whole}
		a := read(t, Row{TrialID: 1, Config: completed(t, c.more)})
		if got := (Placed{SlotIDs: make([]int, c.slots), Node: node}).member(&a, of); got.MHz != c.mhz || got.Cores != c.cores {
			t.Errorf("%q with %d slots: %d MHz and %d cores, want %d and %d", c.more, c.slots, got.MHz, got.Cores, c.mhz, c.cores)
		}
	}
}

// TestMemoryOfTasks: tasks with pages need more memory than a small program.
func TestMemoryOfTasks(t *testing.T) {
	of := &pool.Pool{Driver: pool.RawExec, AuxMemoryMB: 300, Slots: pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 400}}
	for _, c := range []struct {
		kind        string
		slots, want int
	}{{"COMMAND", 0, 300}, {Shell, 0, 300}, {Notebook, 0, 1024}, {Tensorboard, 0, 1024}, {Notebook, 1, 1024}, {Notebook, 4, 1600}, {"COMMAND", 1, 400}} {
		a := read(t, Row{Type: c.kind})
		if got := (Placed{SlotIDs: make([]int, c.slots)}).member(&a, of); got.MemoryMB != c.want {
			t.Errorf("a %s of %d slots gets %d MB, want %d", c.kind, c.slots, got.MemoryMB, c.want)
		}
	}
}

// TestTwoRolesOfVault: a task signs in to Vault with one role. If its checkpoints need that
// role, the master reads the registry's credentials for the job.
func TestTwoRolesOfVault(t *testing.T) {
	folder, s3 := "{type: shared_fs, host_path: /x}", "{type: s3, bucket: b}"
	for name, c := range map[string]struct {
		storage string
		vault   bool
		role    string
		login   bool
	}{
		"no checkpoints in S3":   {folder, true, "det-registry", false},
		"another role":           {s3, true, "det-registry", true},
		"the same role":          {s3, true, "det-task", false},
		"an identity of Nomad's": {s3, false, "det-registry", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, of := site(), images()
			if !c.vault {
				s.SignIn = SignIn{WebIdentity: WebIdentity{RoleARN: "arn:x", Audience: "sts"}}
			}
			of.Containers.Registry = pool.Registry{VaultPath: "kv/data/registry", VaultRole: c.role, Server: "docker.io"}
			job, err := s.Job(read(t, Row{ID: "1.t.1", TrialID: 1, Config: stored(t, c.storage)}), nil, of)
			if err != nil {
				t.Fatal(err)
			}
			r := job.Container.Registry
			if c.login != (r.Provider == jobspecs.SecretsInNomad) || c.login != (job.Login == "kv/data/registry") {
				t.Errorf("credentials are at %+v, and the master reads %q", r, job.Login)
			}
		})
	}
}

// TestCredentialsStayWithTheirRegistry: users choose images, and the driver sends credentials to the registry of the image.
func TestCredentialsStayWithTheirRegistry(t *testing.T) {
	for server, sent := range map[string]bool{"registry.example": false, "evil.example": true} {
		for _, own := range []string{"", ", registry_auth: {username: u, password: p, serveraddress: " + server + "}"} {
			of := images()
			of.Containers.Registry = pool.Registry{VaultPath: "kv/data/registry", VaultRole: "det-registry", Server: server}
			config := completed(t, "checkpoint_storage: {type: shared_fs, host_path: /x}\nenvironment: {image: evil.example/torch:2"+own+"}\n")
			s := site()
			job, err := s.Job(read(t, Row{ID: "1.t.1", TrialID: 1, Config: config}), nil, of)
			if err != nil {
				t.Fatal(err)
			}
			if got := job.Container.Registry != nil || len(job.Variables) > 0; got != sent {
				t.Errorf("credentials for %s are sent for %s: %v (the task has: %q)", server, job.Container.Image, got, own)
			}
		}
	}
}

// TestWhatARemovalSees: a removal sees the storage as the trials did. It does not create a missing folder.
func TestWhatARemovalSees(t *testing.T) {
	s := site()
	a := read(t, Row{Type: Removal, ExperimentID: 1, Config: stored(t, "{type: shared_fs, host_path: /data}")})
	job, err := s.Job(a, nil, images())
	if err != nil {
		t.Fatal(err)
	}
	if m := job.Container.Mounts; len(m) != 1 || m[0].Source != "/data" || m[0].Create {
		t.Errorf("in an image it sees %+v", m)
	}
	spec, err := s.Spec(a, Claimed{Remaining: Remaining{Checkpoints: []Remainder{{UUID: checkpoint, Known: 3}}, Events: true}}, processes())
	if err != nil || len(spec.BindMounts) != 1 || spec.BindMounts[0].Create || spec.Collect.Events == "" || len(spec.Collect.Checkpoints) != 1 ||
		spec.Collect.Checkpoints[0].Globs == nil {
		t.Errorf("the runner's spec has %+v, %+v: %v", spec.BindMounts, spec.Collect, err)
	}
	w := Sweep{Since: time.Unix(1, 0), Until: time.Unix(2, 0)}
	spec, err = s.Spec(a, Claimed{Remaining: Remaining{Sweep: &w}}, processes())
	if got := spec.Collect.Sweep; err != nil || got == nil || !got.Since.Equal(w.Since) || !got.Until.Equal(w.Until) || spec.Collect.Events != "" {
		t.Errorf("a sweep has %+v: %v", spec.Collect, err)
	}
}

// TestWhatATensorboardSees: a TensorBoard sees the folders of its trials. They are in its job if the
// driver mounts them, and in its specification if the runner does.
func TestWhatATensorboardSees(t *testing.T) {
	s, trial := site(), 4
	a := read(t, Row{Type: Tensorboard, TaskID: "tb", Shows: []ShownTrial{{ExperimentID: 1, TrialID: &trial, Config: stored(t, "{type: shared_fs, host_path: /data}")}}})
	job, err := s.Job(a, nil, images())
	if err != nil || len(job.Container.Mounts) != 1 || job.Container.Mounts[0].Source != "/data" {
		t.Errorf("in an image it sees %+v: %v", job.Container, err)
	}
	spec, err := s.Spec(a, Claimed{}, processes())
	if err != nil || len(spec.BindMounts) != 1 || spec.BindMounts[0].HostPath != "/data" || spec.Gateway.BasePath != "/proxy/tb/" {
		t.Errorf("the runner's spec has %+v, %+v: %v", spec.BindMounts, spec.Gateway, err)
	}
	tight, wide, exec := images(), images(), processes()
	tight.Limits = &expconf.ContainerLimits{HostPaths: []string{"/scratch"}}
	wide.Limits = &expconf.ContainerLimits{HostPaths: []string{"/data"}}
	exec.Driver = pool.Exec
	if _, err := s.Job(a, nil, tight); err == nil || !strings.Contains(err.Error(), "/data") || !strings.Contains(err.Error(), "/scratch") {
		t.Errorf("in a pool where that folder is closed: %v", err)
	}
	if _, err := s.Job(a, nil, exec); err == nil || !strings.Contains(err.Error(), "shared_fs") {
		t.Errorf("in a pool without shared folders: %v", err)
	}
	if _, err := s.Job(a, nil, wide); err != nil {
		t.Errorf("in a pool where it is open: %v", err)
	}
}

// TestWhereFilesAreRemoved: files are removed in the pool for tasks without slots, unless its tasks may not see the files.
func TestWhereFilesAreRemoved(t *testing.T) {
	const shared, bucket = "{type: shared_fs, host_path: /data}", "{type: s3, bucket: b, prefix: '1'}"
	for _, c := range []struct{ aux, own, storage, want string }{
		{pool.RawExec, pool.RawExec, shared, "aux"}, {pool.RawExec, pool.Docker, shared, "aux"}, {pool.RawExec, pool.Exec, bucket, "aux"},
		{pool.Exec, pool.RawExec, shared, "gpu"}, {pool.Exec, pool.Docker, bucket, "aux"},
		{pool.Docker, pool.RawExec, shared, "gpu"}, {pool.Docker, pool.Docker, shared, "gpu"}, {pool.Docker, pool.Exec, bucket, "gpu"},
		{pool.Docker, "", shared, "aux"}, // its pool is no more
	} {
		pools := pool.Set{{Name: "other", Driver: pool.RawExec}, {Name: "aux", Driver: c.aux, Aux: true}}
		if c.own != "" {
			pools = append(pools, pool.Pool{Name: "gpu", Driver: c.own})
		}
		a := read(t, Row{Type: Removal, Config: stored(t, c.storage)})
		if got := RemovalPool(pools, "gpu", a.Experiment.CheckpointStorage); got != c.want {
			t.Errorf("aux %s, its own %q, %s: %s, want %s", c.aux, c.own, c.storage, got, c.want)
		}
	}
}

// TestDevice: job and specification choose values for the same kind of device.
func TestDevice(t *testing.T) {
	s, of := site(), images()
	of.Slots = pool.Slots{Kind: pool.DeviceSlots, Device: "amd/gpu"}
	config := completed(t, "environment: {image: {cpu: c, cuda: n, rocm: a}, environment_variables: {cpu: [X=c], cuda: [X=n], rocm: [X=a]}}")
	for slots, want := range map[int]string{0: "c", 2: "a"} {
		a := read(t, Row{TrialID: 1, Slots: slots, Config: config})
		job, err := s.Job(a, nil, of)
		if err != nil || job.Container.Image != want {
			t.Errorf("%d slots run in %+v: %v", slots, job.Container, err)
		}
		spec, err := s.Spec(a, Claimed{SlotIDs: make([]int, slots)}, of)
		if err != nil || spec.Env["X"] != want {
			t.Errorf("%d slots have the variable %q: %v", slots, spec.Env["X"], err)
		}
	}
}
