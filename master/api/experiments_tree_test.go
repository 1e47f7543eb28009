package api

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/rest"
)

// Paths that are too deep are refused when they are submitted.
func TestCodeInTooManyFolders(t *testing.T) {
	deep := func(folders int) string { return strings.Repeat("a/", folders) + "x.py" }
	me := newRig(t).user("determined")
	me.post("/api/v1/experiments", createBody(yaml(), `"modelDefinition":[`+modelFile(deep(contexts.MaxDepth), "1")+`]`)).
		says(http.StatusBadRequest, "65 folders and files on it; the limit is 64")
	me.create(yaml(), `"modelDefinition":[`+modelFile(deep(contexts.MaxDepth-1), "1")+`]`)
}

// The list of code that was stored before paths were limited has its own limit, and
// what makes it is counted as memory.
func TestATreeOfDeepFiles(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml(), `"modelDefinition":[`+modelFile("train.py", "print(1)\n")+`]`)
	path := fmt.Sprintf("/api/v1/experiments/%d/", id)
	me.get(path + "file_tree").ok()
	old := func(files int) {
		t.Helper()
		hash := []byte(fmt.Sprintf("%032d", files))
		err := contexts.Save(t.Context(), r.db, 1, hash, func(to io.Writer) error {
			zip := gzip.NewWriter(to)
			w := tar.NewWriter(zip)
			for i := range files {
				h := &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("%04d", i) + strings.Repeat("/a", 510), Mode: 0o600, Format: tar.FormatPAX}
				if err := w.WriteHeader(h); err != nil {
					return err
				}
			}
			if err := w.Close(); err != nil {
				return err
			}
			return zip.Close()
		})
		if err == nil {
			err = r.db.Exec(t.Context(), "UPDATE experiments SET context_hash = $1 WHERE id = $2", hash, id)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	old(200) // some 70 MB
	me.get(path+"file_tree").says(http.StatusRequestEntityTooLarge, "too many folders")
	old(20)
	if got := me.get(path + "file_tree").ok(); len(got.body) < 20*510*160/2 {
		t.Errorf("%d bytes", len(got.body))
	}
	held := holding(t, r.api.router.Limits.Memory, "user determined", rest.BodyMemoryPerUser)
	done := make(chan answer)
	go func() { done <- me.get(path + "file_tree") }()
	eventually(t, func() bool { return r.api.router.Limits.Memory.Held() == 2 })
	held.Release()
	(<-done).ok()
	empties(t, r.api.router.Limits.Memory)
}
