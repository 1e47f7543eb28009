package experiments

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// maxTreeBytes limits the response that lists the code of an experiment. It contains the
	// whole path of each folder, so few bytes of names can make a very large tree.
	maxTreeBytes = 32 << 20
	// treeNodeBytes is the size of a file or folder in the response, without its path and name.
	treeNodeBytes = 160
)

func (d Deps) fileTree(ctx context.Context, c *rest.Call, e Experiment, _ *v1.None) (*v1.FileTreeResponse, error) {
	code, err := contexts.Get(ctx, d.DB, e.ContextHash)
	if err != nil {
		return nil, err
	}
	c.EndReading()                                    // else two users could keep all turns from everybody: they wait here, and for memory
	listing, err := d.Listing.Take(ctx, c.Owner(), 1) // the tree of many files is large
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "the master lists code for too many requests now; try again")
	}
	defer listing.Release()
	files, err := d.contextNodes(ctx, code)
	if err != nil {
		return nil, err
	}
	size := treeSize(files)
	if size > maxTreeBytes {
		return nil, tooLargeATree(size)
	}
	if err := c.HoldFor(int64(size)); err != nil {
		return nil, err
	}
	root := &treeNode{}
	for _, n := range files {
		root.at(n.Path).node = n
	}
	return &v1.FileTreeResponse{Files: root.files("")}, nil
}

func tooLargeATree(size int) error {
	return fault.New(fault.TooLarge, "the list of this experiment's files would have %s, and the limit is %s: the paths have too many folders, "+
		"because the code was submitted before paths were limited to %d folders; fetch the files with det experiment download-model-def",
		rest.SizeText(size), rest.SizeText(maxTreeBytes), contexts.MaxDepth)
}

// contextNodes lists the content of an archive, each folder before its content.
func (d Deps) contextNodes(ctx context.Context, code *contexts.Context) ([]v1.FileNode, error) {
	var files []v1.FileNode
	names := 0
	err := d.eachContextFile(ctx, code, func(h *tar.Header, r io.Reader) (bool, error) {
		name := strings.TrimSuffix(h.Name, "/")
		if names += len(name); names > contexts.MaxNames || len(files) == contexts.MaxFiles {
			return false, tooLargeATree(names + len(files)*treeNodeBytes)
		}
		n := v1.FileNode{Path: name, Name: path.Base(name), ModifiedTime: h.ModTime, ContentLength: int(h.Size), IsDir: h.Typeflag == tar.TypeDir}
		if !n.IsDir {
			head := make([]byte, 512)
			got, err := io.ReadFull(r, head)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return false, err
			}
			n.ContentType = contentType(name, head[:got])
		}
		files = append(files, n)
		return true, nil
	})
	slices.SortFunc(files, func(x, y v1.FileNode) int { return byFolder(x.Path, y.Path) })
	return files, err
}

// byFolder sorts paths so that the content of a folder directly follows it.
func byFolder(x, y string) int {
	for i := range min(len(x), len(y)) {
		switch {
		case x[i] == y[i]:
		case x[i] == '/':
			return -1
		case y[i] == '/':
			return 1
		default:
			return cmp.Compare(x[i], y[i])
		}
	}
	return cmp.Compare(len(x), len(y))
}

// treeSize is the approximate size of the tree of sorted files as JSON, including folders
// without an entry in the archive.
func treeSize(files []v1.FileNode) int {
	size := 0
	var before []string
	for _, f := range files {
		steps := strings.Split(f.Path, "/")
		there := 0 // folders that are already counted
		for there < min(len(steps), len(before)) && steps[there] == before[there] {
			there++
		}
		length := 0
		for i, step := range steps {
			length += len(step) + 1
			if i >= there {
				size += treeNodeBytes + length + len(step)
			}
		}
		before = steps
	}
	return size
}

// treeNode builds a tree from paths. It adds folders that have no entry in the archive.
type treeNode struct {
	node     v1.FileNode
	children map[string]*treeNode
}

func (t *treeNode) at(p string) *treeNode {
	for step := range strings.SplitSeq(p, "/") {
		if t.children == nil {
			t.children = map[string]*treeNode{}
		}
		if t.children[step] == nil {
			t.children[step] = &treeNode{node: v1.FileNode{Name: step, IsDir: true}}
		}
		t = t.children[step]
	}
	return t
}

func (t *treeNode) files(under string) []v1.FileNode {
	var out []v1.FileNode
	for name, child := range t.children {
		n := child.node
		n.Path = path.Join(under, name)
		n.Files = child.files(n.Path)
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b v1.FileNode) int { return cmp.Compare(a.Path, b.Path) })
	return out
}
