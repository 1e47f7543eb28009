package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// Notebooks, shells and TensorBoards: the calls of users, and the specs of runners.

// begin gives a task an attempt whose runner has passed the gate.
func (r *rig) begin(task string) *attempt {
	r.t.Helper()
	a := &attempt{r: r, task: task, id: task + ".1"}
	a.put(1)
	return a.claimAll(1)
}

// everyKind starts one of each and returns the paths of the nouns.
func everyKind(t *testing.T, me as) map[string]string {
	t.Helper()
	exp := me.create(yaml(), `"activate":true`)
	me.r.trial(exp, 0)
	ids := map[string]string{}
	for noun, body := range map[string]string{"command": `{"config":{"entrypoint":["x"]}}`, "notebook": `{"files":[` + modelFile("a.ipynb", "{}") + `]}`,
		"shell": `{"data":"e30="}`, "tensorboard": fmt.Sprintf(`{"experimentIds":[%d]}`, exp)} {
		ids[noun] = at(t, me.post("/api/v1/"+noun+"s", body).ok().tree(), noun+".id").(string)
	}
	return ids
}

func TestEveryKindOfTask(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	title := map[string]string{"command": "Command (", "notebook": "JupyterLab (", "shell": "Shell (", "tensorboard": "TensorBoard ("}
	for noun, id := range everyKind(t, me) {
		list, path := "/api/v1/"+noun+"s", "/api/v1/"+noun+"s/"+id
		got := eve.get(path).ok().tree()
		requireKeys(t, noun, got[noun], "description", "id", "jobId", "resourcePool", "startTime", "state", "username", "workspaceId")
		if d := at(t, got, noun+".description").(string); !strings.HasPrefix(d, title[noun]) || at(t, got, noun+".state") != "STATE_QUEUED" {
			t.Errorf("%s: %v", noun, got)
		}
		if address := got[noun].(map[string]any)["serviceAddress"]; (noun == "notebook" || noun == "tensorboard") != (address == "/proxy/"+id+"/") {
			t.Errorf("%s: its address is %v", noun, address)
		}
		if n := at(t, me.get(list+"?users=determined").ok().tree(), "pagination.total"); n != 1.0 {
			t.Errorf("%s: %v of them", noun, n)
		}
		if n := at(t, me.get(list+"?users=eve").ok().tree(), "pagination.total"); n != 0.0 {
			t.Errorf("%s: eve has %v", noun, n)
		}
		if kind := at(t, me.get("/api/v1/tasks/"+id).ok().tree(), "task.taskType"); kind != "TASK_TYPE_"+strings.ToUpper(noun) {
			t.Errorf("%s is a %v", noun, kind)
		}
		eve.post(path+"/kill", "").says(403, "eve", "change", noun)
		eve.post(path+"/set_priority", `{"priority":1}`).says(403, "eve")
		me.post(path+"/set_priority", `{"priority":100}`).says(400, "priority")
		if got := at(t, me.post(path+"/set_priority", `{"priority":7}`).ok().tree(), noun+".id"); got != id {
			t.Errorf("set_priority of %s: %v", noun, got)
		}
		for other := range title {
			if other != noun {
				me.get("/api/v1/"+other+"s/"+id).says(404, other, id)
			}
		}
		if s := at(t, admin.post(path+"/kill", "").ok().tree(), noun+".state"); s != "STATE_TERMINATING" {
			t.Errorf("a killed %s is %v", noun, s)
		}
		me.post(path+"/kill", "").ok()
		live, err := rows.LoadLive(t.Context(), r.db, rows.Known{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range live.Tasks {
			if k.ID == id && (k.KillReason != "killed by admin" || k.Priority != 7) {
				t.Errorf("%s: killed because %q, priority %d", noun, k.KillReason, k.Priority)
			}
		}
	}
	counts := me.get("/api/v1/tasks/count").ok().tree()
	for noun := range title {
		if counts[noun+"s"] != 1.0 {
			t.Errorf("%v %ss are counted", counts[noun+"s"], noun)
		}
	}
}

func TestLaunchingNotebooks(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Idle = launch.IdleTimeouts{Notebook: time.Hour} })
	me := r.user("determined")
	preview := me.post("/api/v1/notebooks", `{"preview":true,"config":{"description":"d","idle_timeout":"30m"},"templateName":null,"workspaceId":null}`).ok().tree()
	if at(t, preview, "notebook.id") != "" || at(t, preview, "config.idle_timeout") != "30m0s" || at(t, preview, "notebook.description") != "d" {
		t.Errorf("preview: %v", preview)
	}
	if n := at(t, me.get("/api/v1/notebooks").ok().tree(), "pagination.total"); n != 0.0 {
		t.Errorf("a preview made %v notebooks", n)
	}
	got := me.post("/api/v1/notebooks", `{"config":{"resources":{"slots":2},"entrypoint":["mine"],"tensorboard_args":["--x"]}}`).ok().tree()
	if at(t, got, "config.idle_timeout") != "1h0m0s" || at(t, got, "config.resources.slots") != 2.0 || at(t, got, "warnings.0") != "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED" {
		t.Errorf("%v", got)
	}
	remarks := fmt.Sprint(got["remarks"])
	for _, says := range []string{"entrypoint: has no effect", "tensorboard_args: have no effect", "2 slots are asked for"} {
		if !strings.Contains(remarks, says) {
			t.Errorf("remarks %s do not say %q", remarks, says)
		}
	}
	for body, words := range map[string]string{
		`{"templateName":"t"}`: `there is no template \"t\"`, `{"config":{"notebook_idle_type":"naps"}}`: "notebook_idle_type",
		`{"config":{"idle_timeout":"-1s"}}`: "idle_timeout", `{"config":{"resources":{"slots_per_trial":1}}}`: "slots",
		`{"workspaceId":77}`: "77",
	} {
		if a := me.post("/api/v1/notebooks", body); a.code/100 != 4 || !strings.Contains(string(a.body), words) {
			t.Errorf("%s: %d %s", body, a.code, a.body)
		}
	}
}

