// Generate writes what is made from the table of endpoints for programs in other languages: the Python bindings, with
// the names of Determined's generated client (bindings.go), and the types of the pages (types.go). It runs in the
// top folder of a checkout, and leaves a file alone that already has its text.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

const (
	bindingsFile = "plugins/harness/determined/common/api/bindings.py"
	typesFile    = "webui/src/lib/types.ts"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate() error {
	files, err := table("master/v1")
	if err != nil {
		return err
	}
	bindings, err := python(files)
	if err != nil {
		return err
	}
	if err := write(bindingsFile, bindings); err != nil {
		return err
	}
	return write(typesFile, typescript(files))
}

// table parses the package with the table of endpoints.
func table(folder string) (files []*ast.File, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no Go files in %s: run this in the top folder of a checkout", folder)
	}
	return files, nil
}

// write replaces a file in one step, because a build may run beside another one.
func write(name, text string) error {
	if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, []byte(text)) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".generated-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
