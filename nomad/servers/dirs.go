package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// CacheDir is the folder of this user's built servers and downloaded tools, which all checkouts share:
// $DETENT_CACHE, else $XDG_CACHE_HOME/detent, else ~/.cache/detent.
func CacheDir() (string, error) {
	if dir := os.Getenv("DETENT_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "detent"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot find a folder for the cache: %w; set DETENT_CACHE to a folder", err)
	}
	return filepath.Join(home, ".cache", "detent"), nil
}

// ServiceCacheDir is the cache for processes of other users. It differs from CacheDir only for root:
// PostgreSQL refuses to run as root, and its account cannot enter root's home directory.
func ServiceCacheDir() (string, error) {
	if os.Geteuid() == 0 && os.Getenv("DETENT_CACHE") == "" {
		return "/var/cache/detent", nil
	}
	return CacheDir()
}

// StateDir is the default folder of a local cluster's data. For root it is not in the home directory,
// for the reason that ServiceCacheDir gives.
func StateDir() (string, error) {
	if dir := os.Getenv("DETENT_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return "/var/lib/detent", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "detent"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot find a folder for the cluster's data: %w; set DETENT_STATE to a folder", err)
	}
	return filepath.Join(home, ".local", "state", "detent"), nil
}

// reachable checks whether an account may enter dir and all its parents. It returns the first folder
// that the account may not enter.
func reachable(dir string, who account) (closed string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	var way []string
	for d := dir; ; d = filepath.Dir(d) {
		way = append([]string{d}, way...)
		if d == filepath.Dir(d) {
			break
		}
	}
	for _, d := range way {
		info, err := os.Stat(d)
		if err != nil {
			return "", err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return "", fmt.Errorf("%s: this system does not report its owner", d)
		}
		enter := os.FileMode(0o001)
		switch {
		case st.Uid == who.uid:
			enter = 0o100
		case st.Gid == who.gid:
			enter = 0o010
		}
		if info.Mode()&enter == 0 {
			return d, nil
		}
	}
	return "", nil
}