// More slots than a node or a pool has: see launch.Cluster.checkSlots.
func TestMoreSlotsThanThereAre(t *testing.T) {
	for _, strict := range []bool{true, false} {
		r := newRig(t, func(c *Config) { c.LaunchError = strict })
		me := r.user("determined")
		warned := func(a answer) {
			t.Helper()
			if w := at(t, a.ok().tree(), "warnings.0"); w != "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED" {
				t.Errorf("the warning is %v", w)
			}
		}
		one := func(slots int) string {
			return fmt.Sprintf(`{"config":{"entrypoint":["x"],"resources":{"slots":%d}}}`, slots)
		}
		trials := func(slots int) string {
			return createBody(yaml(fmt.Sprintf("resources: {slots_per_trial: %d}", slots)))
		}
		warned(me.post("/api/v1/commands", one(3))) // nodes may join
		warned(me.post("/api/v1/experiments", trials(3)))
		r.node("n1", "node-1", 2)
		r.node("n2", "node-2", 2)
		const words = "request unfulfillable, please try requesting less slots"
		for _, noun := range []string{"command", "notebook", "shell"} {
			me.post("/api/v1/"+noun+"s", one(3)).says(400, words)
			me.post("/api/v1/"+noun+"s", one(2)).ok()
		}
		me.generic("entrypoint: [x]\nresources: {slots: 3}").says(400, words, "with resources.is_single_node: false a task may")
		const several = `{"config":{"entrypoint":["x"],"resources":{"slots":%d,"is_single_node":false}}}`
		for _, noun := range []string{"notebook", "shell", "tensorboard"} {
			me.post("/api/v1/"+noun+"s", fmt.Sprintf(several, 1)).is(400)
		}
		me.post("/api/v1/notebooks", fmt.Sprintf(several, 3)).says(400, "a notebook is always on a single node")
		me.post("/api/v1/commands", fmt.Sprintf(several, 4)).ok()
		me.generic("entrypoint: [x]\nresources: {slots: 4, is_single_node: false}").ok()
		if beyond := me.post("/api/v1/commands", fmt.Sprintf(several, 5)); strict {
			beyond.says(400, "slots requested exceeds cluster capacity")
		} else {
			warned(beyond)
		}
		me.post("/api/v1/experiments", trials(4)).ok()
		if beyond := me.post("/api/v1/experiments", trials(5)); strict {
			beyond.says(400, "slots requested exceeds cluster capacity")
		} else {
			warned(beyond)
		}
	}
}

