package main

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/objects"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/objecttest"
)

// TestRemovesInGoogleCloudStorage: exactly the named files of a bucket are removed.
func TestRemovesInGoogleCloudStorage(t *testing.T) {
	at := objecttest.StartGCS(t, "bucket")
	t.Setenv("STORAGE_EMULATOR_HOST", at)
	for _, key := range []string{"team/" + one + "/model.bin", "team/" + one + "/sub/optimizer.bin", "team/" + one + "/metadata.json",
		"team/" + two + "/model.bin", "team/" + two + "/state.txt", "team/c/tensorboard/experiment/7/trial/1/events", "team/c/tensorboard/experiment/71/events", "team/bystander"} {
		objecttest.Post(t, at+"/upload/storage/v1/b/bucket/o?uploadType=media&name="+url.QueryEscape(key), "application/octet-stream", "12345")
	}
	r := &removal{task: "t", Collect: v1.Collect{Storage: v1.CollectStorage{Kind: kindGCS, Bucket: "bucket", Prefix: "team"}, Events: "c/tensorboard/experiment/7",
		Checkpoints: []v1.CollectCheckpoint{{UUID: one, Globs: []string{all}, Known: 3}, {UUID: two, Globs: []string{"*.bin"}, Known: 2}}}}
	place, err := r.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer place.close()
	var to heard
	if err := r.run(t.Context(), place, &to, io.Discard); err != nil {
		t.Fatal(err)
	}
	var files []int64
	for _, f := range to.list {
		files = append(files, f.Files)
	}
	if !slices.Equal(files, []int64{3, 1, 1}) {
		t.Errorf("reported %+v", to.list)
	}
	b := objects.OpenGCS(objects.GCS{Bucket: "bucket", Endpoint: at})
	defer b.Close()
	list, err := b.List(t.Context(), "team/")
	var left []string
	for _, o := range list {
		left = append(left, strings.TrimPrefix(o.Key, "team/"))
	}
	if want := []string{two + "/state.txt", "bystander", "c/tensorboard/experiment/71/events"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left: %v, %v, want %v", left, err, want)
	}
}

// TestSignsInToAzure: credentials are those of the configuration, else of the file, else of the environment.
func TestSignsInToAzure(t *testing.T) {
	const account = "https://lab.blob.core.windows.net"
	file := filepath.Join(t.TempDir(), "azure.json")
	if err := os.WriteFile(file, []byte(`{"connection_string": "AccountName=other;AccountKey=a2V5"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		storage v1.CollectStorage
		file    string
		want    string // of the error
	}{
		{v1.CollectStorage{AccountURL: account, Credential: "a2V5"}, file, ""},
		{v1.CollectStorage{ConnectionString: "AccountName=lab;AccountKey=a2V5"}, file, ""},
		{v1.CollectStorage{AccountURL: account}, file, "belongs to https://other.blob.core.windows.net"},
		{v1.CollectStorage{AccountURL: account}, file + ".absent", "no such file"},
		{v1.CollectStorage{AccountURL: account}, "", "neither an account key nor a shared access signature"},
	} {
		t.Setenv("AZURE_STORAGE_KEY", "no key!")
		c.storage.Kind, c.storage.Bucket = kindAzure, "c"
		r := &removal{keysFile: c.file, Collect: v1.Collect{Storage: c.storage}}
		place, err := r.open(t.Context())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v with the file %q: %v, want %q", c.storage, c.file, err, c.want)
		}
		if err == nil {
			place.close()
		}
	}
}
