package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/task"
)

// memoryBucket is a bucket in memory, which records requests.
type memoryBucket struct {
	objects map[string]string
	asked   []string
}

func (m *memoryBucket) Find(_ context.Context, prefix string, names []string) (map[string]bool, error) {
	found := map[string]bool{}
	for _, name := range names {
		if _, ok := m.objects[prefix+name]; ok {
			found[name] = true
		}
	}
	return found, nil
}

func (m *memoryBucket) Close() {}

func (m *memoryBucket) Get(_ context.Context, key string) (io.ReadCloser, checkpoints.Object, error) {
	m.asked = append(m.asked, key)
	text, ok := m.objects[key]
	if !ok {
		return nil, checkpoints.Object{}, fault.New(fault.NotFound, "there is no %s", key)
	}
	return io.NopCloser(strings.NewReader(text)), checkpoints.Object{Key: key, Size: int64(len(text))}, nil
}

// entriesOf lists what a gzipped tar holds, with sizes.
func entriesOf(t *testing.T, body []byte) (list []string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(z)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s:%d", h.Name, h.Size))
	}
}

func bucketStorage(more string) string {
	return yaml("checkpoint_storage: {type: s3, bucket: b" + more + "}")
}

func TestCheckpointOutOfABucket(t *testing.T) {
	bucket := &memoryBucket{objects: map[string]string{}}
	var opened []expconf.CheckpointStorage
	r := newRig(t, func(c *Config) {
		c.Bucket = func(_ context.Context, s expconf.CheckpointStorage) (checkpoints.Bucket, error) {
			opened = append(opened, s)
			return bucket, nil
		}
	})
	a := r.running(bucketStorage(", prefix: team, endpoint_url: 'http://store'"), 1)
	me, owner := a.ranks[0], r.user("determined")
	report := func(id, resources string) {
		t.Helper()
		me.post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":%s,"training":{}}`,
			id, a.task, a.id, resources)).ok()
	}
	const id, odd = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee", "aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff"
	report(id, `{"model.bin":"5","sub/":"0","sub/x":"1"}`)
	owner.get("/checkpoints/"+id).says(404, "model.bin")
	own := fmt.Sprintf("team/%d/%s/", a.exp, id)
	bucket.objects[own+"model.bin"], bucket.objects[own+"sub/x"], bucket.objects[own+"not-reported"] = "12345", "x", "z"
	tgz := owner.with("GET", "/checkpoints/"+id, nil, http.Header{"Accept": {"application/gzip"}}).ok()
	if got := entriesOf(t, tgz.body); !slices.Equal(got, []string{"model.bin:5", "sub/:0", "sub/x:1"}) {
		t.Errorf("the archive has %v", got)
	}
	if s := opened[len(opened)-1]; s.Bucket != "b" || optional.Value(s.EndpointURL) != "http://store" || optional.Value(s.Prefix) != fmt.Sprintf("team/%d", a.exp) {
		t.Errorf("opened %+v", s)
	}
	if !slices.Equal(bucket.asked, []string{own + "model.bin", own + "sub/x"}) {
		t.Errorf("read %v", bucket.asked)
	}
	// Reported names that lead out of the folder are not followed.
	bucket.objects["team/99/secret"] = "secret"
	report(odd, `{"../../99/secret":"6"}`)
	owner.get("/checkpoints/"+odd).says(403, "not a plain path")
	// Nor is a place that a task has named.
	said := me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d,"checkpointStorage":{"type":"s3","bucket":"b","prefix":"team/99"}}`, a.trial)).ok().tree()["storageId"]
	const placed = "aaaaaaaa-bbbb-4ccc-8ddd-000000000000"
	me.post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{"secret":"6"},"training":{},"storageId":%v}`,
		placed, a.task, a.id, said)).ok()
	bucket.objects["team/99/"+placed+"/secret"] = "secret"
	owner.get("/checkpoints/"+placed).says(404, "secret")
}

