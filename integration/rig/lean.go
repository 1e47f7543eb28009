package rig

import (
	"path/filepath"
	"testing"
)

// Lean is a folder for PYTHONPATH of programs that train with PyTorch: they start with less work (lean/sitecustomize.py).
func Lean(t testing.TB) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "integration", "rig", "lean")
}
