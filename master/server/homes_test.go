package server

import (
	"strings"
	"testing"
)

// TestHomes: a master does not start with homes of users that other users' tasks could mount.
func TestHomes(t *testing.T) {
	const storage = "\ncheckpoint_storage: {type: shared_fs, host_path: /ck}\n"
	for pools, word := range map[string]string{
		"[{name: a, driver: docker, homes: /mnt/homes}]":                                                                 "",
		"[{name: a, driver: podman, homes: /mnt/homes, docker: {allowed_host_paths: [/mnt/homework]}}]":                  "",
		"[{name: a, driver: raw_exec, homes: /mnt/homes}]":                                                               "",
		"[{name: a, driver: exec, homes: /mnt/homes}]":                                                                   "use docker or podman",
		"[{name: a, driver: docker, homes: homes}]":                                                                      "absolute path",
		"[{name: a, driver: docker, homes: /}]":                                                                          "absolute path",
		"[{name: a, driver: docker, homes: '/mnt/a:b'}]":                                                                 "without a colon",
		"[{name: a, driver: docker, homes: /ck/homes}]":                                                                  "checkpoint_storage.host_path",
		"[{name: a, driver: docker, homes: /mnt/homes, docker: {allowed_host_paths: [/mnt/homes/7/data]}}]":              "folders of all users",
		"[{name: a, driver: docker, homes: /mnt/homes/}, {name: b, driver: docker, docker: {allowed_host_paths: [/*]}}]": "pool b",
		"[{name: a, driver: docker, homes: /mnt/homes, docker: {allowed_host_paths: ['/mnt/../mnt/*']}}]":                "folders of all users",
	} {
		_, err := load(t, "database: postgres://x/y"+storage+"resource_pools: "+pools, nil, nil)
		if word == "" && err != nil || word != "" && (err == nil || !strings.Contains(err.Error(), "resource_pools[0].homes") || !strings.Contains(err.Error(), word)) {
			t.Errorf("%s: %v, want %q", pools, err, word)
		}
	}
}