// TestUnmanagedReadsNoOtherPartOfABucket: the master reads a bucket with its own keys, and
// the user who creates an unmanaged experiment chooses its storage.
func TestUnmanagedReadsNoOtherPartOfABucket(t *testing.T) {
	const id = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	bucket := &memoryBucket{objects: map[string]string{"team/99/" + id + "/secret": "secret"}}
	r := newRig(t, func(c *Config) {
		c.Bucket = func(context.Context, expconf.CheckpointStorage) (checkpoints.Bucket, error) { return bucket, nil }
	})
	me := r.user("determined")
	exp := me.create(bucketStorage(", prefix: team/99"), `"unmanaged":true`)
	task := at(t, me.putTrial(exp, "one"), "trial.taskId")
	me.post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{"secret":"6"}}`, id, task)).ok()
	me.get("/checkpoints/"+id).says(404, "secret")
	if len(bucket.asked) > 0 {
		t.Errorf("read %v", bucket.asked)
	}
	own := fmt.Sprintf("team/99/%d", exp)
	if got := at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d", exp)).ok().tree(), "experiment.config.checkpoint_storage.prefix"); got != own {
		t.Errorf("the prefix is %v", got)
	}
	bucket.objects[own+"/"+id+"/secret"] = "public"
	me.get("/checkpoints/" + id).ok()
}

func TestEachExperimentHasItsOwnPartOfABucket(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.CheckStorage = func(s expconf.CheckpointStorage) error {
			if len(optional.Value(s.Prefix)) > 100 {
				return fault.New(fault.Invalid, "the prefix has %d characters", len(optional.Value(s.Prefix)))
			}
			return nil
		}
	})
	me := r.user("determined")
	prefix := func(id int) string {
		t.Helper()
		e := me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok().tree()
		return fmt.Sprint(at(t, e, "experiment.config.checkpoint_storage.prefix"))
	}
	for written, want := range map[string]string{"": "", ", prefix: null": "", ", prefix: /a//b/": "a/b/", ", prefix: ./a": "a/", ", prefix: /": ""} {
		id := me.create(bucketStorage(written))
		if got := prefix(id); got != fmt.Sprintf("%s%d", want, id) {
			t.Errorf("%q: experiment %d lies at %q", written, id, got)
		}
		e := me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok().tree()
		if got := at(t, e, "experiment.originalConfig"); got != bucketStorage(written) {
			t.Errorf("the submitted text became\n%s", got)
		}
	}
	parent := me.create(bucketStorage(", prefix: a"))
	stored := fmt.Sprintf(`, prefix: "a/%d"`, parent)
	fork := me.create(bucketStorage(stored), fmt.Sprintf(`"parentId":%d`, parent))
	if got := prefix(fork); got != fmt.Sprintf("a/%d", fork) {
		t.Errorf("the fork lies at %q", got)
	}
	if got := prefix(me.create(bucketStorage(stored))); !strings.HasPrefix(got, fmt.Sprintf("a/%d/", parent)) {
		t.Errorf("one that is no fork lies at %q", got)
	}
	me.post("/api/v1/experiments", fmt.Sprintf(`{"config":%q}`, bucketStorage(", prefix: "+strings.Repeat("p", 95)))).says(400, "the prefix has 106 characters")
	id := me.create(yaml("checkpoint_storage: {type: shared_fs, host_path: /tmp}"))
	if got := me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok(); strings.Contains(string(got.body), `"prefix"`) {
		t.Error("storage in a folder has a prefix")
	}
}

// TestATaskIsToldHowToSignIn and no key.
func TestATaskIsToldHowToSignIn(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Site.SignIn = task.SignIn{Vault: task.Vault{Role: "det-task", Engine: "aws"}, Region: "eu-central-1"}
	})
	for config, want := range map[string]string{
		bucketStorage(""): "vault eu-central-1",
		bucketStorage(", access_key: AK, secret_key: SECRE"): "",
		sharedStorage(t.TempDir()):                           "",
	} {
		spec := r.running(config, 1).claimed[0]["spec"].(map[string]any)
		got := ""
		if c, ok := spec["credentials"].(map[string]any); ok {
			got = fmt.Sprint(c["by"], " ", c["region"])
		}
		if got != want {
			t.Errorf("%s\nhas the sign-in %q, want %q", config, got, want)
		}
	}
}
