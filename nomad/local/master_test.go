package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	files "github.com/detent-ml/detent/nomad"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/proc"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

func part(t *testing.T, c *Cluster, name string) Part {
	t.Helper()
	p, err := c.Part(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// one is the single process of a part.
func one(t *testing.T, p Part) proc.ID {
	t.Helper()
	found, err := p.Processes(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has the processes %v, %v; expected one", p.name, found, err)
	}
	return found[0]
}

// TestMasterLivesThroughEverything runs a stand-in of the master as the real job and ends one part after
// the other under it.
func TestMasterLivesThroughEverything(t *testing.T) {
	turn.Second(t)
	ctx, opts := t.Context(), testOptions(t)
	opts.Master = Master{
		Binary: fakeMaster(t),
		Config: "# {{ with }} ${HOME} %{ if }\nlog_level: debug\n",
		// The job also has the second variable for an item of its Nomad variable, which is missing here and hides nothing.
		Env: map[string]string{"DETENT_TEST": `a "quoted" ${value}`, InitialPassword: "a secret of ours"},
	}
	c, err := Up(ctx, opts, testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	d := c.Describe(ctx)
	if !d.Up() {
		t.Fatalf("after Up: %+v", d.Parts)
	}
	checkWhatTheMasterGot(t, c, d)

	t.Run("a killed master is started again by Nomad", func(t *testing.T) {
		// More often than a job's restarts commonly last.
		for range 5 {
			before := one(t, part(t, c, "master"))
			if err := part(t, c, "master").Kill9(ctx); err != nil {
				t.Fatal(err)
			}
			within(t, 20*time.Second, "another master answers", func() error {
				found, err := part(t, c, "master").Processes(ctx)
				if err != nil {
					return err
				}
				if len(found) != 1 || found[0] == before {
					return fmt.Errorf("processes %v", found)
				}
				_, err = c.get(ctx, d.MasterURL+"/health")
				return err
			})
		}
	})
	for _, name := range []string{"postgres", "consul", "nomad", "client"} {
		t.Run("a killed "+name+" comes back and the master's process stays", func(t *testing.T) {
			master, p := one(t, part(t, c, "master")), part(t, c, name)
			before := one(t, p)
			if err := p.Kill9(ctx); err != nil {
				t.Fatal(err)
			}
			if before.Alive() {
				t.Fatal("the master was not killed")
			}
			if err := p.Start(ctx); err != nil {
				t.Fatal(err)
			}
			within(t, 30*time.Second, "everything is healthy", func() error {
				if d := c.Describe(ctx); !d.Up() {
					return fmt.Errorf("%+v", d.Parts)
				}
				return nil
			})
			if !master.Alive() {
				t.Error("the master's process ended")
			}
		})
	}
	t.Run("another binary is rolled out", func(t *testing.T) {
		before := one(t, part(t, c, "master"))
		text, err := os.ReadFile(opts.Master.Binary)
		if err != nil {
			t.Fatal(err)
		}
		next := filepath.Join(t.TempDir(), "det-master")
		if err := os.WriteFile(next, append(text, "another build"...), 0o755); err != nil {
			t.Fatal(err)
		}
		again := opts
		again.Master.Binary = next
		if _, err := Up(ctx, again, testReport(t)); err != nil {
			t.Fatal(err)
		}
		if before.Alive() {
			t.Error("the old master runs on")
		}
	})
	t.Run("its log can be read", func(t *testing.T) {
		// Nomad copies what a task prints into its log a moment later.
		within(t, 20*time.Second, "the new master's line is in its log", func() error {
			var b strings.Builder
			err := c.Logs(ctx, "master", 1, false, &b)
			if err == nil && b.String() != "the fake master listens\n" {
				err = fmt.Errorf("the last line is %q", b.String())
			}
			return err
		})
	})
	t.Run("down ends it even when Nomad is dead", func(t *testing.T) {
		master := one(t, part(t, c, "master"))
		for _, name := range []string{"nomad", "client"} {
			if err := part(t, c, name).Kill9(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Down(ctx, testReport(t)); err != nil {
			t.Fatal(err)
		}
		if master.Alive() {
			t.Error("the master runs on")
		}
	})
}

func checkWhatTheMasterGot(t *testing.T, c *Cluster, d Description) {
	t.Helper()
	ctx := t.Context()
	if config, err := c.get(ctx, d.MasterURL+"/config"); err != nil || config != c.state.Master.Config {
		t.Errorf("the configuration is %q, %v; expected %q", config, err, c.state.Master.Config)
	}
	text, err := c.get(ctx, d.MasterURL+"/env")
	if err != nil {
		t.Fatal(err)
	}
	env := "\n" + text + "\n"
	for _, want := range []string{
		"DETENT_TEST=" + c.state.Master.Env["DETENT_TEST"], InitialPassword + "=a secret of ours", "DETENT_DATABASE=" + d.DSN,
		"DETENT_NOMAD_ADDRESS=" + d.NomadURL, "DETENT_CONSUL_ADDRESS=" + d.ConsulURL, "DETENT_CLUSTER_NAME=test",
		"DETENT_CHECKPOINT_STORAGE={type: directory, container_path: \"" + d.StateDir + "/checkpoints\"}",
		"DETENT_LISTEN=" + strings.TrimPrefix(d.MasterURL, "http://"),
	} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("the master's environment lacks %s:%s", want, env)
		}
	}
	nomad, err := c.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	registered, _, err := nomad.Jobs().Info(masterJob, nil)
	if err != nil {
		t.Fatal(err)
	}
	job, err := json.Marshal(registered)
	if err != nil {
		t.Fatal(err)
	}
	password := strings.Split(strings.Split(d.DSN, "detent:")[1], "@")[0]
	if strings.Contains(string(job), password) {
		t.Error("the database's password is in the job, which every user of Nomad may read")
	}
	within(t, 20*time.Second, "the master is healthy in Consul", func() error {
		answer, err := c.get(ctx, d.ConsulURL+"/v1/health/service/det-master?passing")
		if err == nil && !strings.Contains(answer, "det-master") {
			err = fmt.Errorf("%s", answer)
		}
		return err
	})
}

func TestMasterThatDoesNotStartIsExplained(t *testing.T) {
	ctx, opts := t.Context(), testOptions(t)
	opts.Master = Master{Binary: fakeMaster(t), Config: "broken: true\n"}
	_, err := Up(ctx, opts, testReport(t))
	if err == nil || !strings.Contains(err.Error(), "this configuration is broken") {
		t.Fatalf("error %v, expected the master's message", err)
	}
	// What is up stays up, and a corrected Up continues.
	opts.Master.Config = "better: true\n"
	c, err := Up(ctx, opts, testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Describe(ctx); !d.Up() {
		t.Errorf("after the correction: %+v", d.Parts)
	}
}

func TestTwoMastersTwoNodesAndACLs(t *testing.T) {
	turn.Second(t)
	ctx, opts := t.Context(), testOptions(t)
	opts.Slots = 3
	opts.Master = Master{Binary: fakeMaster(t), Count: 2}
	c, err := Up(ctx, opts, testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	d := c.Describe(ctx)
	if !d.Up() || len(d.MasterURLs) != 2 || d.MasterURLs[0] == d.MasterURLs[1] {
		t.Fatalf("masters at %v, parts %+v; expected two", d.MasterURLs, d.Parts)
	}
	checkRights(t, c, d)
	checkUI(t, c)

	if err := c.AddClient(ctx, Client{Name: "second", Slots: 5}); err != nil {
		t.Fatal(err)
	}
	checkNodes(t, c, map[string]string{"test": "3", "test-second": "5"})
	second := part(t, c, "client-second")
	if err := second.Kill9(ctx); err != nil {
		t.Fatal(err)
	}
	if err := second.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Down(ctx, testReport(t)); err != nil {
		t.Fatal(err)
	}
	if c, err = Up(ctx, opts, testReport(t)); err != nil {
		t.Fatal(err)
	}
	if d := c.Describe(ctx); !d.Up() || len(d.Parts) != 7 {
		t.Errorf("after Down and Up: %+v; expected postgres, consul, nomad, client, consul.second, client-second and master", d.Parts)
	}
	if err := c.RemoveClient(ctx, "second"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Part("client-second"); err == nil {
		t.Error("the removed client is still a part")
	}
	within(t, time.Minute, "the removed node has left Consul", func() error {
		text, err := c.get(ctx, d.ConsulURL+"/v1/catalog/nodes")
		if err == nil && strings.Contains(text, "detent-test-second") {
			err = errors.New(text)
		}
		return err
	})
}

// checkUI exchanges the token in the address of Nomad's UI, as the UI does: it gives all rights, once.
func checkUI(t *testing.T, c *Cluster) {
	t.Helper()
	link, err := c.NomadUI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address, once, _ := strings.Cut(link, "/ui/?ott=")
	nomad, err := api.NewClient(&api.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := nomad.ACLTokens().ExchangeOneTimeToken(once, nil)
	if err != nil || token.SecretID != c.state.Token {
		t.Fatalf("the token of the address gives %+v, %v", token, err)
	}
	if _, _, err := nomad.ACLTokens().ExchangeOneTimeToken(once, nil); err == nil {
		t.Error("the token of the address works twice")
	}
}

// checkRights uses the identity that Nomad gave to the master: it may list jobs, and nothing without it.
func checkRights(t *testing.T, c *Cluster, d Description) {
	t.Helper()
	text, err := c.get(t.Context(), d.MasterURLs[0]+"/env")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "NOMAD_TOKEN=")
	token, _, _ := strings.Cut(rest, "\n")
	for _, try := range []struct {
		token string
		jobs  int
	}{{token, 1}, {"", 0}} {
		client, err := api.NewClient(&api.Config{Address: d.NomadURL, SecretID: try.token})
		if err != nil {
			t.Fatal(err)
		}
		jobs, _, err := client.Jobs().List(nil)
		if len(jobs) != try.jobs {
			t.Errorf("with the token %q: %d jobs, %v; expected %d", try.token, len(jobs), err, try.jobs)
		}
	}
}

func checkNodes(t *testing.T, c *Cluster, slots map[string]string) {
	t.Helper()
	nomad, err := c.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := nomad.Nodes().List(nil)
	if err != nil || len(nodes) != len(slots) {
		t.Fatalf("%d nodes, %v; expected %d", len(nodes), err, len(slots))
	}
	for _, stub := range nodes {
		node, _, err := nomad.Nodes().Info(stub.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := node.Meta["detent_slots"]; got != slots[node.Name] {
			t.Errorf("node %s has %q slots, expected %q", node.Name, got, slots[node.Name])
		}
	}
}

// The job file is what operators edit and run, so each way of running it must parse.
func TestJobFileParsesInEveryVariant(t *testing.T) {
	nomad, err := servers.Ensure(t.Context(), "nomad", testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "master.nomad.hcl")
	if err := os.WriteFile(file, []byte(files.MasterJob), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, vars := range map[string]map[string]string{
		"as it is": {},
		"a URL":    {"driver": "exec", "binary": "https://example.com/det-master.tar.gz", "checksum": "sha256:00"},
		"an image": {"driver": "docker", "image": "example.com/det-master:1"},
		"its node": {"driver": "docker", "image": "example.com/det-master:1", "network_mode": "host"},
		"several":  {"count": "3", "port": "8443", "node_pool": "system", "datacenters": `["a", "b"]`},
		"TLS": {"nomad_addr": "https://nomad.example:4646", "nomad_ca": "CERTIFICATE-A", "consul_ca": "CERTIFICATE-B", "tls_ca": "CERTIFICATE-C",
			"tls": "true", "nomad_client_cert": "true"},
		"Vault":     {"vault_addr": "https://vault.example:8200", "vault_ca": "CERTIFICATE-D"},
		"a proxy":   {"public_url": "https://detent.example"},
		"no Consul": {"consul_addr": "", "service_provider": "nomad", "memory_max": "2048", "env": `{ DETENT_X = "y" }`},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"job", "run", "-output"}
			for k, v := range vars {
				args = append(args, "-var="+k+"="+v)
			}
			out, err := run(t.Context(), nomad.Path, append(args, file)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, v := range vars {
				if !strings.ContainsAny(v, `{["`) && !strings.Contains(out, v) {
					t.Errorf("the job has no %q", v)
				}
			}
			if public := vars["public_url"]; strings.Contains(out, "tab=queue") != (public != "") || public != "" && !strings.Contains(out, `"`+public+`/cluster?tab=queue"`) {
				t.Errorf("the job's link to the queue, with the address %q of the pages:\n%s", public, out)
			}
		})
	}
}

// A master whose node is only disconnected keeps running, and is replaced meanwhile.
func TestJobFileKeepsADisconnectedMaster(t *testing.T) {
	nomad, err := servers.Ensure(t.Context(), "nomad", testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "master.nomad.hcl")
	if err := os.WriteFile(file, []byte(files.MasterJob), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t.Context(), nomad.Path, "job", "run", "-output", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var rendered struct{ Job api.Job }
	if err := json.Unmarshal([]byte(out), &rendered); err != nil {
		t.Fatal(err)
	}
	d := rendered.Job.TaskGroups[0].Disconnect
	if d == nil || d.LostAfter == nil || *d.LostAfter < time.Hour || d.StopOnClientAfter != nil || d.Replace == nil || !*d.Replace ||
		d.Reconcile == nil || *d.Reconcile != "keep_original" {
		t.Errorf("a disconnected master: %+v", d)
	}
}

// The files of pools' jobs are on the operator's machine, and go into the master's job byte for byte, also with
// what Nomad's HCL and templates would otherwise evaluate.
func TestJobFileCarriesTheJobsOfPools(t *testing.T) {
	nomad, err := servers.Ensure(t.Context(), "nomad", testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "master.nomad.hcl")
	examples, err := filepath.Glob(filepath.Join("..", "pools", "*.nomad.hcl"))
	if err != nil || len(examples) < 6 {
		t.Fatalf("examples %v, %v", examples, err)
	}
	own := filepath.Join(dir, "own.nomad.hcl")
	const text = "# {{ key \"x\" }} %{ if }\njob \"own\" {\n  datacenters = [\"${attr.cpu.arch}\"]\n}\n"
	if err := errors.Join(os.WriteFile(file, []byte(files.MasterJob), 0o600), os.WriteFile(own, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	all := append(examples, own)
	out, err := run(t.Context(), nomad.Path, "job", "run", "-output", `-var=pool_jobs=["`+strings.Join(all, `", "`)+`"]`, file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var rendered struct{ Job api.Job }
	if err := json.Unmarshal([]byte(out), &rendered); err != nil {
		t.Fatal(err)
	}
	got := map[string]*api.Template{}
	for _, tmpl := range rendered.Job.TaskGroups[0].Tasks[0].Templates {
		got[*tmpl.DestPath] = tmpl
	}
	for _, path := range all {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tmpl := got["local/pools/"+filepath.Base(path)]
		if tmpl == nil || *tmpl.EmbeddedTmpl != string(want) || *tmpl.LeftDelim != "\x01" || *tmpl.ChangeMode != "restart" {
			t.Errorf("the template for %s is %+v", path, tmpl)
		}
	}
	if out, err := run(t.Context(), nomad.Path, "job", "run", "-output", `-var=pool_jobs=["nowhere.nomad.hcl"]`, file); err == nil ||
		!strings.Contains(out, "no file exists at nowhere.nomad.hcl") {
		t.Errorf("a file that is not there: %v\n%s", err, out)
	}
}

// The cluster has the name in the configuration, unless a variable of the job sets another.
func TestJobFileTakesItsClustersName(t *testing.T) {
	nomad, err := servers.Ensure(t.Context(), "nomad", testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "master.nomad.hcl")
	if err := os.WriteFile(file, []byte(files.MasterJob), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ config, cluster, want string }{
		{"", "", "detent"},
		{"resource_pools: []\n", "", "detent"},
		{"cluster_name: vision\nresource_pools:\n  - {name: a}\n", "", "vision"},
		{"cluster_name: vision\n", "speech", "speech"},
		{"not: [yaml", "", "detent"}, // the master says what is wrong with it
	} {
		out, err := run(t.Context(), nomad.Path, "job", "run", "-output", "-var=config="+c.config, "-var=cluster="+c.cluster, file)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, want := range []string{`"DETENT_CLUSTER_NAME": "` + c.want + `"`, `"detent_cluster": "` + c.want + `"`, "Detent cluster **" + c.want + "**"} {
			if !strings.Contains(out, want) {
				t.Errorf("configuration %q, variable %q: the job has no %s", c.config, c.cluster, want)
			}
		}
		if strings.Contains(out, "DETENT_SERVICE_NAME") {
			t.Error("the job of one master overrides service_name")
		}
	}
}
