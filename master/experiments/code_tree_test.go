package experiments

import (
	"slices"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

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