// TestJobsStayWhereTheyFit: a job does not move to a pool that could never give it its slots.
func TestJobsStayWhereTheyFit(t *testing.T) {
	gone := false
	r := newRig(t, gpuPools(&gone), func(c *Config) {
		c.LaunchError = true
		of := c.Inventory
		c.Inventory = func(pool string, n nodes.Row) *sched.Node {
			has := of(pool, n)
			if pool == "aux" {
				has.Slots = has.Slots[:1]
			}
			return has
		}
	})
	me := r.user("determined")
	r.node("n1", "node-1", 2)
	job := func(what answer, noun string) string {
		t.Helper()
		return at(t, what.ok().tree(), noun+".jobId").(string)
	}
	command := func(slots int) string {
		return job(me.post("/api/v1/commands", fmt.Sprintf(`{"config":{"entrypoint":["x"],"resources":{"slots":%d}}}`, slots)), "command")
	}
	experiment := func(slots int) string {
		return job(me.post("/api/v1/experiments", createBody(yaml(fmt.Sprintf("resources: {slots_per_trial: %d}", slots)))), "experiment")
	}
	move := func(job string) answer {
		return me.post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,"resourcePool":"aux"}]}`, job))
	}
	for _, large := range []string{command(2), experiment(2)} {
		move(large).says(400, "slots are asked for")
	}
	for _, fits := range []string{command(1), experiment(1)} {
		move(fits).ok()
	}
}

// A command without an entrypoint is accepted, as by Determined, and fails.
func TestACommandWithoutAnEntrypoint(t *testing.T) {
	r := newRig(t)
	got := r.user("determined").post("/api/v1/commands", `{"workspaceId":1}`).ok().tree()
	if at(t, got, "command.workspaceId") != 1.0 {
		t.Errorf("the command is %v", got["command"])
	}
	spec := r.begin(at(t, got, "command.id").(string)).claimed[0]["spec"].(map[string]any)
	if program := at(t, spec, "entrypoint.0").(string); spec["shell"] != true || !strings.Contains(program, "no entrypoint") || !strings.Contains(program, "exit 1") {
		t.Errorf("the command runs %q", program)
	}
}

func TestPoolsThatCannotMount(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Pools[0].Driver = pool.Exec })
	r.user("determined").post("/api/v1/shells", `{"config":{"bind_mounts":[{"host_path":"/a","container_path":"/b"}]}}`).says(400, "bind_mounts")
}

// The TaskSpec of a notebook runs JupyterLab behind the gateway.
func TestNotebookSpec(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Pools[0].Python = "/opt/py/bin/python3" })
	me := r.user("determined")
	spec := func(config string) map[string]any {
		id := at(t, me.post("/api/v1/notebooks", `{"config":`+config+`}`).ok().tree(), "notebook.id").(string)
		a := r.begin(id)
		s := a.claimed[0]["spec"].(map[string]any)
		s["id"] = id
		return s
	}
	s := spec(`{"idle_timeout":"90s","notebook_idle_type":"activity","work_dir":"/srv/job"}`)
	gateway := s["gateway"].(map[string]any)
	base := "/proxy/" + s["id"].(string) + "/"
	if gateway["kind"] != "http" || gateway["basePath"] != base || gateway["readyPath"] != base+"api" || len(gateway["secret"].(string)) < 32 ||
		at(t, gateway, "idle.timeoutS") != 90.0 || at(t, gateway, "idle.by") != "activity" || s["workDir"] != "/srv/job" || s["prefer"] != "/opt/py/bin/python3" {
		t.Errorf("%v", s)
	}
	if script := at(t, s, "entrypoint.0").(string); s["shell"] != true || !strings.Contains(script, "-m jupyterlab") {
		t.Errorf("the notebook runs %s", script)
	}
	env := s["env"].(map[string]any)
	if env["DET_TASK_TYPE"] != "NOTEBOOK" || env["DET_USER"] != "determined" || env["DET_USER_TOKEN"] == "" || env["DET_SESSION_TOKEN"] == "" {
		t.Errorf("the notebook's environment is %v", env)
	}
	if s := spec(`{"environment":{"environment_variables":["PATH=/mine"]}}`); s["prefer"] != "" || at(t, s, "gateway.idle.timeoutS") != 0.0 {
		t.Errorf("who names a PATH has the pool's Python: %v", s["prefer"])
	}
	if a, b := at(t, s, "gateway.secret"), at(t, spec(`{}`), "gateway.secret"); a == b {
		t.Error("two attempts have one secret")
	}
	id := at(t, me.post("/api/v1/commands", `{"config":{"entrypoint":["x"]}}`).ok().tree(), "command.id").(string)
	if got, there := r.begin(id).claimed[0]["spec"].(map[string]any)["gateway"]; there && got != nil {
		t.Error("a command has a gateway")
	}
}

// Only the owner and admins get a shell's private key, and it matches the public key of the server.
func TestShellKeys(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	made := me.post("/api/v1/shells", `{"config":{"resources":{"slots":0}}}`).ok().tree()
	id := at(t, made, "shell.id").(string)
	path := "/api/v1/shells/" + id
	private := at(t, made, "shell.privateKey").(string)
	key, err := ssh.ParsePrivateKey([]byte(private))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]as{"owner": me, "admin": admin} {
		if got := at(t, c.get(path).ok().tree(), "shell.privateKey"); got != private {
			t.Errorf("%s does not get the key", name)
		}
	}
	for name, body := range map[string][]byte{"another user": r.user("eve").get(path).ok().body, "a list": me.get("/api/v1/shells").ok().body,
		"the log": []byte(r.log.String())} {
		if strings.Contains(string(body), "PRIVATE KEY") {
			t.Errorf("%s sees a private key", name)
		}
	}
	a := r.begin(id)
	if strings.Contains(string(a.ranks[0].get(path).ok().body), "PRIVATE KEY") {
		t.Error("the task sees its owner's key")
	}
	spec := a.claimed[0]["spec"].(map[string]any)
	authorized, _, _, _, err := ssh.ParseAuthorizedKey([]byte(at(t, spec, "gateway.ssh.authorizedKey").(string)))
	if err != nil || string(authorized.Marshal()) != string(key.PublicKey().Marshal()) {
		t.Errorf("the server takes another key: %v", err)
	}
	host, err := ssh.ParsePrivateKey([]byte(at(t, spec, "gateway.ssh.hostKey").(string)))
	if err != nil {
		t.Fatal(err)
	}
	known, _, _, _, err := ssh.ParseAuthorizedKey([]byte(at(t, made, "shell.hostKey").(string)))
	if err != nil || string(known.Marshal()) != string(host.PublicKey().Marshal()) || string(known.Marshal()) == string(authorized.Marshal()) {
		t.Errorf("the shell is known by another key: %v", err)
	}
	if at(t, spec, "gateway.kind") != "ssh" || at(t, made, "shell.agentUserGroup.user") != "root" {
		t.Errorf("%v", spec["gateway"])
	}
	admin.patch("/api/v1/users/2", `{"agentUserGroup":{"agentUid":1000,"agentUser":"ada","agentGid":1000,"agentGroup":"ada"}}`).ok()
	if got := at(t, me.get(path).ok().tree(), "shell.agentUserGroup.user"); got != "ada" {
		t.Errorf("the shell's user is %v", got)
	}
}

func TestTensorboards(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Idle.Tensorboard = 5 * time.Minute
		c.Site.Capabilities.Storage = []string{"shared_fs", "directory"}
	})
	me := r.user("determined")
	one, two := me.create(sharedStorage("/one"), `"activate":true`), me.create(sharedStorage("/two"), `"activate":true`)
	three := me.create(yaml("checkpoint_storage: {type: directory, container_path: /mnt/ckpt}", "bind_mounts: [{host_path: /disk, container_path: /mnt}]"), `"activate":true`)
	clash := me.create(yaml("checkpoint_storage: {type: directory, container_path: /mnt/ckpt}", "bind_mounts: [{host_path: /other, container_path: /mnt}]"), `"activate":true`)
	r.trial(one, 0)
	r.trial(one, 1)
	second, _ := r.trial(two, 0)
	third, _ := r.trial(three, 0)
	r.trial(two, 1)
	r.trial(clash, 0)
	r.moves(two, "PAUSED", "COMPLETED") // experiments that are not over have all their folder shown
	got := me.post("/api/v1/tensorboards", fmt.Sprintf(`{"config":{"tensorboard_args":["--reload_interval","9"]},"experimentIds":[%d,%d],"trialIds":[%d,%d],"files":[]}`,
		one, one, second, third)).ok().tree()
	id := at(t, got, "tensorboard.id").(string)
	ids, _ := json.Marshal([]any{at(t, got, "tensorboard.experimentIds"), at(t, got, "tensorboard.trialIds")})
	if want := fmt.Sprintf("[[%d],[%d,%d]]", one, second, third); string(ids) != want {
		t.Errorf("the TensorBoard shows %s, want %s", ids, want)
	}
	if at(t, got, "config.resources.slots") != 0.0 || at(t, got, "config.idle_timeout") != "5m0s" {
		t.Errorf("the TensorBoard's configuration is %v", got["config"])
	}
	a := r.begin(id)
	spec := a.claimed[0]["spec"].(map[string]any)
	if argv := fmt.Sprint(spec["entrypoint"]); argv != "[python3 -m determined.exec.tensorboard --reload_interval 9]" {
		t.Errorf("the TensorBoard runs %s", argv)
	}
	if at(t, spec, "gateway.kind") != "http" || at(t, spec, "gateway.idle.by") != "requests" || at(t, spec, "gateway.idle.timeoutS") != 300.0 {
		t.Errorf("the TensorBoard's gateway is %v", spec["gateway"])
	}
	var sources []struct {
		Name, Path string
		Storage    struct {
			Type string `json:"type"`
			Path string `json:"container_path"`
		}
	}
	if err := json.Unmarshal([]byte(at(t, spec, "env.DET_TENSORBOARD_SOURCES").(string)), &sources); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range sources {
		lines = append(lines, fmt.Sprint(s.Name, " ", s.Storage.Type, " ", s.Storage.Path, " ", s.Path))
	}
	want := []string{
		"exp_1 directory /determined_shared_fs/ckpt cluster-1/tensorboard/experiment/1",
		fmt.Sprintf("exp_2/trial_%d directory /determined_shared_fs_2/ckpt cluster-1/tensorboard/experiment/2/trial/%[1]d", second),
		fmt.Sprintf("exp_3/trial_%d directory /mnt/ckpt cluster-1/tensorboard/experiment/3/trial/%[1]d", third),
	}
	if !slices.Equal(lines, want) {
		t.Errorf("the TensorBoard reads\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	var mounts []string
	for _, m := range spec["bindMounts"].([]any) {
		mounts = append(mounts, fmt.Sprint(at(t, m, "hostPath"), "→", at(t, m, "containerPath"), " ", at(t, m, "readOnly")))
	}
	if got := strings.Join(mounts, ", "); got != "/one→/determined_shared_fs true, /two→/determined_shared_fs_2 true, /disk→/mnt true" {
		t.Errorf("the TensorBoard's mounts are %s", got)
	}
	for body, words := range map[string][]string{
		`{}`:                                    {"400", "needs experiments or trials"},
		`{"experimentIds":[99]}`:                {"404", "experiment 99"},
		`{"trialIds":[99]}`:                     {"404", "trial 99"},
		`{"filters":{"name":"nothing has it"}}`: {"400", "no experiment matches the filters"},
		`{"filters":{"states":["STATE_UNHEARD_OF"]}}`:                                                       {"400", "STATE_UNHEARD_OF"},
		fmt.Sprintf(`{"experimentIds":[%d,%d]}`, three, clash):                                              {"400", "/other", "/disk"},
		`{"trialIds":[` + strings.Trim(strings.Repeat("1,", 2), ",") + `],"config":{"tensorboard_arg":[]}}`: {"400", "tensorboard_arg"},
	} {
		got := me.post("/api/v1/tensorboards", body)
		for _, w := range words[1:] {
			if fmt.Sprint(got.code) != words[0] || !strings.Contains(string(got.body), w) {
				t.Errorf("%s: %d %s, want %v", body, got.code, got.body, words)
			}
		}
	}
	chosen := me.post("/api/v1/tensorboards", fmt.Sprintf(`{"filters":{"states":["STATE_COMPLETED"]},"experimentIds":[%d,%d]}`, two, three)).ok().tree()
	if ids, _ := json.Marshal(at(t, chosen, "tensorboard.experimentIds")); string(ids) != fmt.Sprintf("[%d,%d]", two, three) {
		t.Errorf("the completed experiments and the named one are %s, want %d and %d", ids, two, three)
	}
	for i := range 100 {
		r.trial(clash, i+1)
	}
	me.post("/api/v1/tensorboards", fmt.Sprintf(`{"experimentIds":[%d]}`, clash)).says(400, "at most 100 trials", "101")
	me.post("/api/v1/tensorboards", fmt.Sprintf(`{"filters":{"excludedExperimentIds":[%d,%d,%d]}}`, one, two, three)).says(400, "at most 100 trials", "101")
}

// A task that reports that it is idle ends, with this reason; only the task itself may report it.
func TestIdleTasksEnd(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	start := func(noun, config string) (string, as) {
		id := at(t, me.post("/api/v1/"+noun+"s", `{"config":`+config+`}`).ok().tree(), noun+".id").(string)
		return id, r.begin(id).ranks[0]
	}
	reason := func(id string) string {
		live, err := rows.LoadLive(t.Context(), r.db, rows.Known{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range live.Tasks {
			if k.ID == id {
				return k.Desired + " " + k.KillReason
			}
		}
		return "gone"
	}
	book, itself := start("notebook", `{"idle_timeout":"1h30m"}`)
	other, another := start("notebook", `{}`)
	shell, sh := start("shell", `{"idle_timeout":20}`)
	path := "/api/v1/notebooks/" + book + "/report_idle"
	another.put(path, `{"idle":true}`).says(403, "only about itself")
	me.put(path, `{"idle":true}`).says(403, "only the task itself")
	itself.put(path, `{"notebookId":"`+other+`","idle":true}`).says(400, "notebookId")
	itself.put(path, `{"notebookId":"`+book+`","idle":false}`).ok()
	another.put("/api/v1/notebooks/"+other+"/report_idle", `{"idle":true}`).ok() // it has no timeout
	if reason(book) != "run " || reason(other) != "run " {
		t.Errorf("%q, %q", reason(book), reason(other))
	}
	itself.put(path, `{"notebookId":"`+book+`","idle":true}`).ok()
	sh.put("/api/v1/notebooks/"+shell+"/report_idle", `{"idle":true}`).ok()
	if got := reason(book); got != "kill ended because it was not used for 1h30m" {
		t.Error(got)
	}
	if got := reason(shell); got != "kill ended because it was not used for 20s" {
		t.Error(got)
	}
	if s := at(t, me.get("/api/v1/notebooks/"+book).ok().tree(), "notebook.state"); s != "STATE_TERMINATING" {
		t.Errorf("the notebook is %v", s)
	}
	command, c := start("command", `{"entrypoint":["x"],"idle_timeout":"1s"}`)
	c.put("/api/v1/notebooks/"+command+"/report_idle", `{"idle":true}`).says(400, "can be idle")
}

// A program that is up and has nothing to show yet is said to wait.
func TestWaitingTasks(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := at(t, me.post("/api/v1/notebooks", `{}`).ok().tree(), "notebook.id").(string)
	a := r.begin(id)
	r.runs(a.id, "ASSIGNED", "RUNNING")
	state := func() any { return at(t, me.get("/api/v1/notebooks/"+id).ok().tree(), "notebook.state") }
	if s := state(); s != "STATE_RUNNING" {
		t.Errorf("the notebook is %v", s)
	}
	a.ranks[0].post(a.path("/waiting"), "").ok()
	if s := state(); s != "STATE_WAITING" {
		t.Errorf("the notebook is %v", s)
	}
	a.ranks[0].post(a.path("/ready"), "").ok()
	if s := state(); s != "STATE_RUNNING" {
		t.Errorf("the notebook is %v", s)
	}
	if ready := at(t, me.get("/api/v1/tasks/"+id).ok().tree(), "task.allocations.0.isReady"); ready != true {
		t.Error("the notebook is not ready")
	}
}
