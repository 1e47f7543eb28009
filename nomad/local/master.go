package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/sleep"
	files "github.com/detent-ml/detent/nomad"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/leftover"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

const (
	masterJob       = "det-master"
	masterTask      = "master"
	masterStartTime = 90 * time.Second
	// After this number of restarts since it was started, waiting for a master is useless.
	masterGivesUp = 4
)

// up runs the master's job, as an operator does, and waits until each master answers.
func (c masterServer) up(ctx context.Context, report *servers.Reporter) error {
	if c.state.Master.Binary == "" {
		return errors.New("master: the path of det-master is missing")
	}
	task := report.Task("master")
	if err := c.run(ctx, task); err != nil {
		task.Fail()
		return fmt.Errorf("master: %w", err)
	}
	task.Done("answers")
	return nil
}

func (c masterServer) run(ctx context.Context, task *servers.Task) error {
	client, err := c.Nomad()
	if err != nil {
		return err
	}
	dsn, err := c.dsn()
	if err != nil {
		return err
	}
	task.Update("storing the database's address in Nomad")
	secret := &api.Variable{Path: "nomad/jobs/" + masterJob, Items: api.VariableItems{"dsn": dsn}}
	if tokens := c.state.ConsulACL; tokens != nil {
		secret.Items["consul_token"] = tokens.Master
	}
	if err := c.keys(secret.Items); err != nil {
		return err
	}
	if _, _, err := client.Variables().Create(secret, (&api.WriteOptions{}).WithContext(ctx)); err != nil {
		return fmt.Errorf("cannot store the database's address as a Nomad variable: %w", err)
	}
	vars, err := c.vars()
	if err != nil {
		return err
	}
	if err := c.offerRunner(ctx, c.clients()...); err != nil {
		return err
	}
	task.Update("nomad job run " + filepath.Base(c.jobFile()))
	if err := c.jobRun(ctx, vars); err != nil {
		return err
	}
	task.Update("waiting for an answer")
	return c.await(ctx, client)
}

func (c masterServer) jobFile() string { return c.path(partMaster, "master.nomad.hcl") }

// dsn is the address of the cluster's database.
func (c masterServer) dsn() (string, error) {
	if c.state.DSN != "" {
		return c.state.DSN, nil
	}
	pg, err := servers.OpenPostgres(c.path(partPostgres))
	if err != nil {
		return "", err
	}
	return pg.DSN, nil
}

