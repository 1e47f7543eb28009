package api

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Paths that are too deep are refused when they are submitted.
func TestCodeInTooManyFolders(t *testing.T) {
	deep := func(folders int) string { return strings.Repeat("a/", folders) + "x.py" }
	me := newRig(t).user("determined")
	me.post("/api/v1/experiments", createBody(yaml(), `"modelDefinition":[`+modelFile(deep(launch.MaxDepth), "1")+`]`)).
		says(http.StatusBadRequest, "65 folders and files on it; the limit is 64")
	me.create(yaml(), `"modelDefinition":[`+modelFile(deep(launch.MaxDepth-1), "1")+`]`)
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
			_, err = r.db.Exec(t.Context(), "UPDATE experiments SET context_hash = $1 WHERE id = $2", hash, id)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	old(200) // some 70 MB
	me.get(path+"file_tree").says(http.StatusRequestEntityTooLarge, "too many folders")
	old(20)
	if got := me.get(path + "file_tree").ok(); len(got.body) < 20*510*treeNodeBytes/2 {
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

// The size that is counted is near that of the answer, regardless of the names.
func TestTreeSize(t *testing.T) {
	for name, paths := range map[string][]string{
		"flat":     {"a.py", "b.py", "c.py"},
		"folders":  {"a", "a/b", "a/b/c.py", "a/b/d.py", "b/x/y/z.py"},
		"siblings": {"a/x.py", "a-b/x.py", "a.b/x.py", "a/y.py", "a-b/y.py", "a", "ab"},
		"deep":     {strings.Repeat("d/", 500) + "e", strings.Repeat("d/", 400) + "f"},
	} {
		t.Run(name, func(t *testing.T) {
			var files []v1.FileNode
			root := &treeNode{}
			for _, p := range paths {
				n := v1.FileNode{Path: p, Name: p[strings.LastIndex(p, "/")+1:], ContentType: "text/plain; charset=utf-8"}
				files = append(files, n)
				root.at(p).node = n
			}
			slices.SortFunc(files, func(x, y v1.FileNode) int { return byFolder(x.Path, y.Path) })
			body, err := v1.Marshal(&v1.FileTreeResponse{Files: root.files("")})
			if size := treeSize(files); err != nil || size < len(body)*9/10 || size > len(body)*5/4 {
				t.Errorf("counted %d, is %d: %v", size, len(body), err)
			}
		})
	}
}
