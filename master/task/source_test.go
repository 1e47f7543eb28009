package task

import (
	"encoding/json"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// TestForeignStorage: a task learns the storage of the checkpoint that it starts from, if it differs
// from its own, and no credentials that it would not have anyway.
func TestForeignStorage(t *testing.T) {
	const uuid = "0190b5a5-0000-4000-8000-000000000001"
	for name, c := range map[string]struct {
		own, from string
		others    bool // the other experiment is somebody else's
		told      bool
		keys      any
		signsIn   bool
	}{
		"the same place":              {"{type: shared_fs, host_path: /a}", "{type: shared_fs, host_path: /a}", true, false, nil, false},
		"another folder":              {"{type: shared_fs, host_path: /a}", "{type: shared_fs, host_path: /a, storage_path: sub}", true, true, nil, false},
		"another prefix":              {"{type: s3, bucket: b, prefix: '2'}", "{type: s3, bucket: b, prefix: '1'}", true, true, nil, true},
		"one's own keys":              {"{type: s3, bucket: b, prefix: '2', access_key: mine, secret_key: s}", "{type: s3, bucket: b, prefix: '1', access_key: theirs, secret_key: s}", true, true, "mine", false},
		"somebody else's keys":        {"{type: shared_fs, host_path: /a}", "{type: s3, bucket: b, access_key: theirs, secret_key: s}", true, true, nil, false},
		"keys of another of my own":   {"{type: shared_fs, host_path: /a}", "{type: s3, bucket: b, access_key: other, secret_key: s}", false, true, "other", false},
		"my keys are not for a store": {"{type: s3, bucket: b, access_key: mine, secret_key: s}", "{type: s3, bucket: b, endpoint_url: 'http://x', access_key: theirs, secret_key: s}", true, true, nil, false},
		"somebody else's address":     {"{type: shared_fs, host_path: /a}", "{type: s3, bucket: b, endpoint_url: 'https://u:theirs@x/?key=theirs'}", true, true, nil, true},
	} {
		warm := uuid
		row := Row{TrialID: 1, Config: stored(t, c.own), WarmStart: &warm, WarmConfig: stored(t, c.from), WarmOwner: 7, OwnerID: 7}
		if c.others {
			row.OwnerID = 8
		}
		a, s := read(t, row), site()
		b := specBuilder{spec: &v1.TaskSpec{Env: map[string]string{}}, site: &s, a: &a}
		if err := b.source(a.Experiment.CheckpointStorage); err != nil {
			t.Fatal(name, err)
		}
		signedIn := b.spec.Credentials != nil
		text, told := b.spec.Env["DET_CHECKPOINT_SOURCES"]
		if told != c.told || signedIn != c.signsIn {
			t.Errorf("%s: the sources are %q, the task signs in: %v", name, text, signedIn)
			continue
		}
		if c.others && strings.Contains(text, "theirs") {
			t.Errorf("%s: the task of another user receives %s", name, text)
		}
		var sources map[string]map[string]any
		if told && json.Unmarshal([]byte(text), &sources) != nil {
			t.Errorf("%s: the sources are %q", name, text)
		}
		if got := sources[uuid]["access_key"]; got != c.keys {
			t.Errorf("%s: the keys are %v, want %v", name, got, c.keys)
		}
	}
}
