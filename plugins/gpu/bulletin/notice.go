package bulletin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A Notice is how the GPUs of a node are, as the device plugin has told Nomad.
type Notice struct {
	GPUs []GPU `json:"gpus"`
}

// GPU is one of them, or a part of one.
type GPU struct {
	ID    string `json:"id"`
	Model string `json:"model"`
	Why   string `json:"why,omitempty"` // it is out of use; empty for one that is fit
}

// Place is the file of the notice between the plugins of one Nomad agent, which is
// known by its process. It makes the folder, which must be this account's alone:
// what is said there stands on Nomad's pages.
func Place(agent int) (string, error) {
	base := os.TempDir()
	if os.Geteuid() == 0 {
		if _, err := os.Stat("/run"); err == nil {
			base = "/run"
		}
	}
	return placeIn(filepath.Join(base, fmt.Sprintf("det-gpu-%d", os.Geteuid())), agent)
}

func placeIn(dir string, agent int) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(owner.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s must be a folder of this account alone (mode 0700); it is %s", dir, info.Mode())
	}
	return filepath.Join(dir, strconv.Itoa(agent)+".json"), nil
}

// Sweep removes the notices of agents that are no more, and what was left of an
// earlier one with this number.
func Sweep(path string) {
	if path == "" {
		return
	}
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.json"))
	if err != nil {
		return
	}
	for _, file := range found {
		agent, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".json"))
		if file == path || err == nil && errors.Is(syscall.Kill(agent, 0), syscall.ESRCH) {
			_ = os.Remove(file) // another plugin may have been faster
		}
	}
}

// Write leaves the notice, in place of the one before.
func (n Notice) Write(path string) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".notice-*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(text)
	if err := errors.Join(err, fresh.Close()); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), path)
}

// Read reads the notice. Where none was left there are no GPUs.
func Read(path string) (Notice, error) {
	var n Notice
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return n, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// Words say in a line what is wrong.
func (n Notice) Words() string {
	var sick []string
	for _, g := range n.GPUs {
		if g.Why != "" {
			sick = append(sick, fmt.Sprintf("%s (%s): %s", g.ID, g.Model, g.Why))
		}
	}
	switch {
	case len(n.GPUs) == 0:
		return "det-gpu has found no GPUs"
	case len(sick) == 0 && len(n.GPUs) == 1:
		return "the GPU is fit for work"
	case len(sick) == 0:
		return fmt.Sprintf("all %d GPUs are fit for work", len(n.GPUs))
	}
	are := "are"
	if len(sick) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%d of %d GPUs %s out of use: %s", len(sick), len(n.GPUs), are, strings.Join(sick, "; "))
}

// Fit says whether nothing is wrong with any of them.
func (n Notice) Fit() bool {
	for _, g := range n.GPUs {
		if g.Why != "" {
			return false
		}
	}
	return true
}