// vars are the variables of the job file.
func (c masterServer) vars() (map[string]string, error) {
	m := c.state.Master
	binary, err := c.copyBinary(m.Binary)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	if m.Runner != "" {
		if env["DETENT_RUNNER_PATH"], err = c.copyRunner(); err != nil {
			return nil, err
		}
	}
	given, err := c.given()
	if err != nil {
		return nil, err
	}
	if err := c.checkpointFolder(given, env); err != nil {
		return nil, err
	}
	c.pools(given, env)
	// The Python of tasks, if the master's configuration sets none.
	if _, named := given["python"]; !named && m.Python != "" {
		env["DETENT_PYTHON"] = m.Python
	}
	port, pages, count := c.state.Ports[portMaster], c.state.Ports[portPages], max(m.Count, 1)
	if count > 1 {
		port, pages = 0, 0
	}
	vars := map[string]string{
		"cluster":     c.state.Name,
		"binary":      binary,
		"port":        strconv.Itoa(port),
		"tasks_port":  strconv.Itoa(pages),
		"count":       strconv.Itoa(count),
		"node":        c.nodeName(""),
		"config":      m.Config,
		"nomad_addr":  c.nomad().url(),
		"consul_addr": c.consul().url(),
		"cpu":         "100", // leave the machine's CPUs to the tasks
		"memory":      "256",
		"memory_max":  "1024",
	}
	if c.state.NoConsul {
		vars["service_provider"] = "nomad"
	}
	c.vault().vars(vars, env)
	if err := c.tls(vars); err != nil {
		return nil, err
	}
	if domain := c.tasksDomain(); domain != "" {
		env["DETENT_TASKS_DOMAIN"] = domain
	}
	maps.Copy(env, m.Env)
	vars["env"] = hclMap(env)
	return vars, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// given are the keys of the master's configuration.
func (c masterServer) given() (keys map[string]any, err error) {
	if err := yaml.Unmarshal([]byte(c.state.Master.Config), &keys); err != nil {
		return nil, fmt.Errorf("cannot parse the master's configuration: %w", err)
	}
	return keys, nil
}

// tasksDomain gives each task its own host name: browsers resolve every name below localhost to this
// machine, without DNS. It is "" if that is impossible: if pages are at another address, if TLS is used
// (no authority signs *.localhost), if there are several masters (whose ports are unknown), or if the
// configuration sets the address of tasks' pages.
func (c masterServer) tasksDomain() string {
	if c.state.TLS != nil || c.state.Interface != "" || c.state.Master.Count > 1 || c.state.Ports[portPages] == 0 {
		return ""
	}
	given, err := c.given()
	if err != nil {
		return "" // the master's start reports the mistake
	}
	for _, key := range []string{"tasks_url", "tasks_domain"} {
		if _, named := given[key]; named {
			return ""
		}
		if _, named := c.state.Master.Env["DETENT_"+strings.ToUpper(key)]; named {
			return ""
		}
	}
	return fmt.Sprintf("localhost:%d", c.state.Ports[portPages])
}

// checkpointFolder sets a folder for checkpoints in the cluster's folder, if the master's configuration
// sets none.
func (c masterServer) checkpointFolder(given map[string]any, env map[string]string) error {
	if _, named := given["checkpoint_storage"]; named || env["DETENT_CHECKPOINT_STORAGE"] != "" {
		return nil
	}
	if s3 := c.S3(); s3 != nil {
		env["DETENT_CHECKPOINT_STORAGE"] = fmt.Sprintf("{type: s3, bucket: %s, endpoint_url: %q}", s3.Bucket, s3.Endpoint)
		return nil
	}
	dir := c.path("checkpoints")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	env["DETENT_CHECKPOINT_STORAGE"] = fmt.Sprintf("{type: directory, container_path: %q}", dir)
	return nil
}

// hclMap formats a map as HCL for `nomad job run -var`.
func hclMap(m map[string]string) string {
	// HCL quotes strings like Go, except for its two kinds of templates.
	escape := strings.NewReplacer("${", "$${", "%{", "%%{")
	parts := each.Of(slices.Sorted(maps.Keys(m)), func(name string) string {
		return strconv.Quote(name) + " = " + escape.Replace(strconv.Quote(m[name]))
	})
	return "{" + strings.Join(parts, ", ") + "}"
}

// copyBinary copies a program, and the programs that it needs in its folder, into a folder of the
// cluster that is named by their hash. So the next build does not change running programs, and a
// changed program is a changed job, which Nomad deploys.
func (c masterServer) copyBinary(path string, beside ...string) (string, error) {
	if err := os.MkdirAll(c.path("bin"), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(c.path("bin"), ".new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	hash := sha256.New()
	for _, name := range append([]string{filepath.Base(path)}, beside...) {
		if err := copyExecutable(filepath.Join(filepath.Dir(path), name), filepath.Join(fresh, name), hash); err != nil {
			return "", err
		}
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return "", err
	}
	name := filepath.Base(path)
	kept := c.path("bin", name+"-"+hex.EncodeToString(hash.Sum(nil)[:6]))
	if err := os.Rename(fresh, kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return filepath.Join(kept, name), nil
}

// copyExecutable copies an executable file, and adds it to a hash.
func copyExecutable(from, to string, hash io.Writer) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(out, hash), in)
	return errors.Join(err, out.Chmod(0o755), out.Close()) // independent of the umask
}

// jobRun runs the nomad command on the same job file that operators use.
func (c masterServer) jobRun(ctx context.Context, vars map[string]string) error {
	binary, err := c.program(ctx, "nomad", nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.jobFile()), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(c.jobFile(), []byte(files.MasterJob), 0o644); err != nil {
		return err
	}
	args := []string{"job", "run", "-detach", "-address=" + c.nomad().url()}
	for name, value := range vars {
		args = append(args, "-var="+name+"="+value)
	}
	cmd := exec.CommandContext(ctx, binary.Path, append(args, c.jobFile())...)
	cmd.Env = append(agentEnv(), c.trust()...)
	if c.state.Token != "" {
		cmd.Env = append(cmd.Env, "NOMAD_TOKEN="+c.state.Token)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nomad job run: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// await waits until every master of the job's newest version answers, or returns why one does
// not.
func (c masterServer) await(ctx context.Context, client *api.Client) error {
	ctx, cancel := context.WithTimeout(ctx, masterStartTime)
	defer cancel()
	restarts := map[string]uint64{} // by allocation, at the first check
	for {
		waiting, err := c.missing(ctx, client, func(alloc *api.Allocation, state *api.TaskState) error {
			if _, seen := restarts[alloc.ID]; !seen {
				restarts[alloc.ID] = state.Restarts
			}
			if state.Failed || state.Restarts >= restarts[alloc.ID]+masterGivesUp {
				return c.taskFailure(ctx, client, alloc, masterTask)
			}
			return nil
		})
		if err == nil && waiting == "" {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		if sleep.For(ctx, agentPoll) != nil {
			return fmt.Errorf("the master did not start within %s: %s", masterStartTime, waiting)
		}
	}
}

// missing returns what is still missing until all masters answer. It calls check, if not nil, with
// the state of each master, and returns its error.
func (c masterServer) missing(ctx context.Context, client *api.Client, check func(*api.Allocation, *api.TaskState) error) (waiting string, err error) {
	query := (&api.QueryOptions{}).WithContext(ctx)
	job, _, err := client.Jobs().Info(masterJob, query)
	if err != nil {
		return "", err
	}
	stubs, _, err := client.Jobs().Allocations(masterJob, false, query)
	if err != nil {
		return "", err
	}
	up := 0
	for _, stub := range stubs {
		if stub.JobVersion != *job.Version || stub.DesiredStatus != api.AllocDesiredStatusRun {
			continue
		}
		alloc, _, err := client.Allocations().Info(stub.ID, query)
		if err != nil {
			return "", err
		}
		if state := alloc.TaskStates[masterTask]; state != nil && check != nil {
			if err := check(alloc, state); err != nil {
				return "", err
			}
		}
		url := c.urlOf(alloc)
		if url == "" || alloc.ClientStatus != api.AllocClientStatusRunning {
			waiting = fmt.Sprintf("allocation %s is %s", alloc.ID[:8], alloc.ClientStatus)
			continue
		}
		if _, err := c.get(ctx, url+"/health"); err != nil {
			waiting = err.Error()
			continue
		}
		up++
	}
	count := *job.TaskGroups[0].Count
	if up >= count {
		return "", nil
	}
	if waiting == "" {
		waiting = c.notPlaced(ctx, client, count, up)
	}
	return waiting, nil
}

// notPlaced explains why Nomad has not placed a master.
func (c masterServer) notPlaced(ctx context.Context, client *api.Client, count, up int) string {
	text := fmt.Sprintf("%d of %d masters are placed", up, count)
	evals, _, err := client.Jobs().Evaluations(masterJob, (&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return text
	}
	for _, eval := range evals {
		for group, why := range eval.FailedTGAllocs {
			text += fmt.Sprintf("; %s: %d nodes evaluated", group, why.NodesEvaluated)
			for what, nodes := range why.DimensionExhausted {
				text += fmt.Sprintf(", %s exhausted on %d", what, nodes)
			}
			for what, nodes := range why.ConstraintFiltered {
				text += fmt.Sprintf(", %s not met by %d", what, nodes)
			}
		}
	}
	return text
}

// urlOf is the address of the master in an allocation.
func (c masterServer) urlOf(alloc *api.Allocation) string {
	if alloc.AllocatedResources == nil {
		return ""
	}
	for _, port := range alloc.AllocatedResources.Shared.Ports {
		if port.Label == "http" {
			return c.taskURL(port.Value)
		}
	}
	return ""
}

// running are the allocations of running masters.
func (c masterServer) running(ctx context.Context) ([]*api.Allocation, error) {
	client, err := c.Nomad()
	if err != nil {
		return nil, err
	}
	query := (&api.QueryOptions{}).WithContext(ctx)
	stubs, _, err := client.Jobs().Allocations(masterJob, false, query)
	if err != nil {
		return nil, err
	}
	var running []*api.Allocation
	for _, stub := range stubs {
		if stub.ClientStatus != api.AllocClientStatusRunning {
			continue
		}
		alloc, _, err := client.Allocations().Info(stub.ID, query)
		if err != nil {
			return nil, err
		}
		running = append(running, alloc)
	}
	return running, nil
}

// pids are the processes of all masters.
func (c masterServer) pids(ctx context.Context) ([]proc.ID, error) {
	allocs, err := c.running(ctx)
	if err != nil {
		return nil, err
	}
	var all []proc.ID
	for _, alloc := range allocs {
		found, err := leftover.OfTask(alloc.ID, masterTask)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
